// The service as a process with a database that is down, is killed under load, comes back, or is slow: callers get problems
// that say so, in time, and the service recovers by itself.
import { Agent, get, type IncomingHttpHeaders } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { keysOf } from '../../src/keys/keys.js'
import { mongoStore } from '../../src/store/mongo.js'
import { type Database, testDatabase } from '../support/database.js'
import { printed, type Started, startProgram } from '../support/process.js'
import { mongoSettings } from '../support/store.js'
import { A, a, fillTenants } from '../support/tenants.js'

const CLIENTS = 16
/** After this long a request counts as hung: each of its two reads may take seven seconds when the database dies. */
const HUNG_MS = 20_000
/** After this long in a queue the service refuses a request: see the limits of src/plugins/admission.ts. */
const LONGEST_WAIT_MS = 5000
/** How long the service may take to recover once the database is back. */
const RECOVERY_MS = 60_000
/** The pause between two requests of a client: the stand-in server shares this process with all clients. */
const PAUSE_MS = 50

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

t.test(
  'when the database is killed under load, every request gets a response, and in the end all succeed again',
  async (t) => {
    const database = await testDatabase(t)
    const key = await fill(t, database)
    const { child, ask, recovered } = await serve(t, database, key)
    await recovered()

    const responses: Response[] = []
    let working = true
    const client = async (_: unknown, number: number) => {
      for (let n = number; working; n++) {
        responses.push(await ask(paths[n % paths.length] as string))
        await setTimeout(PAUSE_MS)
      }
    }
    const clients = Promise.all(Array.from({ length: CLIENTS }, client))
    const until = async (isEnough: () => boolean) => {
      while (!isEnough()) await setTimeout(PAUSE_MS)
    }
    await until(() => responses.length > 2 * CLIENTS)
    const killed = performance.now()
    await database.kill()
    await until(() => responses.filter(({ status }) => status !== 200).length > CLIENTS)
    await database.start()
    const started = performance.now()
    const recovery = await recovered()
    const well = performance.now()
    await until(() => responses.filter(({ at }) => at > well).length > CLIENTS)
    working = false
    await clients

    const failed = responses.filter(({ status }) => status !== 200)
    // Large pages of a key are read one at a time: on a busy machine one may wait too long behind the others.
    const hasWaited = ({ took, body }: Response) => took >= LONGEST_WAIT_MS && body.code === 'overloaded'
    for (const response of failed) is503(t, response, hasWaited(response) ? 'overloaded' : 'service_unavailable')
    t.ok(
      responses.some(({ status, at }) => status === 200 && at < killed),
      'it worked before',
    )
    t.same(
      failed.filter(({ at }) => at > well),
      [],
      'it works afterwards',
    )
    const longest = (list: readonly Response[]) => Math.round(Math.max(...list.map(({ took }) => took)))
    const surprises = child
      .output()
      .split('\n')
      .filter((line) => line.includes('"internal_error"'))
    t.same(surprises, [], 'there was no other error')
    t.equal(child.exitCode, null, 'it is the same process')
    t.equal(child.signalCode, null)
    const first = Math.min(...failed.map(({ at, took }) => at + took)) - killed
    t.comment(`${responses.length} responses, ${failed.length} failed; the first after ${Math.round(first)} ms; the longest took
    ${longest(failed)} ms, of those that succeeded ${longest(responses.filter(({ status }) => status === 200))} ms;
    recovered ${Math.round(recovery)} ms after the start, which took ${Math.round(started - killed)} ms`)
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
