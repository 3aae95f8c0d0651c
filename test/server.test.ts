// The process itself: it starts, tells how to use it, ends in order, and says in words why it does not start.
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { printed, type Started, startProgram } from './support/process.js'
import { WireServer } from './support/wire-server.js'

/** Starts the service with these settings alone, on a port of its own. */
const start = (t: Test, settings: Record<string, string>, nodeOptions: string[] = []): Started =>
  startProgram(t, 'src/server.ts', { settings: { PORT: '0', LOG_LEVEL: 'info', ...settings }, nodeOptions })

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  t.test(`the demo starts, its banner’s curl line works, and ${signal} ends it in order`, async (t) => {
    const child = start(t, {})
    const [, key, url] = await printed(child, /curl -H 'Authorization: Bearer (\S+)' '(\S+)'/)
    t.match(child.output(), /Docs {2}http:\/\/127\.0\.0\.1:\d+\/docs/)
    t.equal(child.output().match(/^ {2}Key {3}fda_/gm)?.length, 2)

    const response = await fetch(url as string, { headers: { authorization: `Bearer ${key}` } })
    t.equal(response.status, 200)
    t.match(await response.json(), { success: true, data: [{ id: String }] })

    child.kill(signal)
    t.same(await once(child, 'exit'), [0, null])
    const log = child
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
    t.notMatch(log.join(), key, 'the log has no key')
  })
}

t.test('it ends in order though callers keep connections open, silent or in the middle of a request', async (t) => {
  const child = start(t, {})
  const [, port] = await printed(child, /field-data-api on http:\/\/127\.0\.0\.1:(\d+)/)
  const sockets = ['', 'GET /health/live HT', 'GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n'].map((text) => {
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(text))
    return socket.on('error', () => {})
  })
  await once(sockets[2] as Socket, 'data')
  child.kill('SIGTERM')
  t.same(await once(child, 'exit'), [0, null])
  t.notMatch(child.output(), 'killed by timeout')
})

t.test('wrong settings end it with their names and no stack trace', async (t) => {
  const child = start(t, { PORT: 'x', LOG_LEVEL: 'loud' })
  t.same(await once(child, 'exit'), [1, null])
  t.match(child.output(), /These settings are invalid:\n {2}PORT must/)
  t.match(child.output(), /LOG_LEVEL must be one of/)
  t.notMatch(child.output(), /\n +at /)
})

t.test('a database’s URI that cannot be read ends it with a message', async (t) => {
  const child = start(t, { MONGODB_URI: 'mongodb://:::/field' })
  t.same(await once(child, 'exit'), [1, null])
  t.match(child.output(), /^These settings are invalid:\n {2}MONGODB_URI cannot be used: /m)
  t.notMatch(child.output(), /\n +at /)
})

t.test('a fault of the program at its start ends it with a stack trace', async (t) => {
  const fault = "import net from 'node:net'; net.Server.prototype.listen = () => { throw new Error('a fault') }"
  const child = start(t, {}, ['--import', `data:text/javascript,${encodeURIComponent(fault)}`])
  t.same(await once(child, 'exit'), [1, null])
  t.match(child.output(), /Error: a fault\n +at /)
})

t.test('a port that is taken ends it with a message', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as { port: number }
  const child = start(t, { PORT: String(port) })
  t.same(await once(child, 'exit'), [1, null])
  t.match(child.output(), new RegExp(`HOST 127.0.0.1, PORT ${port}: listen EADDRINUSE`))
  t.notMatch(child.output(), /\n +at /)
})

t.test('with a database that is down it starts, is alive and not ready, and seeds nothing', async (t) => {
  const child = start(t, { MONGODB_URI: 'mongodb://127.0.0.1:1/field' })
  const [, url] = await printed(child, /field-data-api on (\S+) \(MongoDB database field\)/)
  t.notMatch(child.output(), /fda_/)
  t.equal((await fetch(`${url}/health/live`)).status, 200)
  const ready = await fetch(`${url}/health/ready`)
  t.equal(ready.status, 503)
  t.match(await ready.json(), { success: false, code: 'service_unavailable' })
  child.kill('SIGTERM')
  t.same(await once(child, 'exit'), [0, null])
})

t.test(
  'the indexes are made at start, as soon as the database is there, and one failure is logged and no end',
  async (t) => {
    const server = await WireServer.for(t)
    server.stop()
    const child = start(t, { MONGODB_URI: server.uri })
    const [, url] = await printed(child, /field-data-api on (\S+) /)
    await printed(child, /the indexes cannot be made now/)
    await server.start()
    await printed(child, /the indexes are there/)
    t.ok(server.commands.some((command) => 'createIndexes' in command))
    t.equal((await fetch(`${url}/health/ready`)).status, 200, 'and it is ready without a restart')
    child.kill('SIGTERM')
    t.same(await once(child, 'exit'), [0, null])

    server.errors.set('createIndexes', 85)
    const failing = start(t, { MONGODB_URI: server.uri })
    await printed(failing, /the indexes cannot be made now/)
    const [, other] = await printed(failing, /field-data-api on (\S+) /)
    t.equal((await fetch(`${other}/health/live`)).status, 200)
  },
)

t.test('no index is made where the settings say so', async (t) => {
  const server = await WireServer.for(t)
  const child = start(t, { MONGODB_URI: server.uri, ENSURE_INDEXES: 'false' })
  const [, url] = await printed(child, /field-data-api on (\S+) /)
  t.equal((await fetch(`${url}/health/ready`)).status, 200)
  t.notOk(server.commands.some((command) => 'createIndexes' in command))
})
