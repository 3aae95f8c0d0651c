// The measured store: what counts as the time of the database, and what was read.
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { BsonList } from '../../src/bson/reader.js'
import { Overloaded } from '../../src/limits/overloaded.js'
import type { Metrics } from '../../src/metrics/catalogue.js'
import { measuredStore } from '../../src/metrics/measured-store.js'
import { entries } from '../../src/pipelines/entries.js'
import { Connections } from '../../src/store/connections.js'
import { embeddedStore } from '../../src/store/embedded.js'
import { type Store, StoreUnavailable } from '../../src/store/store.js'
import { A, fillTenants } from '../support/tenants.js'

/** A measured store with a clock that its operations and the readers of its bytes move, and everything recorded. */
const prepare = async (changes: (clock: { time: number }) => Partial<Store>) => {
  const clock = { time: 0 }
  const recorded: unknown[] = []
  const gauges = new Map<string, () => unknown>()
  const metrics: Metrics = {
    record: (...values) => recorded.push(values),
    observe: (name, read) => gauges.set(name, read),
    text: async () => '',
  }
  const inner = embeddedStore()
  await fillTenants(inner)
  const store = measuredStore({ ...inner, ...changes(clock) }, metrics, () => clock.time)
  return { clock, store, recorded, gauge: (name: string) => gauges.get(name)?.() }
}

const list = entries.list({ organisation: A }, { sortBy: 'id', sortOrder: 'asc', page: 1, perPage: 50 })

t.test('what a read waits for besides the database is not part of its time', async (t) => {
  const { aggregate, ...inner } = embeddedStore()
  await fillTenants({ aggregate, ...inner })
  const { clock, store, recorded } = await prepare((clock) => ({
    async aggregate(query, reading) {
      clock.time += 20
      return aggregate(query, reading)
    },
  }))
  const onBytes = async () => {
    clock.time += 5000
  }
  const found = await store.aggregate(list, { onBytes })
  const labels = { 'db.collection.name': 'entries' }
  t.match(recorded, [
    ['db.client.operation.duration', 0.02, { 'db.operation.name': 'aggregate', ...labels }],
    ['field_data.read', Number, labels],
    ['field_data.read.rows', found.documents.length, labels],
  ])
  t.ok(((recorded as [string, number][])[1]?.[1] as number) >= found.size, 'with what the records refer to')
  await store.aggregate(list)
  t.equal(recorded.length, 6, 'also without somebody who is told the bytes')
})

t.test('an operation that fails has the name of its error, and the error is the same', async (t) => {
  const { store, recorded } = await prepare(() => ({
    aggregate: () => Promise.reject(new StoreUnavailable('gone')),
    ping: () => Promise.reject(new StoreUnavailable('gone')),
  }))
  await t.rejects(store.aggregate(list), StoreUnavailable)
  await t.rejects(store.ping(), StoreUnavailable)
  const failed = { 'error.type': 'StoreUnavailable' }
  t.match(recorded, [
    ['db.client.operation.duration', 0, { 'db.operation.name': 'aggregate', ...failed }],
    ['field_data.read', 0, {}],
    ['db.client.operation.duration', 0, { 'db.operation.name': 'ping', ...failed }],
  ])
})

t.test('what the service itself ends is no failure of the database', async (t) => {
  for (const reason of [new Overloaded('too much'), new DOMException('gone', 'AbortError')]) {
    const { store, recorded } = await prepare(() => ({ aggregate: () => Promise.reject(reason) }))
    await t.rejects(store.aggregate(list), reason)
    t.strictSame(recorded[0], [
      'db.client.operation.duration',
      0,
      { 'db.operation.name': 'aggregate', 'db.collection.name': list.collection },
    ])
  }
})

t.test('the lag of the feeds is that of the majority, for as long as they are read', async (t) => {
  const majority = { now: 50_000, majority: 47_500 }
  const { clock, store, gauge } = await prepare(() => ({ now: async () => ({ ...majority }) }))
  t.equal(gauge('field_data.feed.lag'), undefined)
  await store.now()
  t.equal(gauge('field_data.feed.lag'), 2.5)
  majority.majority = 60_000
  await store.now()
  t.equal(gauge('field_data.feed.lag'), 0)
  clock.time += 5 * 60_000
  t.equal(gauge('field_data.feed.lag'), undefined, 'nobody has read a feed for long')
})

t.test('waits at the same time count once, and copies of what was read are not read', async (t) => {
  let wait = (_ms: number): void => {}
  const { clock, store, recorded } = await prepare((clock) => ({
    async aggregate(query, { onBytes } = {}) {
      clock.time += 20
      const both = Promise.all([onBytes?.(100), onBytes?.(40), onBytes?.(200, true)])
      await setImmediate()
      wait(50)
      await both
      return new BsonList(query.collection, [])
    },
  }))
  const waits: (() => void)[] = []
  wait = (ms) => {
    clock.time += ms
    for (const end of waits) end()
  }
  await store.aggregate(list, { onBytes: () => new Promise((resolve) => waits.push(resolve)) })
  t.match(recorded, [
    ['db.client.operation.duration', 0.02],
    ['field_data.read', 140],
  ])
})

t.test('connections are used or idle, and a store without any has no metrics of them', async (t) => {
  const connections = Object.assign(new Connections(5), { open: 4, used: 3, pending: 2 })
  const pooled = await prepare(() => ({ watchConnections: () => connections }))
  t.same(pooled.gauge('db.client.connection.count'), [
    [3, { 'db.client.connection.state': 'used' }],
    [1, { 'db.client.connection.state': 'idle' }],
  ])
  t.equal(pooled.gauge('db.client.connection.max'), 5)
  t.equal(pooled.gauge('db.client.connection.pending_requests'), 2)
  t.equal((await prepare(() => ({}))).gauge('db.client.connection.count'), undefined)
})

t.test('each operation has its name', async (t) => {
  const { store, recorded } = await prepare(() => ({}))
  await store.count(list)
  await store.dangerouslyFind('users', 'x')
  await store.update('users', 'x', {})
  t.same(
    (recorded as [string, number, Record<string, string>][]).map(([, , labels]) => labels['db.operation.name']),
    ['count', 'find', 'update'],
  )
})
