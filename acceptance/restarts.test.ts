// Restarts under load. Behind HAProxy one of two instances at a time is told to stop, or killed, and started again; then one
// without a proxy is told to stop. RESTARTS says how often each. With the delay of docs/scaling.md a stop takes eight seconds.
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { keysOf } from '../src/core/keys/keys.js'
import { freePort, printed, type Started, startProgram } from '../test/support/process.js'
import { databaseOn } from '../test/support/store.js'
import { A, a } from '../test/support/tenants.js'
import { type Call, Callers, countsOf, isRight, type Options, takeReferences } from './support/callers.js'
import { isWithoutProxy, shutdownDelayMs, startProxy } from './support/haproxy.js'

const server = process.env.TEST_MONGODB_URI
const RESTARTS = Number(process.env.RESTARTS)
const ENTRIES = 10_000
/** More keys than one, since a key has few large pages at once. */
const KEYS = 4
const SETTLE_MS = 1000
/** Between two kills: longer than a feed waits, so that a retry has the time to end. */
const BETWEEN_KILLS_MS = 6000

const isSkipped = server === undefined || isWithoutProxy || !RESTARTS
const options = {
  skip: isSkipped ? 'TEST_MONGODB_URI, HAPROXY_PATH and RESTARTS are not all set' : false,
  timeout: (RESTARTS * 40 + 120) * 1000,
}

/** Data, and a function that starts an instance. */
const prepare = async (t: Test) => {
  const { uri, store } = await databaseOn(t, String(server))
  const now = new Date()
  await store.insert('organisations', [{ _id: A, name: 'A', createdAt: now, updatedAt: now }])
  for (let i = 0; i < ENTRIES; i += 1000) {
    await store.insert(
      'entries',
      Array.from({ length: 1000 }, (_, n) => a.entry(1, { _id: `e${String(i + n).padStart(5, '0')}` })),
    )
  }
  const issue = () => keysOf(store, () => {}).issue({ organisation: A, name: 'Test' })
  const keys = await Promise.all(Array.from({ length: KEYS }, issue))
  const started: Started[] = []
  const start = async (port: number | undefined, delayMs = 0): Promise<Started> => {
    const settings = {
      ...{ PORT: String(port), PUBLIC_URL: 'http://127.0.0.1', LOG_LEVEL: 'warn', SHUTDOWN_DELAY_MS: String(delayMs) },
      ...{ MONGODB_URI: uri, ENSURE_INDEXES: 'false', SYNC_SETTLE_MS: String(SETTLE_MS) },
    }
    const child = startProgram(t, 'src/server.ts', { settings })
    started.push(child)
    await printed(child, /field-data-api on http/)
    return child
  }
  /** Fails for each request that has failed, and shows which errors the instances have logged. */
  const noneHasFailed = (t: Test, calls: readonly Call[]): void => {
    const failures = failuresOf(calls)
    const lines = started.flatMap((child) => child.output().split('\n')).filter((line) => line.includes('"level":50'))
    t.same(failures, [], failures.length > 0 ? lines.slice(0, 10).join('\n').slice(0, 5000) : 'none failed')
  }
  return { keys, start, noneHasFailed }
}

/** The callers of a URL: what they ask while something happens. */
const callersOf = async (url: string, keys: readonly string[]) => {
  await setTimeout(2 * SETTLE_MS)
  const headers = { authorization: `Bearer ${keys[0]}` }
  const response = await fetch(`${url}/v1/sync/entries?changedSince=${new Date().toISOString()}`, { headers })
  const { nextCursor } = ((await response.json()) as { _metadata: { nextCursor: string } })._metadata
  const pages = ['/v1/entries?perPage=50', '/v1/entries/e00007', '/v1/sync/entries?perPage=20&cursor=*']
  const mixture = { keys, paths: [...pages, '/v1/exports/entries.ndjson?idTo=e00099'] }
  const feeds = { keys, paths: [`/v1/sync/entries?cursor=${nextCursor}&wait=5`] }
  const files = { keys, paths: ['/v1/exports/entries.csv'] }
  const references = await takeReferences(url, [mixture, feeds, files])
  return async (retries: number, work: () => Promise<void>): Promise<Call[]> => {
    const begin = (asked: typeof mixture, options: Omit<Options, 'pauseMs'>) =>
      new Callers([url], [asked], references, { retries, pauseMs: 100, ...options })
    const callers = [
      begin(mixture, { connections: 8 }),
      begin(mixture, { connections: 8, isNew: true }),
      begin(feeds, { connections: 8 }),
      // They take seconds to read the file, so that a restart finds it half sent.
      begin(files, { connections: 4, readPauseMs: 15 }),
    ]
    await work()
    return (await Promise.all(callers.map((each) => each.stop()))).flat()
  }
}

/** Sends a signal to an instance and waits until it has ended. */
const end = async (service: Started | undefined, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
  const ended = once(service as Started, 'exit')
  service?.kill(signal)
  await ended
}

/** What has failed, in a line each. */
const failuresOf = (calls: readonly Call[]): string[] =>
  calls
    .filter((call) => !isRight(call))
    .map(({ path, status, code, error, wrong, took, retried }) =>
      [path.split('cursor=')[0], status, code, error, wrong, `${Math.round(took)} ms`, ...retried].join(' '),
    )

t.test('restarts', options, async (t) => {
  const { keys, start, noneHasFailed } = await prepare(t)
  const ports = [await freePort(), await freePort()]
  const services = await Promise.all(ports.map((port) => start(port, shutdownDelayMs)))
  const proxy = await startProxy(ports)
  t.teardown(proxy.stop)
  const callsDuring = await callersOf(proxy.url, keys)
  /** How often it has sent a request again, to the same instance or to the other one. */
  const triesOfProxy = async (): Promise<number> =>
    (await proxy.instances()).reduce((sum, { retries, redispatches }) => sum + retries + redispatches, 0)

  await t.test('behind a proxy no request fails when instances are told to stop', async (t) => {
    let underWay = 0
    const calls = await callsDuring(0, async () => {
      for (let n = 0; n < RESTARTS; n++) {
        const i = n % 2
        const ended = end(services[i], 'SIGTERM')
        await setTimeout(shutdownDelayMs)
        const [instance] = (await proxy.instances()).slice(i)
        t.match(instance?.status, /^DOWN/)
        underWay += instance?.active ?? 0
        await ended
        services[i] = await start(ports[i], shutdownDelayMs)
        await proxy.until(i, 'UP')
      }
    })
    const failures = failuresOf(calls)
    t.comment(`${RESTARTS} restarts by SIGTERM: ${calls.length} requests, ${failures.length} failed;
    ${underWay} were under way when instances began to close`)
    noneHasFailed(t, calls)
  })

  await t.test('what breaks when instances are killed is mended by the proxy, or by a retry', async (t) => {
    const before = await triesOfProxy()
    const calls = await callsDuring(3, async () => {
      for (let n = 0; n < RESTARTS; n++) {
        const i = n % 2
        await end(services[i], 'SIGKILL')
        services[i] = await start(ports[i], shutdownDelayMs)
        await proxy.until(i, 'UP')
        await setTimeout(BETWEEN_KILLS_MS)
      }
    })
    const failures = failuresOf(calls)
    const retried = calls.flatMap(({ retried }) => retried.slice(0, 1))
    const twice = calls.filter(({ retried }) => retried.length > 1)
    const byProxy = (await triesOfProxy()) - before
    t.comment(`${RESTARTS} restarts by SIGKILL: ${calls.length} requests, ${failures.length} failed;
    ${byProxy} times the proxy tried again; ${retried.length} requests the callers, ${twice.length} of them more than once:
    ${countsOf(retried)}`)
    noneHasFailed(t, calls)
    t.same(twice, [], 'one retry mends all')
    t.ok(byProxy + retried.length > 0, 'some were broken')
  })

  await t.test('without a proxy responses are whole when the instance is told to stop', async (t) => {
    const [, port] = ports
    await end(services[1], 'SIGKILL')
    let service = await start(port)
    const callsDuring = await callersOf(`http://127.0.0.1:${port}`, keys)
    const calls = await callsDuring(0, async () => {
      for (let n = 0; n < RESTARTS; n++) {
        await setTimeout(1000)
        await end(service, 'SIGTERM')
        service = await start(port)
      }
    })
    // In between nothing listens. A connection that comes in the very moment when that begins is reset.
    const began = calls.filter(({ status }) => status !== undefined)
    const others = calls.filter(({ status, error }) => status === undefined && !error?.includes('ECONNREFUSED'))
    t.comment(`${RESTARTS} restarts without a proxy: ${began.length} requests, ${failuresOf(began).length} failed;
    ${others.length} other connections failed: ${countsOf(others.map(({ error }) => String(error)))}`)
    noneHasFailed(t, began)
    t.ok(others.length <= 2 + RESTARTS / 5, 'few connections are reset')
  })
})
