// The request log: one line for each request, with what is needed to find it, and never a key.
import { EventEmitter, once } from 'node:events'
import { connect } from 'node:net'
import { Writable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import Fastify, { LogController } from 'fastify'
import t from 'tap'
import { buildApp } from '../../src/app.js'
import { callerGone } from '../../src/http/caller.js'
import { frameworkErrors, problemsPlugin } from '../../src/plugins/problems.js'
import { rawSocketsPlugin } from '../../src/plugins/raw-sockets.js'
import { requestId, requestLogPlugin } from '../../src/plugins/request-log.js'
import { embeddedStore } from '../../src/store/embedded.js'
import { listen, testApp, testConfig } from '../support/app.js'
import { A } from '../support/tenants.js'

const logged = async () => {
  const lines: Record<string, unknown>[] = []
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(chunk))
      done()
    },
  })
  const app = Fastify({
    logger: { stream },
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestId,
    frameworkErrors,
  })
  app.decorate('config', testConfig())
  await app.register(requestLogPlugin)
  return { app, lines }
}

const key = 'fda_abcdefghijkl_ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abc'

t.test('a request is one line, with its id, its key’s id and no secret', async (t) => {
  const { app, lines } = await logged()
  app.get('/x', async (request) => {
    request.scope = { organisation: 'org', keyId: 'abcdefghijkl', keyName: 'Test', expiresAt: undefined }
    return {}
  })
  await app.inject({
    url: `/x?token=${key}`,
    headers: {
      'x-request-id': 'from-the-caller',
      authorization: `Bearer ${key}`,
      'user-agent': `sync/1.0 (token ${key})`,
    },
  })
  t.equal(lines.length, 1)
  t.match(lines[0], {
    reqId: 'from-the-caller',
    method: 'GET',
    url: '/x?token=fda_abcdefghijkl_[redacted]',
    statusCode: 200,
    ms: Number,
    ip: '127.0.0.1',
    userAgent: 'sync/1.0 (token fda_abcdefghijkl_[redacted]',
    keyId: 'abcdefghijkl',
    organisation: 'org',
  })
  for (const underscore of ['%5F', '%255f', '%25255F']) await app.inject(`/x?token=${key.replaceAll('_', underscore)}`)
  t.notMatch(JSON.stringify(lines), key.slice(17))
})

t.test('a request whose caller disconnects is logged as aborted, without an error', async (t) => {
  const { app, lines } = await logged()
  await app.register(problemsPlugin)
  const query = new EventEmitter()
  app.get('/x', async (request) => {
    query.emit('started')
    const signal = callerGone(request)
    await once(query, 'finish', { signal }).catch(() => signal.throwIfAborted())
  })
  t.teardown(() => app.close())
  const port = await listen(app)
  const socket = connect(port, '127.0.0.1')
  socket.write('GET /x HTTP/1.1\r\nhost: x\r\n\r\n')
  await once(query, 'started')
  lines.length = 0 // that it listens
  socket.destroy()
  while (lines.length === 0) await setImmediate()
  t.match(lines, [{ msg: 'request', url: '/x', aborted: true }])
  t.notMatch(lines[0], { statusCode: Number })
})

t.test('a URL that cannot be parsed and a CONNECT request have a log line too', async (t) => {
  const { app, lines } = await logged()
  await app.register(problemsPlugin)
  await app.register(rawSocketsPlugin)
  t.teardown(() => app.close())
  const port = await listen(app)
  lines.length = 0 // that it listens
  t.equal((await fetch(`http://127.0.0.1:${port}/%zz`)).status, 400)
  const socket = connect(port, '127.0.0.1')
  socket.write('CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n')
  const [response] = await once(socket, 'data')
  const { requestId } = JSON.parse(String(response).split('\r\n\r\n')[1] as string)
  t.match(lines, [
    { url: '/%zz', statusCode: 400 },
    { reqId: requestId, statusCode: 405 },
  ])
})

t.test('a long URL and a long user agent are cut in the log', async (t) => {
  const { app, lines } = await logged()
  await app.inject({ url: `/${'x '.repeat(2000)}`, headers: { 'user-agent': 'y '.repeat(2000) } })
  t.match(lines, [{ url: /^.{500}$/, userAgent: /^.{200}$/ }])
})

t.test('control characters in a user agent do not reach the log', async (t) => {
  const { app, lines } = await logged()
  await app.inject({ url: '/x', headers: { 'user-agent': 'x\x9b31m\x7fy' } })
  t.match(lines, [{ userAgent: 'x?31m?y' }])
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
    await app.inject({ url: '/health/live', headers: { 'x-forwarded-for': '203.0.113.7' } })
    t.match(lines.at(-1), { msg: 'request', ip })
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

t.test('a problem has the request’s id in its body too', async (t) => {
  const { get } = await testApp(t)
  const response = await get('/v1/entries/x', A, { headers: { 'x-request-id': 'mine' } })
  t.equal(response.json().requestId, 'mine')
})
