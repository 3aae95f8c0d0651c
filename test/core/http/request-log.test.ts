// The request log: one line for each request, with what is needed to find it, and never a key.
import { EventEmitter, once } from 'node:events'
import { connect } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'
import t, { type Test } from 'tap'
import { buildApp } from '../../../src/app.js'
import { version } from '../../../src/core/config/config.js'
import { callerGone } from '../../../src/core/http/caller.js'
import { embeddedStore } from '../../../src/core/store/embedded.js'
import { listen, testApp, testConfig } from '../../support/app.js'
import { getRequest, LAST, neverRead, send } from '../../support/sockets.js'
import { A, a, fillTenants } from '../../support/tenants.js'

const key = 'fda_abcdefghijkl_ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abc'

interface Line {
  msg: string
  query?: Record<string, unknown>
  [field: string]: unknown
}

/** The service itself, with its log. */
const service = async (t: Test) => {
  const lines: Line[] = []
  const log = { write: (line: string) => lines.push(JSON.parse(line)) }
  const { app, store, keyOf } = await testApp(t, { fill: fillTenants, settings: { LOG_LEVEL: 'info' }, log })
  const authorization = `Bearer ${await keyOf(A)}`
  const get = async (url: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') => {
    lines.length = 0
    await app.inject({ method, url, headers: { authorization, ...headers } })
    if (lines.length !== 1) throw new Error(`${url} has ${lines.length} lines`)
    return lines[0] as Line
  }
  return { app, store, get, lines, authorization }
}

/** The service of the tests that only ask. */
const asked = service(t)

t.test('a request is one line with its operation, its checked parameters, its end and its release', async (t) => {
  const { app, get, lines, authorization } = await service(t)
  const keyId = authorization.slice(11, 23)
  t.match(await get('/v1/entries?status=accepted&ids=a,b&updatedSince=2025-03-14T09:26:53.589Z&perPage=3'), {
    method: 'GET',
    operation: 'listEntries',
    query: { status: 'accepted', ids: 'a,b', updatedSince: '2025-03-14T09:26:53.589Z', perPage: 3, page: 1 },
    statusCode: 200,
    ms: Number,
    ip: '127.0.0.1',
    userAgent: 'lightMyRequest',
    keyId,
    organisation: A,
    release: version,
    msg: 'request',
  })
  t.match(await get('/v1/entries/no%20entry', { 'x-request-id': 'mine' }), {
    reqId: 'mine',
    operation: 'getEntry',
    id: 'no entry',
    statusCode: 404,
    code: 'not_found',
  })
  t.match(await get('/docs/errors'), { operation: '/docs/errors', statusCode: 200 })
  const port = await listen(app)
  lines.length = 0 // that it listens
  const received = await send(port, getRequest('/v1/me', { ...LAST, authorization }))
  t.match(lines, [{ operation: 'getMe', bytes: Buffer.byteLength(received), ip: '127.0.0.1' }])
})

t.test('the log has the id of a trace from a valid traceparent alone', async (t) => {
  const { get } = await asked
  const id = '4bf92f3577b34da6a3ce929d0e0e4736'
  for (const [traceparent, traceId] of [
    [`00-${id}-00f067aa0ba902b7-01`, id],
    [`cc-${id}-00f067aa0ba902b7-01-what-a-later-version-adds`, id],
    [`00-${id}-00f067aa0ba902b7-01-more`, undefined],
    [`cc-${id}-00f067aa0ba902b7-01.more`, undefined],
    [`ff-${id}-00f067aa0ba902b7-01`, undefined],
    [`00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, undefined],
    [`00-${id}-0000000000000000-01`, undefined],
    [`00-${id.toUpperCase()}-00f067aa0ba902b7-01`, undefined],
    [`00-${id}-00f067aa0ba902b7-01, 00-${id}-00f067aa0ba902b7-01`, undefined],
    [id, undefined],
  ] as const) {
    t.equal((await get('/health/live', { traceparent })).traceId, traceId, traceparent)
  }
  t.notOk('traceId' in (await get('/health/live')))
})

t.test('the log has how many records a response leaves out, and nothing if there are none', async (t) => {
  const { store, get } = await service(t)
  t.equal((await get('/v1/entries?unreadable=skip')).skipped, undefined)
  await store.insert('entries', [{ ...a.entry(7), answers: 5 } as never, { ...a.entry(8), status: 5 } as never])
  t.match(await get('/v1/entries?unreadable=skip'), { statusCode: 200, skipped: 2 })
  t.match(await get('/v1/entries?unreadable=skip&fields=status'), { statusCode: 200, skipped: 1 })
})

t.test('the log has what a key read: how many records, in which format, and all ids that it asked for', async (t) => {
  const { get } = await asked
  const ids = Array.from({ length: 100 }, (_, n) => `no-such-entry-${n}`).join()
  for (const [path, expected] of [
    ['entries?perPage=2', { rows: 2, format: undefined }],
    [`entries?ids=${ids}`, { rows: 0, query: { ids } }],
    [`entries/${a.entry(1)._id}`, { rows: 1, id: a.entry(1)._id }],
    ['exports/entries.csv', { rows: 4, format: 'csv' }],
    ['exports/agents.xlsx', { rows: 2, format: 'xlsx' }],
    ['sync/entries', { rows: 4 }],
    ['summaries/entries?by=status', { rows: 2 }],
    ['checks/agents', { rows: 3 }],
    ['me', { rows: undefined }],
  ] as const) {
    t.match(await get(`/v1/${path}`), { statusCode: 200, ...expected }, path)
  }
  for (const path of ['entries?perPage=2', 'exports/entries.csv', `entries/${a.entry(1)._id}`])
    t.match(await get(`/v1/${path}`, {}, 'HEAD'), { method: 'HEAD', rows: undefined }, path)
})

t.test('what was not checked is not logged: a path, parameters that are refused, those of a page', async (t) => {
  const { get } = await asked
  for (const [url, headers, expected] of [
    ['/v1/entries?page=secret&other=secret', {}, { code: 'invalid_parameter', errors: ['other', 'page'] }],
    ['/v1/entries/secret?other=secret', {}, { operation: 'getEntry', code: 'invalid_parameter' }],
    ['/v1/entries?name=secret', { authorization: 'Bearer secret' }, { operation: 'listEntries', code: 'unauthorized' }],
    ['/v1/secret/secret?secret=secret', {}, { statusCode: 404, code: 'route_not_found' }],
    ['/docs/secret?secret=secret', {}, { statusCode: 404 }],
    ['/health/live?x=secret', {}, { operation: 'getLive', statusCode: 200 }],
    ['/docs/errors?x=secret', {}, { operation: '/docs/errors', statusCode: 200 }],
    ['/secret/%zz', {}, { code: 'bad_request' }],
  ] as const) {
    const line = await get(url, headers)
    t.match(line, expected, url)
    t.notMatch(JSON.stringify(line), 'secret', url)
  }
})

t.test('no line has the secret of a key, wherever it stands and however it is cut or encoded', async (t) => {
  const { get, authorization } = await asked
  const own = authorization.slice(7)
  const shown = `fda_${own.slice(4, 16)}_[redacted]`
  const encoded = [...own].map((character) => `%${character.charCodeAt(0).toString(16)}`).join('')
  for (const [url, headers, expected] of [
    [`/v1/forms?name=${own}`, {}, { query: { name: shown } }],
    [`/v1/forms?name=${encoded}`, {}, { query: { name: shown } }],
    [`/v1/forms?name=${'x'.repeat(480)}${own}`, {}, { query: { name: /^x{480}fda_\w{12}_\[re$/ } }],
    [`/v1/entries?ids=${own},x,${own}`, {}, { query: { ids: `${shown},x,${shown}` } }],
    [`/v1/entries/${own}`, {}, { id: shown }],
    [`/v1/entries/${encoded}?fields=x`, {}, { code: 'invalid_parameter' }],
    [`/v1/entries?${own}=1`, {}, { errors: [shown] }],
    [`/${own}`, {}, {}],
    ['/v1/entries/x', { 'user-agent': `sync/1.0 (token ${own})` }, { userAgent: `sync/1.0 (token ${shown})` }],
    ['/v1/entries/x', { 'x-request-id': own }, { reqId: /^[0-9a-f-]{36}$/ }],
  ] as const) {
    const line = await get(url, headers)
    t.match(line, expected, url)
    t.notMatch(JSON.stringify(line), own.slice(17, 29), url)
  }
})

t.test('a question that is asked for, and its answer, are in the log', async (t) => {
  const { get } = await asked
  t.match(await get('/v1/entries?form=x&answered=0123456789ab=Borehole'), {
    query: { answered: '{"key":"0123456789ab","answer":"Borehole"}' },
  })
})

t.test('a cursor stays readable', async (t) => {
  const { app, get, authorization } = await asked
  const list = await app.inject({ url: '/v1/entries?cursor=*&perPage=1', headers: { authorization } })
  const { nextCursor } = list.json()._metadata
  t.match(await get(`/v1/entries?cursor=${nextCursor}&perPage=1`), { query: { cursor: nextCursor }, statusCode: 200 })
})

t.test('a line stays one line, and no longer than a few values, whatever comes from outside', async (t) => {
  const { get } = await asked
  const name = encodeURIComponent('a\n\u0085\u009b31m\u2028\u202e","statusCode":200,"x":"')
  t.match(await get(`/v1/forms?name=${name}`), {
    query: { name: 'a???31m??","statusCode":200,"x":"' },
  })
  t.match(await get('/v1/entries/x', { 'user-agent': 'x\x9b31m\x7fy' }), { userAgent: 'x?31m?y' })
  const long = 'x '.repeat(2000)
  t.match(await get(`/v1/forms?name=${long.replaceAll(' ', '+')}`, { 'user-agent': long }), {
    query: { name: /^.{500}$/ },
    userAgent: /^.{500}$/,
  })
})

t.test('a request whose caller disconnects is logged as aborted, without an error', async (t) => {
  const { app, lines } = await service(t)
  const query = new EventEmitter()
  app.get('/x', async (request) => {
    query.emit('started')
    const signal = callerGone(request)
    await once(query, 'finish', { signal }).catch(() => signal.throwIfAborted())
  })
  const port = await listen(app)
  const socket = connect(port, '127.0.0.1')
  socket.write('GET /x HTTP/1.1\r\nhost: x\r\n\r\n')
  await once(query, 'started')
  lines.length = 0 // that it listens
  socket.destroy()
  while (lines.length === 0) await setImmediate()
  t.match(lines, [{ msg: 'request', operation: '/x', aborted: true, ip: '127.0.0.1' }])
  t.notMatch(lines[0], { statusCode: Number })
})

t.test('what cannot be parsed has a log line too', async (t) => {
  const { app, lines } = await service(t)
  const port = await listen(app)
  lines.length = 0 // that it listens
  t.equal((await fetch(`http://127.0.0.1:${port}/%zz`)).status, 400)
  const socket = connect(port, '127.0.0.1')
  socket.write('garbage\r\n\r\n')
  const [response] = await once(socket, 'data')
  const { requestId } = JSON.parse(String(response).split('\r\n\r\n')[1] as string)
  t.match(lines, [
    { msg: 'request', statusCode: 400, code: 'bad_request', ip: '127.0.0.1' },
    { msg: 'request', reqId: requestId, statusCode: 400, code: 'bad_request', cause: /^HPE_/, bytes: response.length },
  ])
})

t.test('a response that was cut off because nobody read it is logged as aborted, not as sent', async (t) => {
  const { app, lines } = await service(t)
  const replies: FastifyReply[] = []
  app.get('/large', async (_request, reply) => {
    replies.push(reply)
    return 'x'.repeat(16 * 1024 * 1024)
  })
  const port = await listen(app)
  lines.length = 0 // that it listens
  const socket = await neverRead(port, getRequest('/large'))
  while (!replies[0]?.raw.writableEnded) await setImmediate()
  socket.destroy()
  while (lines.length === 0) await setImmediate()
  t.match(lines, [{ operation: '/large', aborted: true }])
  t.notMatch(lines[0], { statusCode: Number })
  t.notMatch(lines[0], { bytes: Number })
})

t.test('the caller’s address is the one that a trusted proxy names', async (t) => {
  const lines: Record<string, unknown>[] = []
  const log = { write: (line: string) => lines.push(JSON.parse(line)) }
  for (const [settings, ip] of [
    [{ TRUST_PROXY: '127.0.0.1' }, '203.0.113.7'],
    [{}, '127.0.0.1'],
  ] as const) {
    const app = await buildApp({ ...testConfig(settings), logLevel: 'info' }, embeddedStore(), log)
    t.teardown(() => app.close())
    await app.inject({ url: '/health/live', headers: { 'x-forwarded-for': '203.0.113.7:1234' } })
    t.match(lines.at(-1), { msg: 'request', ip }, 'without the port that some proxies write')
  }
})

t.test('the id of a request is the caller’s own if it is safe to log, otherwise a new one', async (t) => {
  const { app } = await testApp(t)
  const idOf = async (given?: string) =>
    (await app.inject({ url: '/health/live', headers: given === undefined ? {} : { 'x-request-id': given } })).headers[
      'x-request-id'
    ]
  // The last three are a UUID, a ULID and a trace id of W3C.
  for (const fit of [
    'a.b-c_1:2',
    '0b9df1c4-6a7e-4c39-8c71-7f6b6a0c4e52',
    '01ARZ3NDEKTSV4RRFFQ69G5FAV',
    '4bf92f3577b34da6a3ce929d0e0e4736',
  ]) {
    t.equal(await idOf(fit), fit)
  }
  for (const bad of ['', 'a b', 'x'.repeat(65), '{"a":1}', key, key.slice(17), undefined]) {
    t.match(await idOf(bad), /^[0-9a-f-]{36}$/, `${bad}`)
  }
})
