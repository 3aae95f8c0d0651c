// The service as a process with a database that is down, is killed under load, comes back, or is slow: callers get problems
// that say so, in time, and the service recovers by itself.
import { Agent, get, type IncomingHttpHeaders } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import t, { type Test } from 'tap'
import { keysOf } from '../../src/keys/keys.js'
import { mongoStore } from '../../src/store/mongo.js'
import { type Call, HUNG } from '../support/callers.js'
import { type Database, testDatabase } from '../support/database.js'
import { printed, type Started, startProgram } from '../support/process.js'
import { fillForLoad, loadOf, mixtureOf, startLoad, startService, timesOf } from '../support/steady.js'
import { mongoSettings } from '../support/store.js'
import { A, a, fillTenants } from '../support/tenants.js'

const CLIENTS = 16
/** After this long a request counts as hung: each of its two reads may take seven seconds when the database dies. */
const HUNG_MS = 20_000
/** How long the service may take to recover once the database is back. */
const RECOVERY_MS = 60_000

const load = loadOf(process.env.STEADY_LOAD)
const ENTRIES = 2000
const CALM_MS = 2000
const LONGEST_FAULT_S = 10

const paths = [
  '/v1/entries?perPage=100',
  '/v1/entries?status=accepted&sortBy=duration&sortOrder=desc',
  `/v1/entries/${a.entry(1)._id}`,
  '/v1/dispatches?sortBy=name',
  `/v1/dispatches/${a.dispatch(1)._id}`,
  '/v1/projects',
  `/v1/projects/${a.project(1)._id}`,
]

interface Response {
  path: string
  status: number | undefined
  headers: IncomingHttpHeaders
  body: { code?: string }
  /** When the request was sent, and how long the response took, in milliseconds. */
  at: number
  took: number
}

/** Inserts two organisations into the database; returns a key of the first. */
const fill = async (t: Test, { uri }: Database, entries = 0): Promise<string> => {
  const store = mongoStore(mongoSettings(uri))
  await fillTenants(store)
  for (let n = 1000; n < 1000 + entries; n += 1000) {
    await store.insert(
      'entries',
      Array.from({ length: 1000 }, (_, i) => a.entry(n + i)),
    )
  }
  const key = await keysOf(store, (error) => t.fail(String(error))).issue({ organisation: A, name: 'Test' })
  await store.close()
  return key
}

/** Starts the service; returns its process, and functions that send requests over kept connections. */
const serve = async (t: Test, { uri }: Database, key: string, settings: Record<string, string> = {}) => {
  const child: Started = startProgram(t, 'src/server.ts', {
    settings: { PORT: '0', LOG_LEVEL: 'error', MONGODB_URI: uri, QUERY_TIMEOUT_MS: '2000', ...settings },
  })
  const [, url] = await printed(child, /field-data-api on (\S+) /)
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS })
  t.teardown(() => agent.destroy())
  const ask = (path: string): Promise<Response> => {
    const at = performance.now()
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${key}` }
      const request = get(url + path, { agent, headers, timeout: HUNG_MS }, async (response) => {
        const { statusCode: status, headers } = response
        const body = JSON.parse((await response.setEncoding('utf8').toArray()).join(''))
        resolve({ path, status, headers, body, at, took: performance.now() - at })
      })
      request.on('timeout', () => request.destroy(new Error(`${path} got no response`)))
      request.on('error', reject)
    })
  }
  /** Sends requests until all succeed; returns how long that took, in milliseconds. */
  const recovered = async () => {
    const start = performance.now()
    const failing = async () => {
      const responses = await Promise.all(['/health/ready', ...paths].map(ask))
      return responses.filter(({ status }) => status !== 200)
    }
    for (let failed = await failing(); failed.length > 0; failed = await failing()) {
      if (performance.now() - start > RECOVERY_MS) {
        throw new Error(`The service does not recover: ${JSON.stringify(failed)}`)
      }
      await setTimeout(100)
    }
    return performance.now() - start
  }
  return { child, ask, recovered }
}

const is503 = (t: Test, { path, status, headers, body }: Response, code: string): void => {
  t.match(
    { status, type: headers['content-type'], retryAfter: headers['retry-after'], body },
    { status: 503, type: /^application\/problem\+json/, retryAfter: /^\d+$/, body: { success: false, code } },
    path,
  )
}

t.test('it starts without a database, is not ready, and becomes ready when the database is up', async (t) => {
  const database = await testDatabase(t)
  const key = await fill(t, database)
  await database.kill()
  const { child, ask, recovered } = await serve(t, database, key)
  t.equal((await ask('/health/live')).status, 200)
  const responses = await Promise.all(['/health/ready', ...paths].map(ask))
  for (const response of responses) is503(t, response, 'service_unavailable')
  t.equal((await ask('/health/live')).status, 200)
  await database.start()
  t.comment(`recovered after ${Math.round(await recovered())} ms`)
  t.equal(child.exitCode, null)
})

const HONEST = ['service_unavailable', 'overloaded', 'query_timeout']

/** A 503 that says so, or an export that had begun and was broken off. */
const isHonest = ({ path, status, type, retryAfter, code, error }: Call): boolean =>
  error === undefined
    ? status === 503 &&
      type?.startsWith('application/problem+json') === true &&
      /^\d+$/.test(String(retryAfter)) &&
      HONEST.includes(String(code))
    : status === 200 && error !== HUNG && path.startsWith('/v1/exports/')

t.test(
  'under load, each response is right or an honest 503 whatever happens to the database, and the service recovers by itself',
  { timeout: 600_000 },
  async (t) => {
    const database = await testDatabase(t)
    const isReal = Object.keys(database.troubles).length > 0
    const filled = isReal ? await fillForLoad(database.uri, ENTRIES) : [{ keys: [await fill(t, database)], ids: [] }]
    const { child, url } = await startService(t, database.uri)
    const asked = isReal ? await mixtureOf(url, filled) : filled.map(({ keys }) => ({ keys, paths }))
    const { connections, seconds } = isReal ? load : { connections: CLIENTS, seconds: 0.5 }
    const callers = await startLoad(url, asked, { connections })
    const { calls } = callers

    const client = new MongoClient(database.uri, { serverSelectionTimeoutMS: 500 })
    t.teardown(() => client.close())
    const responds = async () => {
      while (
        !(await client
          .db()
          .command({ ping: 1 })
          .then(
            () => true,
            () => false,
          ))
      )
        await setTimeout(20)
    }
    const isFailure = ({ status, error, wrong }: Call) => status !== 200 || error !== undefined || wrong !== undefined
    const lastFailure = () => Math.max(0, ...calls.filter(isFailure).map(({ at }) => at))

    const troubles = {
      killed: async (seconds: number) => {
        await database.kill()
        await setTimeout(seconds * 1000)
        await database.start()
      },
      ...database.troubles,
    }
    const faults: { begun: number; back: number; name: string }[] = []
    for (const [name, trouble] of Object.entries(troubles)) {
      await setTimeout(CALM_MS)
      const begun = performance.now()
      await trouble(Math.min(seconds, LONGEST_FAULT_S))
      await responds()
      const back = performance.now()
      faults.push({ name, begun, back })
      while (performance.now() < Math.max(lastFailure(), back) + CALM_MS && performance.now() < back + RECOVERY_MS) {
        await setTimeout(100)
      }
    }
    await callers.stop()

    for (const { name, begun, back } of faults) {
      const during = calls.filter(
        ({ at, took }) =>
          at + took > begun &&
          at < back + RECOVERY_MS &&
          at < (faults.find((next) => next.begun > begun)?.begun ?? Infinity),
      )
      const failed = during.filter(isFailure)
      const counts: Record<string, number> = {}
      for (const { code, error, status, wrong } of failed) {
        const what = code ?? (wrong ? 'wrong' : `${status} ${error}`)
        counts[what] = (counts[what] ?? 0) + 1
      }
      t.comment(
        `${name}: ${during.length} requests, failed: ${JSON.stringify(counts)}, ${timesOf(during)}, recovered ${Math.round(Math.max(0, ...failed.map(({ at }) => at - back)))} ms after the database`,
      )
    }
    t.same(calls.filter((call) => isFailure(call) && !isHonest(call)).slice(0, 5), [], 'what fails says so')
    const levels = child
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line))
    const kinds: Record<string, number> = {}
    for (const { level, msg, err } of levels) {
      const k = `${level} ${msg} ${err?.type ?? ''} ${err?.message ?? ''}`.slice(0, 300)
      kinds[k] = (kinds[k] ?? 0) + 1
    }
    t.comment(JSON.stringify(kinds, null, 1))
    t.equal(child.exitCode, null, 'it is the same process')
    t.equal(child.signalCode, null)
  },
)

t.test('a query that takes too long fails with query_timeout, and the service goes on', async (t) => {
  const database = await testDatabase(t)
  const key = await fill(t, database, 5000)
  const { child, ask } = await serve(t, database, key, { QUERY_TIMEOUT_MS: '5' })
  database.slowDown()
  const slow = await Promise.all(Array.from({ length: CLIENTS }, () => ask('/v1/entries?perPage=1000&sortBy=duration')))
  for (const response of slow) is503(t, response, 'query_timeout')
  t.equal((await ask('/health/live')).status, 200)
  t.equal((await ask('/health/ready')).status, 200)
  t.equal(child.exitCode, null)
})
