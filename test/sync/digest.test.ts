// Digests against the same computed from the records: any ranges, any dates, sums of any size.
import { Double } from 'mongodb'
import t from 'tap'
import { BsonList } from '../../src/core/bson/reader.js'
import { fieldOf, stringOf } from '../../src/core/bson/values.js'
import type { Documents } from '../../src/core/documents/collections.js'
import { LARGE } from '../../src/core/limits/scheduler.js'
import { entries } from '../../src/core/pipelines/entries.js'
import { projectionOf } from '../../src/core/read/projection.js'
import { QueryTimeout, type Store } from '../../src/core/store/store.js'
import { Feeds } from '../../src/sync/changes.js'
import type { Cursor } from '../../src/sync/cursor.js'
import { type IdRange, rangesOf, readDigests } from '../../src/sync/digest.js'
import type { Feed } from '../../src/sync/queries.js'
import { testStore } from '../support/store.js'
import { documentOf, plain } from '../support/stored.js'
import { A, a, b } from '../support/tenants.js'
import { oneAtATime, testTicket } from '../support/tickets.js'

const scope = { organisation: A }
const scheduler = oneAtATime()

const listOf = (documents: readonly object[]): BsonList =>
  new BsonList(
    'entries',
    documents.map((fields) => documentOf(plain(fields)).bytes),
  )

const entry = (_id: string, updatedAt: unknown): Documents['entries'] => ({
  ...a.entry(1),
  _id,
  updatedAt: updatedAt as Date,
})

const digests = async (store: Pick<Store, 'aggregate'>, query: Parameters<typeof rangesOf>[0], limitMs = 60_000) => {
  const ticket = await testTicket(scheduler)
  return readDigests({ store, scope, ticket }, 'entries', rangesOf(query), limitMs).finally(() => ticket.stop())
}

t.test('bounds make consecutive ranges, which are open where no end is given', async (t) => {
  t.same(rangesOf({}), [{}])
  t.same(rangesOf({ from: 'b', to: 'd' }), [{ from: 'b', to: 'd' }])
  t.same(rangesOf({ bounds: 'b,d' }), [{ to: 'b' }, { from: 'b', to: 'd' }, { from: 'd' }])
  t.same(rangesOf({ from: 'a', bounds: 'b' }), [{ from: 'a', to: 'b' }, { from: 'b' }])
  // UTF-16 would put the globe first.
  t.same(rangesOf({ bounds: 'z,é,\uffee,\u{1f30d}' }).length, 5)
  const many = Array.from({ length: 100 }, (_, n) => String(n + 100))
  t.equal(rangesOf({ bounds: many.join() }).length, 101)
})

t.test('bounds that are out of order are refused by name', async (t) => {
  for (const [query, name, message] of [
    [{ from: 'b', to: 'b' }, 'to', 'must be greater than from'],
    [{ bounds: 'b,b' }, 'bounds', /ascending/],
    [{ bounds: 'b,a', from: 'A', to: 'z' }, 'bounds', /ascending/],
    [{ bounds: '\u{1f30d},\uffee' }, 'bounds', /ascending/],
    [{ bounds: 'b', from: 'b' }, 'bounds', /ascending/],
    [{ bounds: 'b', to: 'b' }, 'bounds', /ascending/],
    [{ bounds: 'b', from: 'c', to: 'a' }, 'bounds', /ascending/],
  ] as const) {
    const error = { code: 'invalid_parameter', extra: { errors: [{ in: 'query', name, message }] } }
    t.throws(() => rangesOf(query), error, JSON.stringify(query))
  }
})

t.test('each range is a task of its own, and other tasks have their turn between two of them', async (t) => {
  const order: string[] = []
  const aggregate: Store['aggregate'] = async (_, reading) => {
    t.equal(reading?.isMajority, true)
    order.push('range')
    if (order.length > 1) return listOf([])
    t.same(scheduler.all.running, { small: 0, large: 1 }, 'only its turn')
    void scheduler.start('other', LARGE, new AbortController().signal).then((ticket) => {
      order.push('other')
      ticket.stop()
    })
    return listOf([])
  }
  await digests({ aggregate }, { bounds: 'b,c' })
  t.same(order, ['range', 'other', 'range', 'range'])
})

t.test('count and sum of each range are those of its records', async (t) => {
  const store = testStore(t)
  const dates = new Map<string, number>()
  for (let n = 0; n < 300; n++) {
    // From the year 1 to 9999, so that sums are negative, and beyond 2^53 with a hundred records.
    dates.set(`id-${String(n).padStart(5, '0')}`, n % 3 === 0 ? -62_135_596_800_000 + n : 253_402_300_799_999 - n)
  }
  dates.set('zero', 0)
  dates.set('é', -1)
  dates.set('\u{1f30d}', 1_700_000_000_001)
  await store.insert(
    'entries',
    [...dates].map(([id, time]) => entry(id, new Date(time))),
  )
  await store.insert('entries', [{ ...b.entry(1), _id: 'id-00150-b' }])
  await store.remove('entries', A, ['zero'])
  dates.delete('zero')

  const isIn = ({ from, to }: IdRange, id: string) =>
    (from === undefined || Buffer.from(id).compare(Buffer.from(from)) >= 0) &&
    (to === undefined || Buffer.from(id).compare(Buffer.from(to)) < 0)
  const expected = (range: IdRange) => {
    const found = [...dates].filter(([id]) => isIn(range, id))
    const sum = found.reduce((sum, [, time]) => sum + BigInt(time), 0n)
    return { ...range, count: found.length, updatedAtSum: String(sum) }
  }
  for (const query of [
    {},
    { from: 'id-00003' },
    { to: 'id-00003' },
    { from: 'id-00001', to: 'id-00299', bounds: 'id-00002,id-00150,id-00150-,id-00250' },
    { bounds: 'A,id-00003,zero,é,\u{1f30d}' },
    { from: 'nothing', to: 'nothinh' },
  ]) {
    const ranges = rangesOf(query)
    t.same(await digests(store, query), ranges.map(expected), JSON.stringify(query))
  }
  const [all] = await digests(store, {})
  t.ok(BigInt(all?.updatedAtSum ?? 0) > 2n ** 53n, 'the sum needs more than a double')
})

t.test('a record whose updatedAt is missing or no date counts, and adds nothing to the sum', async (t) => {
  const store = testStore(t)
  const values = [new Date(5), undefined, null, 7, '2025-01-01T00:00:00Z', [new Date(11)], { $date: 13 }, Number.NaN]
  await store.insert(
    'entries',
    values.map((value, n) => entry(`e${n}`, value)),
  )
  t.same(await digests(store, {}), [{ count: values.length, updatedAtSum: '5' }])
})

t.test('records that are deleted between the two readings of a large sum do not count', async (t) => {
  const replies = [[{ count: 2, sum: new Double(1e19) }], []]
  const deleting: Pick<Store, 'aggregate'> = {
    aggregate: async () => listOf(replies.shift() ?? []),
  }
  t.same(await digests(deleting, {}), [{ count: 0, updatedAtSum: '0' }])
  t.equal(replies.length, 0)
})

t.test('a digest that takes too long says how far it came', async (t) => {
  const store = testStore(t)
  const error = (message: RegExp) => ({
    code: 'query_timeout',
    status: 503,
    message,
    extra: { headers: { 'retry-after': '2' } },
  })
  let reads = 0
  const slow: Pick<Store, 'aggregate'> = {
    async aggregate(...query) {
      if (++reads === 3) throw new QueryTimeout(undefined)
      return store.aggregate(...query)
    },
  }
  await t.rejects(digests(slow, { bounds: 'a,b,c' }), error(/read 2 of 4 ranges: ask for smaller ranges/))
  await t.rejects(digests(store, { bounds: 'a' }, -1), error(/read 0 of 2 ranges: ask for fewer ranges/))
  const broken = { aggregate: () => Promise.reject(new Error('broken')) }
  await t.rejects(digests(broken, {}), { message: 'broken' })
})

t.test('a record that left a part without a word stays in its copy, and the digest of the part tells it', async (t) => {
  const store = testStore(t)
  const only = { project: ['mine'] }
  const feed: Feed = { scope: { ...scope, only }, collection: 'entries', projection: projectionOf(entries, undefined) }
  const feeds = new Feeds(store, store.now, { settleMs: 0, stamp: 'changedAt', tombstoneDays: 90 })
  const copy = new Set<unknown>()
  let cursor: Cursor | undefined
  /** Reads on, and says whether the digest of the part counts what the copy has. */
  const isRight = async () => {
    const { items, next } = await feeds.page(feed, cursor, 100)
    cursor = next
    for (const { bytes, isDeleted } of items) {
      const id = stringOf(bytes, fieldOf(bytes, 0, '_id'))
      if (isDeleted) copy.delete(id)
      else copy.add(id)
    }
    const ticket = await testTicket(scheduler)
    const reader = { store, scope: feed.scope, ticket }
    const [digest] = await readDigests(reader, 'entries', [{}], 60_000).finally(() => ticket.stop())
    return digest?.count === copy.size
  }
  const inProject = (id: string, project: string) => ({ ...entry(id, new Date(5)), project })
  await store.insert('entries', [inProject('a', 'mine'), inProject('b', 'mine'), inProject('c', 'mine')])
  t.ok(await isRight())
  await store.upsert('entries', [inProject('a', 'other')])
  t.ok(await isRight())
  t.same([...copy], ['b', 'c'])
  // What a writer leaves that replaces the whole record.
  for await (const _ of store.dangerouslyErase('entries', { _id: 'b' }));
  await store.insert('entries', [inProject('b', 'other')])
  t.notOk(await isRight())
  t.same([...copy], ['b', 'c'])
})
