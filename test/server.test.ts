// The process itself: it starts, prints how to use it, shuts down gracefully, and says why it cannot start. A process takes
// a second to start, so each of those that run every day shows several things. THOROUGH=true tries their variants too.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { keysOf } from '../src/core/keys/keys.js'
import { printed, runProgram, startProgram } from './support/process.js'
import { getRequest, neverRead, send, statusesIn } from './support/sockets.js'
import { A, fillTenants } from './support/tenants.js'
import { isThorough, leftToGate } from './support/thorough.js'
import { WireServer } from './support/wire-server.js'

/** Longer than a signal counts as the one before. */
const REPEATED_MS = 300

// Most of the time goes by in waiting for processes to start and to end.
t.jobs = 3

/** Starts the service with these settings alone, on a port of its own. */
const start = (t: Test, settings: Record<string, string>, options: { covered?: true; nodeOptions?: string[] } = {}) =>
  startProgram(t, 'src/server.ts', { settings: { PORT: '0', LOG_LEVEL: 'info', ...settings }, ...options })

t.test(
  'the demo starts with a curl line that works, and serves metrics; after a SIGTERM and a delay it closes',
  async (t) => {
    // By the command, so that it shows what `serve` does.
    const settings = { PORT: '0', LOG_LEVEL: 'info', METRICS_PORT: '0', SHUTDOWN_DELAY_MS: '60000' }
    const child = startProgram(t, 'src/cli.ts', { argv: ['serve'], settings, covered: true })
    const [, key, url] = await printed(child, /curl -H 'Authorization: Bearer (\S+)' '(\S+)'/)
    t.match(child.output(), /Docs {2}http:\/\/127\.0\.0\.1:\d+\/docs/)
    t.match(child.output(), new RegExp(`  Look  http://127\\.0\\.0\\.1:\\d+/explore#key=${key}\n`))
    t.equal(child.output().match(/^ {2}Key {3}fda_/gm)?.length, 2)

    const ask = () => fetch(url as string, { headers: { authorization: `Bearer ${key}` } })
    const response = await ask()
    t.equal(response.status, 200)
    t.match(await response.json(), { success: true, data: [{ id: String }] })

    const [, port] = await printed(child, /"port":(\d+),"msg":"metrics"/)
    t.match(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text(), /^field_data_build_info\{/m)
    for (const path of ['live', 'ready']) t.equal((await fetch(`http://127.0.0.1:${port}/health/${path}`)).status, 200)
    // Its reader keeps a connection, which does not keep the process.
    const silent = await neverRead(Number(port), '')

    child.kill('SIGTERM')
    await printed(child, /"msg":"closing after a delay"/)
    t.equal((await fetch(new URL('/health/ready', url))).status, 503)
    const late = await ask()
    t.equal(late.status, 200)
    t.not(late.headers.get('connection'), 'close')
    await setTimeout(REPEATED_MS)
    child.kill('SIGTERM')
    t.same(await once(child, 'close'), [0, null])
    silent.destroy()
    const log = child
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
    t.notMatch(log.join(), key, 'the log has no key')
  },
)

t.test(
  'without its database it starts, and creates the indexes once it can be reached; a third SIGINT ends it at once',
  { skip: leftToGate },
  async (t) => {
    const server = await WireServer.for(t)
    server.stop()
    const child = start(t, { MONGODB_URI: server.uri }, { covered: true })
    const [, url] = await printed(child, /field-data-api on (\S+) \(MongoDB database test, which cannot be reached\)/)
    t.notMatch(child.output(), /fda_/)
    t.match(child.output(), `  Look  ${url}/explore\n`)
    t.match(child.output(), /^ {2}Key {3}npx field-data-api keys issue --organisation ID --name NAME$/m)
    t.equal((await fetch(`${url}/health/live`)).status, 200)
    await printed(child, /"reason":"connect ECONNREFUSED/)
    // The next try comes 2 s later, and fails too.
    await setTimeout(3500)
    t.notMatch(child.output(), '"stack"')
    const ready = await fetch(`${url}/health/ready`)
    t.equal(ready.status, 503)
    t.match(await ready.json(), { success: false, code: 'service_unavailable' })
    await server.start()
    await printed(child, /the indexes exist/)
    const lines = child.output().match(/"msg":"the database .*?"/g)
    t.same(lines, [
      '"msg":"the database cannot be reached: requests fail with 503 until it can"',
      '"msg":"the database can be reached again"',
    ])
    t.ok(server.commands.some((command) => 'createIndexes' in command))
    t.equal((await fetch(`${url}/health/ready`)).status, 200, 'it is ready without a restart')

    const ping = server.hold('ping')
    const closed = once(child, 'close')
    const running = fetch(`${url}/health/ready`).then(
      ({ status }) => status,
      () => 'cut off',
    )
    await ping.arrived()
    child.kill('SIGINT')
    // Two signals at the same moment would arrive as one.
    await setTimeout(20)
    child.kill('SIGINT')
    await printed(child, /"signal":"SIGINT","msg":"closing"/)
    await setTimeout(REPEATED_MS)
    t.equal(child.exitCode, null, 'a signal that comes twice at once counts once')
    child.kill('SIGINT')
    t.same(await closed, [1, null])
    t.equal(await running, 'cut off')
    t.match(child.output(), /"operation":"getReady".*"aborted":true/, 'its line in the log says so')
    ping.release()
  },
)

t.test(
  'indexes that are refused stop nothing; told to stop, it finishes what runs, whatever its callers do',
  { skip: leftToGate },
  async (t) => {
    const server = await WireServer.for(t)
    await fillTenants(server.store)
    const authorization = `Bearer ${await keysOf(server.store, () => {}).issue({ organisation: A, name: 'Test' })}`
    server.errors.set('createIndexes', 85)
    const settings = { MONGODB_URI: server.uri, EXPLORE: 'false', SHUTDOWN_DELAY_MS: '500' }
    const child = start(t, settings, { covered: true })
    const [, port] = await printed(child, /field-data-api on http:\/\/127\.0\.0\.1:(\d+)/)
    await printed(
      child,
      /"refused":\["users by organisation, _id, updatedAt: .*"msg":"the database refuses to create or change/,
    )
    t.notMatch(child.output(), '/explore')
    // One says nothing, one has sent half a request, and one is kept for the next request.
    const callers = ['', 'GET /health/live HT', getRequest('/health/live')]
    const silent = await Promise.all(callers.map((sent) => neverRead(Number(port), sent)))
    await printed(child, /"operation":"getLive"/)
    const aggregate = server.hold('aggregate')
    const received = send(Number(port), getRequest('/v1/entries', { authorization }))
    await aggregate.arrived()

    child.kill('SIGTERM')
    await printed(child, /"msg":"closing after a delay"/)
    child.kill('SIGHUP')
    await printed(child, /"msg":"closing"/)
    // The delay ends meanwhile.
    await setTimeout(1000)
    child.kill('SIGTERM')
    await setTimeout(20)
    aggregate.release()
    t.same(await once(child, 'close'), [0, null])
    t.equal(child.output().match(/"msg":"closing"/g)?.length, 1, 'three signals close it once')
    t.notMatch(child.output(), 'killed by timeout')
    for (const socket of silent) socket.destroy()
    t.same(statusesIn(await received), [200], 'the running request gets its response')
  },
)

t.test(
  'a stop while it makes indexes, or asks whether the database is there, is no outage',
  { skip: leftToGate },
  async (t) => {
    for (const command of isThorough ? ['createIndexes', 'ping'] : ['ping']) {
      const server = await WireServer.for(t)
      const { arrived } = server.hold(command)
      const child = start(t, { MONGODB_URI: server.uri }, { covered: true })
      await arrived()
      child.kill('SIGTERM')
      t.same(await once(child, 'close'), [0, null])
      t.match(child.output(), '"msg":"closing"')
      t.notMatch(child.output(), /cannot be reached|the database failed|Error/, command)
    }
  },
)

t.test(
  'no index is created if the settings say so, and indexes that cannot be listed stop nothing',
  { skip: leftToGate },
  async (t) => {
    const server = await WireServer.for(t)
    server.errors.set('listIndexes', 13)
    const child = start(t, { MONGODB_URI: server.uri, ENSURE_INDEXES: 'false' }, { covered: true })
    await printed(child, /the indexes cannot be listed/)
    t.notOk(server.commands.some((command) => 'createIndexes' in command))
    child.kill('SIGTERM')
    t.same(await once(child, 'close'), [0, null])
  },
)

t.test('a bug stops it with a stack trace', { skip: leftToGate }, async (t) => {
  const bug = "import net from 'node:net'; net.Server.prototype.listen = () => { throw new Error('a bug') }"
  const nodeOptions = ['--import', `data:text/javascript,${encodeURIComponent(bug)}`]
  const child = start(t, { DEMO_SCENARIO: 'tiny' }, { covered: true, nodeOptions })
  t.same(await once(child, 'close'), [1, null])
  t.match(child.output(), /Error: a bug\n +at /)
})

t.test(
  'too few files that it may open stop it with a message that says how many it needs',
  { skip: leftToGate },
  async (t) => {
    for (const openFiles of [128, 40]) {
      const argv = ['serve']
      const { code, output } = await runProgram(t, 'bin/field-data-api.js', {
        argv,
        settings: { PORT: '0' },
        openFiles,
      })
      t.equal(code, 1)
      t.match(output, `may open ${openFiles} files, but needs at least 256: `)
      t.notMatch(output, /\n +at /)
    }
    const settings = { MONGODB_URI: 'mongodb://127.0.0.1:1/x?maxPoolSize=300' }
    const { code, output } = await runProgram(t, 'src/server.ts', { settings, openFiles: 256, covered: true })
    t.equal(code, 1)
    t.match(output, 'maxPoolSize 300 of MONGODB_URI needs 380 open files, but the process may open only 256: ')
    const page = readFileSync('docs/incidents.md', 'utf8')
    t.match(page, '`maxPoolSize 300 of MONGODB_URI needs 380 open files, …`')
    t.match(page, '`This process may open 128 files, but needs at least 256: …`')
  },
)

/** What takes long, or differs in little from what runs every day. */
const variant = { skip: isThorough ? false : 'THOROUGH=true tries it' }

t.test('a delay ends by itself', variant, async (t) => {
  const { uri } = await WireServer.for(t)
  const child = start(t, { MONGODB_URI: uri, SHUTDOWN_DELAY_MS: '1' })
  await printed(child, /Key /)
  child.kill('SIGTERM')
  t.same(await once(child, 'close'), [0, null])
  t.match(child.output(), '"msg":"closing after a delay"')
})

t.test('another signal beside a SIGTERM with a delay closes it once', variant, async (t) => {
  for (const signals of [
    ['SIGTERM', 'SIGINT'],
    ['SIGINT', 'SIGTERM'],
    ['SIGTERM', 'SIGHUP'],
  ] as const) {
    const server = await WireServer.for(t)
    const child = start(t, { MONGODB_URI: server.uri, SHUTDOWN_DELAY_MS: '500' })
    const [, url] = await printed(child, /field-data-api on (\S+) /)
    const ping = server.hold('ping')
    const closed = once(child, 'close')
    const running = fetch(`${url}/health/ready`)
    await ping.arrived()
    for (const signal of signals) {
      child.kill(signal)
      await printed(child, signal === 'SIGTERM' ? /"msg":"closing/ : /"msg":"closing"/)
    }
    // The delay ends meanwhile.
    await setTimeout(1000)
    ping.release()
    await running
    t.same(await closed, [0, null])
    t.equal(child.output().match(/"msg":"closing"/g)?.length, 1, signals.join())
  }
})

t.test('a SIGTERM that comes twice at once, and a further one, count once', variant, async (t) => {
  const server = await WireServer.for(t)
  const child = start(t, { MONGODB_URI: server.uri })
  const [, url] = await printed(child, /field-data-api on (\S+) /)
  const ping = server.hold('ping')
  const closed = once(child, 'close')
  const running = fetch(`${url}/health/ready`)
  await ping.arrived()
  child.kill('SIGTERM')
  await setTimeout(20)
  child.kill('SIGTERM')
  await printed(child, /"signal":"SIGTERM","msg":"closing"/)
  await setTimeout(REPEATED_MS)
  child.kill('SIGTERM')
  ping.release()
  t.equal((await running).status, 200)
  t.same(await closed, [0, null])
})

t.test(
  'what still runs when the time to finish is over is cut off, and HTTP/1.0 is told by a reset',
  variant,
  async (t) => {
    const server = await WireServer.for(t)
    const child = start(t, { MONGODB_URI: server.uri })
    const [, port] = await printed(child, /field-data-api on http:\/\/127\.0\.0\.1:(\d+)/)
    const ping = server.hold('ping')
    const closed = once(child, 'close')
    const received = send(Number(port), getRequest('/health/ready').replace('HTTP/1.1', 'HTTP/1.0'))
    // More than the system keeps for a caller who does not read.
    const unread = await neverRead(Number(port), getRequest('/openapi.json').repeat(100))
    await ping.arrived()
    await printed(child, /"operation":"[^"]*openapi/)
    // By then the system keeps no more.
    await setTimeout(1000)
    child.kill('SIGTERM')
    await t.rejects(received, { code: 'ECONNRESET' })
    t.same(await closed, [0, null])
    unread.destroy()
    t.equal(child.output().match(/"aborted":true/g)?.length, 2, 'both have their lines in the log')
  },
)

t.test('with just as many files as it needs it starts, and says how many callers it takes', variant, async (t) => {
  const settings = { MONGODB_URI: 'mongodb://127.0.0.1:1/x?maxPoolSize=176' }
  const options = { settings: { PORT: '0', LOG_LEVEL: 'info', ...settings }, openFiles: 256 }
  await printed(startProgram(t, 'src/server.ts', options), /"connections":16/)
})
