// The path /mcp: who may send what to it, what is logged and counted, and that it is guarded as any other.
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { buildApp } from '../../src/app.js'
import { listen, testApp, testConfig } from '../support/app.js'
import { callOf, MCP_HEADERS, messageOf, post } from '../support/mcp.js'
import { A, a, B, fillTenants } from '../support/tenants.js'
import { leftToGate } from '../support/thorough.js'

const prepare = async (t: Test, settings: Record<string, string> = {}) => {
  const { app, keyOf, store } = await testApp(t, { fill: fillTenants, settings })
  const authorization = `Bearer ${await keyOf(A)}`
  return {
    app,
    store,
    keyOf,
    authorization,
    send: (body: unknown, headers = {}) => post(app, body, { authorization, ...headers }),
  }
}

t.test('the path takes POST alone, and does not exist with MCP=false', async (t) => {
  const { app, authorization } = await prepare(t)
  for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'] as const) {
    const { statusCode, headers, body } = await app.inject({ method, url: '/mcp', headers: { authorization } })
    t.match([statusCode, headers.allow], [405, 'POST'], method)
    if (method !== 'HEAD') t.match(JSON.parse(body), { code: 'method_not_allowed', detail: 'This path allows POST' })
  }
  t.equal(
    (await app.inject({ url: '/mcp', headers: { accept: 'text/event-stream' } })).statusCode,
    401,
    'a program that first asks for a stream learns that its key is wrong',
  )
  const other = await app.inject({ method: 'POST', url: '/v1/entries' })
  t.match([other.statusCode, other.headers.allow], [405, 'GET, HEAD'])
  const off = await prepare(t, { MCP: 'false' })
  for (const response of [await off.app.inject('/mcp'), await off.send(messageOf('ping'))]) {
    t.match([response.statusCode, response.json().code], [404, 'route_not_found'])
  }
})

t.test('a key is needed, as a bearer token or as a password', async (t) => {
  const { app, keyOf, send } = await prepare(t)
  for (const authorization of ['', 'Bearer fda_nothing']) {
    const refused = await post(app, callOf('describe'), { authorization })
    t.match([refused.statusCode, refused.json().code], [401, 'unauthorized'])
  }
  const password = Buffer.from(`key:${await keyOf(A)}`).toString('base64')
  for (const response of [
    await send(messageOf('ping')),
    await send(messageOf('ping'), { authorization: `Basic ${password}` }),
  ]) {
    t.match([response.statusCode, response.json()], [200, { result: {} }])
    t.match(response.headers, { 'content-type': 'application/json', 'cache-control': 'private, no-cache' })
  }
})

t.test('a page of another origin may not ask', async (t) => {
  const ping = messageOf('ping')
  const here = { host: '127.0.0.1:3000' }
  const evil = 'http://evil.example.org'
  const prepared = new Map<object, Awaited<ReturnType<typeof prepare>>>()
  const usual = {}
  const PUBLIC = { PUBLIC_URL: 'https://data.example.org/api' }
  for (const [settings, headers, status] of [
    [usual, { ...here, origin: 'http://127.0.0.1:3000' }, 200],
    [usual, { host: 'localhost:3000', origin: 'http://localhost:3000' }, 200],
    [usual, { ...here, origin: 'http://127.0.0.1:3001' }, 403],
    [usual, { ...here, origin: 'https://127.0.0.1:3000' }, 403],
    [usual, { ...here, origin: evil }, 403],
    [usual, { ...here, origin: 'null' }, 403],
    // Its name leads to this machine.
    [usual, { host: 'evil.example.org', origin: evil }, 403],
    [PUBLIC, { ...here, origin: 'https://data.example.org' }, 200],
    [PUBLIC, { ...here, origin: 'http://127.0.0.1:3000' }, 403],
    [{ CORS_ORIGINS: `https://app.example.org,${evil}` }, { ...here, origin: evil }, 200],
    [{ CORS_ORIGINS: 'https://app.example.org' }, { ...here, origin: evil }, 403],
    [{ CORS_ORIGINS: '*' }, { ...here, origin: evil }, 200],
  ] as const) {
    const service = prepared.get(settings) ?? (await prepare(t, settings))
    prepared.set(settings, service)
    const response = await service.send(ping, headers)
    t.equal(response.statusCode, status, JSON.stringify([settings, headers]))
    if (status !== 403) continue
    t.match(response.json(), { code: 'forbidden_origin', errors: [{ in: 'header', name: 'Origin' }] })
  }
})

t.test('a body that is no message is an error of the protocol, and one that is too large is a problem', async (t) => {
  const { app, send, authorization } = await prepare(t)
  const ping = messageOf('ping')
  for (const [body, headers, status, code] of [
    ['', {}, 400, -32700],
    ['{"jsonrpc":', {}, 400, -32700],
    ['\u0000\uffff', {}, 400, -32700],
    ['5', {}, 400, -32600],
    ['null', {}, 400, -32600],
    ['{}', {}, 400, -32600],
    [{ ...ping, jsonrpc: '1.0' }, {}, 400, -32600],
    [{ ...ping, id: { a: 1 } }, {}, 400, -32600],
    [[ping, ping], {}, 400, -32600],
    [` \n[${'['.repeat(15_000)}`, {}, 400, -32700],
    [`{"a":${'['.repeat(8000)}${']'.repeat(8000)}}`, {}, 400, -32600],
    [ping, { 'content-type': 'text/plain' }, 415, -32000],
    [ping, { 'content-type': 'application/x-www-form-urlencoded' }, 415, -32000],
    [ping, { accept: 'application/json' }, 406, -32000],
    [ping, { 'mcp-protocol-version': '1999-01-01' }, 400, -32000],
    [messageOf('resources/list'), {}, 200, -32601],
    [messageOf('constructor'), {}, 200, -32601],
  ] as const) {
    const response = await send(body, headers)
    t.match([response.statusCode, response.json().error?.code], [status, code], JSON.stringify(body).slice(0, 60))
    t.notMatch(response.body, /node_modules|\bat .*:\d+:\d+/)
  }
  for (const type of ['a', '/', 'application/', 'a b', '"', 'application/json, text/plain']) {
    const { statusCode, json } = await send(ping, { 'content-type': type })
    t.match([statusCode, json().code], [415, 'unsupported_media_type'], type)
  }
  for (const coding of ['gzip', 'br', 'x', '', 'identity, gzip']) {
    const { statusCode, headers, json } = await send(ping, { 'content-encoding': coding })
    t.match([statusCode, headers['accept-encoding']], [415, 'identity'], coding)
    t.match(json(), { code: 'unsupported_media_type', detail: 'Content-Encoding must be identity' })
  }
  t.equal((await send(ping, { 'content-encoding': 'Identity' })).statusCode, 200)
  const large = await send({ ...ping, params: { text: 'x'.repeat(16 * 1024) } })
  t.match([large.statusCode, large.json().code], [413, 'content_too_large'])
  const excluded = await send(ping, { accept: 'text/html' })
  t.match([excluded.statusCode, excluded.json().code], [406, 'not_acceptable'])
  const nothing = await app.inject({ method: 'POST', url: '/mcp', headers: { authorization } })
  t.match([nothing.statusCode, nothing.json().error.code], [406, -32000])
})

t.test('a message is one request for the rate limit of the key', async (t) => {
  const { send, keyOf } = await prepare(t, { RATE_LIMIT: '3' })
  for (const left of [2, 1, 0]) {
    const { statusCode, headers } = await send(callOf('describe'))
    t.match([statusCode, headers.ratelimit], [200, new RegExp(`^"default";r=${left};`)])
  }
  t.match((await send(messageOf('tools/list'))).json(), { status: 429, code: 'rate_limited' })
  const other = { authorization: `Bearer ${await keyOf(B)}` }
  t.equal((await send(messageOf('ping'), other)).statusCode, 200)
})

t.test('the log has the tool, its checked arguments and what was wrong', { skip: leftToGate }, async (t) => {
  const { store, authorization } = await prepare(t)
  const lines: Record<string, unknown>[] = []
  const log = { write: (line: string) => lines.push(JSON.parse(line)) }
  const app = await buildApp({ ...testConfig(), logLevel: 'info' }, store, log)
  t.teardown(() => app.close())
  const lineOf = async (body: object) => {
    lines.length = 0
    await post(app, body, { authorization })
    t.equal(lines.length, 1)
    return lines[0]
  }
  t.match(await lineOf(callOf('count_entries', { by: ['status', 'form'], state: 'Kano\u202e' })), {
    method: 'POST',
    operation: 'mcp.count_entries',
    query: { by: 'status,form', state: 'Kano?' },
    statusCode: 200,
    organisation: A,
  })
  for (const [tool, given, rows] of [
    ['count_entries', { by: ['status'] }, 2],
    ['find_entries', { limit: 1 }, 1],
    ['check_entries', {}, 3],
    ['get_entry', { id: a.entry(1)._id }, 1],
    ['export_link', { format: 'csv' }, undefined],
  ] as const)
    t.equal((await lineOf(callOf(tool, given)))?.rows, rows, tool)
  const key = '0123456789ab'
  const answered = await lineOf(callOf('find_entries', { form: 'form-a', answered: [key, `${key}=Yes`] }))
  t.match(answered, { query: { answered: `${key},${key}=Yes` } })
  const secret = 'fda_abcdefghijkl_ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abc'
  t.notMatch(JSON.stringify(await lineOf(callOf('find_entries', { agent: secret }))), /ABCDEFGHIJ/)
  t.match(await lineOf(callOf('find_entries', { limit: 'many', agent: 'x' })), {
    operation: 'mcp.find_entries',
    query: {},
    statusCode: 200,
    code: 'invalid_parameter',
    errors: ['limit'],
  })
  t.match(await lineOf(messageOf('tools/list')), { operation: '/mcp', statusCode: 200 })

  // A caller that leaves before its message is there is no failure of the service.
  lines.length = 0
  const port = await listen(app)
  const socket = connect(port, '127.0.0.1')
  const headers = { ...MCP_HEADERS, host: 'localhost', authorization, 'content-length': 100 }
  const head = Object.entries(headers).map((pair) => `${pair.join(': ')}\r\n`)
  socket.write(`POST /mcp HTTP/1.1\r\n${head.join('')}\r\n{"jsonrpc"`)
  while (app.activeRequests === 0) await setTimeout(5)
  socket.destroy()
  while (app.activeRequests > 0) await setTimeout(5)
  t.match(
    lines.filter(({ msg }) => !String(msg).includes('isten') && !String(msg).includes('connections')),
    [{ operation: '/mcp', aborted: true, msg: 'request' }],
  )
  t.notMatch(JSON.stringify(lines), /internal_error/)
})
