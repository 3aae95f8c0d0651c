// The log of outages: one line when the database cannot be reached, and one when it can be reached again.
import t from 'tap'
import { buildApp } from '../../../src/app.js'
import { embeddedStore } from '../../../src/core/store/embedded.js'
import { watchOutages } from '../../../src/core/store/outages.js'
import { QueryTimeout, type Store, StoreUnavailable } from '../../../src/core/store/store.js'
import { testApp, testConfig } from '../../support/app.js'
import { A, fillTenants } from '../../support/tenants.js'

const DOWN = 'warn: the database cannot be reached: requests fail with 503 until it can (connect ECONNREFUSED)'
const UP = 'info: the database can be reached again'
const refused = () => new StoreUnavailable(new Error('connect ECONNREFUSED'))

interface State {
  /** The error of a ping, or what it waits for, if either is set. */
  error: Error | undefined
  held: Promise<void> | undefined
  time: number
  /** What is logged. */
  lines: string[]
  /** What those that wait are told. */
  failures: Error[]
}

const watchedStore = () => {
  const state: State = { error: undefined, held: undefined, time: 0, lines: [], failures: [] }
  const ping = async () => {
    const { error, held } = state
    if (error !== undefined) throw error
    await held
  }
  const log = {
    warn: (details: object, message: string) =>
      state.lines.push(`warn: ${message} (${(details as { reason: string }).reason})`),
    info: (message: string) => state.lines.push(`info: ${message}`),
  }
  const onFailure = (error: Error) => state.failures.push(error)
  return { state, store: watchOutages({ ...embeddedStore(), ping }, log, onFailure, () => state.time) }
}

t.test('an outage is one line and its end another, however many operations fail', async (t) => {
  const { state, store } = watchedStore()
  await store.ping()
  state.error = refused()
  for (let n = 0; n < 3; n++) await t.rejects(store.ping(), StoreUnavailable)
  t.same(state.lines, [DOWN])
  t.same(state.failures, [state.error, state.error, state.error], 'but each is told')
  state.error = undefined
  for (let n = 0; n < 3; n++) await store.ping()
  t.same(state.lines, [DOWN, UP])
})

t.test('a database that fails now and then is logged at most every ten seconds', async (t) => {
  const { state, store } = watchedStore()
  for (const [time, lines] of [
    [0, 2],
    [9999, 2],
    [10_000, 4],
  ] as const) {
    state.time = time
    state.error = refused()
    await t.rejects(store.ping())
    state.error = undefined
    await store.ping()
    t.equal(state.lines.length, lines, `after ${time} ms`)
  }
})

t.test('an operation that began before the outage does not end it', async (t) => {
  const { state, store } = watchedStore()
  let respond = () => {}
  state.held = new Promise((resolve) => {
    respond = resolve
  })
  const early = store.ping()
  state.held = undefined
  state.error = refused()
  await t.rejects(store.ping())
  respond()
  await early
  t.same(state.lines, [DOWN])
})

t.test('an operation that fails because the store was closed is no outage', async (t) => {
  const { state, store } = watchedStore()
  await store.close()
  state.error = refused()
  await t.rejects(store.ping(), StoreUnavailable)
  t.same(state.lines, [])
})

t.test('an error that is no outage is not logged as one', async (t) => {
  const { state, store } = watchedStore()
  state.error = new QueryTimeout(new Error('slow'))
  await t.rejects(store.ping(), QueryTimeout)
  t.same(state.lines, [])
})

t.test('requests and health checks that fail in an outage log no error of their own', async (t) => {
  const lines: { level: number; msg: string; statusCode?: number }[] = []
  const log = { write: (line: string) => lines.push(JSON.parse(line)) }
  const store = embeddedStore()
  await fillTenants(store)
  const { keyOf } = await testApp(t, { store })
  let isDown = false
  const down =
    <T extends unknown[], R>(operation: (...args: T) => Promise<R>) =>
    async (...args: T) => {
      if (isDown) throw refused()
      return operation(...args)
    }
  const failing: Store = {
    ...store,
    aggregate: down(store.aggregate),
    update: down(store.update),
    ping: down(store.ping),
  }
  const app = await buildApp({ ...testConfig(), logLevel: 'info' }, failing, log)
  t.teardown(() => app.close())
  const headers = { authorization: `Bearer ${await keyOf(A)}` }
  const ask = async () => {
    const urls = ['/v1/entries/x', '/v1/users?total=false', '/health/ready', '/health/ready']
    return Promise.all(urls.map(async (url) => (await app.inject({ url, headers })).statusCode))
  }
  isDown = true
  t.same(await ask(), [503, 503, 503, 503])
  isDown = false
  t.same(await ask(), [404, 200, 200, 200])
  t.equal(lines.filter(({ msg }) => msg === 'request').length, 8)
  t.same(
    lines.filter(({ msg }) => msg !== 'request').map(({ level, msg }) => [level, msg]),
    [
      [40, 'the database cannot be reached: requests fail with 503 until it can'],
      [30, 'the database can be reached again'],
    ],
  )
})
