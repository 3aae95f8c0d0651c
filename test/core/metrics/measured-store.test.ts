// The measured store: what counts as the time of the database, and what was read.
import t from 'tap'
import { BsonList } from '../../../src/core/bson/reader.js'
import { Overloaded } from '../../../src/core/limits/scheduler.js'
import type { Metrics } from '../../../src/core/metrics/catalogue.js'
import { measuredStore } from '../../../src/core/metrics/measured-store.js'
import { Query } from '../../../src/core/pipelines/stages.js'
import { embeddedStore } from '../../../src/core/store/embedded.js'
import { Connections } from '../../../src/core/store/mongo-connection.js'
import { type Store, StoreUnavailable } from '../../../src/core/store/store.js'

/** A measured store with a clock that its operations and the readers of its bytes move, and everything recorded. */
const prepare = (changes: (clock: { time: number }) => Partial<Store> = () => ({})) => {
  const clock = { time: 0 }
  const recorded: Parameters<Metrics['record']>[] = []
  const gauges = new Map<string, () => unknown>()
  const metrics: Metrics = {
    record: (...values) => recorded.push(values),
    observe: (name, read) => gauges.set(name, read),
    text: async () => '',
  }
  const store = measuredStore({ ...embeddedStore(), ...changes(clock) }, metrics, () => clock.time)
  return { clock, store, recorded, gauge: (name: string) => gauges.get(name)?.() }
}

const query = Query.in({ organisation: 'org' }, 'entries', [], [])
const labels = { 'db.collection.name': 'entries' }

t.test('what a read waits for besides the database is not part of its time', async (t) => {
  const { clock, store, recorded } = prepare((clock) => ({
    async aggregate({ collection }, reading) {
      clock.time += 20
      await reading?.charge?.(100)
      await reading?.charge?.(40)
      return new BsonList(collection, [Buffer.alloc(5)])
    },
  }))
  const charge = async () => {
    clock.time += 5000
  }
  const expected = [
    ['db.client.operation.duration', 0.02, { 'db.operation.name': 'aggregate', ...labels }],
    ['field_data.read', 140, labels],
    ['field_data.read.rows', 1, labels],
  ]
  await store.aggregate(query, { charge })
  await store.aggregate(query)
  t.same(recorded, [...expected, ...expected], 'also without somebody who is told the bytes')
})

t.test('an operation that fails has the name of its error, but what the service itself ends has none', async (t) => {
  for (const [error, name] of [
    [new StoreUnavailable('gone'), 'StoreUnavailable'],
    [new Overloaded('too much'), undefined],
    [new DOMException('gone', 'AbortError'), undefined],
  ] as const) {
    const { store, recorded } = prepare(() => ({
      aggregate: () => Promise.reject(error),
      ping: () => Promise.reject(error),
    }))
    await t.rejects(store.aggregate(query), error)
    await t.rejects(store.ping(), error)
    const failed = name && { 'error.type': name }
    t.strictSame(recorded, [
      ['db.client.operation.duration', 0, { 'db.operation.name': 'aggregate', ...labels, ...failed }],
      ['field_data.read', 0, labels],
      ['db.client.operation.duration', 0, { 'db.operation.name': 'ping', ...failed }],
    ])
  }
})

t.test('the lag of the feeds is that of the majority, for as long as they are read', async (t) => {
  const majority = { now: 50_000, majority: 47_500 }
  const { clock, store, gauge } = prepare(() => ({ now: async () => ({ ...majority }) }))
  t.equal(gauge('field_data.feed.lag'), undefined)
  await store.now()
  t.equal(gauge('field_data.feed.lag'), 2.5)
  majority.majority = 60_000
  await store.now()
  t.equal(gauge('field_data.feed.lag'), 0)
  clock.time += 5 * 60_000
  t.equal(gauge('field_data.feed.lag'), undefined, 'nobody has read a feed for long')
})

t.test('connections are used or idle, and a store without any has no metrics of them', async (t) => {
  const connections = Object.assign(new Connections(), { open: 4, used: 3, pending: 2 })
  const { gauge } = prepare(() => ({ connections }))
  t.same(gauge('db.client.connection.count'), [
    [3, { 'db.client.connection.state': 'used' }],
    [1, { 'db.client.connection.state': 'idle' }],
  ])
  t.equal(gauge('db.client.connection.pending_requests'), 2)
  t.equal(prepare().gauge('db.client.connection.count'), undefined)
})

t.test('each operation has its name', async (t) => {
  const { store, recorded } = prepare()
  await store.count(query)
  await store.dangerouslyFind('users', 'x')
  await store.update('users', 'x', {})
  const names = ['count', 'find', 'update'].map((name) => ({ 'db.operation.name': name }))
  t.match(
    recorded.map(([, , labels]) => labels),
    names,
  )
})
