// The service as a process with a database that is down, is killed under load, comes back, or is slow: callers get problems
// that say so, in time, and the service recovers by itself.
import { Agent, get, type IncomingHttpHeaders } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import t, { type Test } from 'tap'
import { keysOf } from '../src/core/keys/keys.js'
import { mongoStore } from '../src/core/store/mongo.js'
import { printed, type Started, startProgram } from '../test/support/process.js'
import { mongoSettings } from '../test/support/store.js'
import { A, a, fillTenants } from '../test/support/tenants.js'
import { type Call, countsOf, HUNG, isRight } from './support/callers.js'
import { type Database, serverInTrouble, testDatabase } from './support/database.js'
import { fillForLoad, loadOf, mixtureOf, skipped, startLoad, startService, timesOf } from './support/steady.js'

const CLIENTS = 16
/** After this long a request counts as hung: each of its two reads may take seven seconds when the database dies. */
const HUNG_MS = 20_000
/** How long the service may take to recover once the database is back. */
const RECOVERY_MS = 60_000

const load = loadOf(process.env.STEADY_LOAD)
const ENTRIES = 2000
/** How long all must have been right before the next trouble. */
const CALM_MS = 2000
const LONGEST_FAULT_S = 10
/** How long a server may be back before all responses are right. */
const RECOVERED_MS = 5000
/**
 * No response takes longer: a request waits for a place for 5 s at most, and its read for 23 s, of which 1 s is for a server,
 * 10 s for a connection of the pool, 2 s for a new one and 10 s for the query (serverSelectionTimeoutMS and QUERY_TIMEOUT_MS).
 */
const LONGEST_MS = 30_000
/** What the service logs of a request or a write that fails. That the database is away is a warning. */
const EXPECTED = ['an export was broken off', 'the last use of a key was not written']

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

/** A 503 that says so. */
const is503Of = ({ status, error, type, retryAfter, code }: Call): boolean =>
  error === undefined &&
  status === 503 &&
  type?.startsWith('application/problem+json') === true &&
  /^\d+$/.test(retryAfter ?? '') &&
  ['service_unavailable', 'query_timeout', 'overloaded'].includes(code ?? '')

/** An export that had begun and was broken off, which is an error for every program. */
const isBroken = ({ path, status, error }: Call): boolean =>
  status === 200 && error !== undefined && error !== HUNG && path.startsWith('/v1/exports/')

/** The stand-in, the only one in this process, can only be killed, and is asked by few. */
const standInTroubles = async (t: Test) => {
  const database = await testDatabase(t)
  const killed = async (seconds: number) => {
    await database.kill()
    await setTimeout(seconds * 1000)
    await database.start()
  }
  return { uri: database.uri, troubles: { killed }, asked: [{ keys: [await fill(t, database)], paths }] }
}

t.test(
  'whatever happens to the database under load, each response is right or says that it fails, and soon all are right again',
  { timeout: 900_000 },
  async (t) => {
    const isReal = process.env.TEST_MONGODB_SERVER !== undefined && !skipped(load)
    const { connections, seconds } = isReal ? load : { connections: CLIENTS, seconds: 1.5 }
    const calmMs = isReal ? CALM_MS : CALM_MS / 4
    const server = isReal ? { ...(await serverInTrouble(t)), asked: undefined } : await standInTroubles(t)
    const filled = isReal ? await fillForLoad(server.uri, ENTRIES) : []
    const { child, url } = await startService(t, server.uri, { MAX_CONNECTIONS: String(connections + 100) })
    const callers = await startLoad(url, server.asked ?? (await mixtureOf(url, filled)), {
      connections,
      hungMs: LONGEST_MS,
    })
    const { calls } = callers

    const client = new MongoClient(server.uri, { serverSelectionTimeoutMS: 500 })
    t.teardown(() => client.close())
    const find = () => client.db().command({ find: 'entries', filter: {}, limit: 1 })
    const untilItReads = async (): Promise<void> => {
      const reads = await find().catch(() => undefined)
      if (reads === undefined) await setTimeout(20).then(untilItReads)
    }
    const faults: { name: string; begun: number; back: number }[] = []
    for (const [name, trouble] of Object.entries(server.troubles)) {
      await setTimeout(calmMs)
      const begun = performance.now()
      await trouble(Math.min(seconds, LONGEST_FAULT_S))
      await untilItReads()
      const back = performance.now()
      faults.push({ name, begun, back })
      const lastFailure = () => Math.max(back, ...calls.filter((call) => !isRight(call)).map(({ at }) => at))
      while (performance.now() < lastFailure() + calmMs && performance.now() < back + LONGEST_MS) {
        await setTimeout(100)
      }
    }
    await callers.stop()

    // A call that begins in the calm and ends in a fault is that of the fault.
    const ofFault = faults.map(({ begun }, n) => {
      const until = faults[n + 1]?.begun ?? Number.POSITIVE_INFINITY
      return calls.filter(({ at, took }) => at + took > begun && at + took <= until)
    })
    for (const [n, { name, back }] of faults.entries()) {
      const during = ofFault[n] as Call[]
      const failed = during.filter((call) => !isRight(call))
      const recovery = Math.round(Math.max(0, ...failed.map(({ at }) => at - back)))
      const codes = countsOf(failed.map((call) => (isBroken(call) ? 'broken exports' : (call.code ?? 'others'))))
      t.comment(
        `${name}: ${during.length} requests, ${codes || 'none failed'}; ${timesOf(during)}; well after ${recovery} ms`,
      )
      t.ok(!isReal || recovery <= RECOVERED_MS, `${name}: all are right soon`)
    }
    t.not(ofFault[0]?.every(isRight), true, 'requests failed while it was killed')
    const others = calls.filter((call) => !isRight(call) && !is503Of(call) && !isBroken(call))
    t.same(others.slice(0, 5), [], 'each response is right, or says that it fails')
    // Large pages of a key are read one at a time: in a busy process with the stand-in one may wait too long behind the others.
    const hasWaited = ({ code }: Call) => !isReal && code === 'overloaded'
    const early = calls.filter(
      (call) => !isRight(call) && !hasWaited(call) && !ofFault.some((during) => during.includes(call)),
    )
    t.same(early.slice(0, 5), [], 'it worked before')

    const errors = child
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{"level":50'))
      .map((line): { msg: string; err: Error } => JSON.parse(line))
    for (const { msg, err } of errors) t.ok(EXPECTED.includes(msg), `it logs: ${msg}: ${err?.message}`)
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
