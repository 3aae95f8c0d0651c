// The change feed over a store: nothing is lost and nothing is out of order, whatever the stamps are and whoever writes
// meanwhile.
import { ObjectId } from 'mongodb'
import t, { type Test } from 'tap'
import { ResponseTooLarge } from '../../src/bson/reader.js'
import { fieldOf, stringOf } from '../../src/bson/values.js'
import type { Documents } from '../../src/documents/collections.js'
import { entries } from '../../src/pipelines/entries.js'
import type { FeedResource } from '../../src/pipelines/sync.js'
import { embeddedStore } from '../../src/store/embedded.js'
import type { Store } from '../../src/store/store.js'
import type { Cursor } from '../../src/sync/cursor.js'
import { type FeedPage, type FeedSettings, Feeds } from '../../src/sync/feed.js'
import { testStore } from '../support/store.js'
import { A, a, B, b } from '../support/tenants.js'

const scope = { organisation: A }
const feed = { scope, resource: entries }
const DAY = 86_400_000
const LATER = Date.UTC(2030, 0, 1)

/** An entry of A with this id and an `updatedAt` that the tests use as its stamp. */
const entry = (_id: string, updatedAt?: Date | null) =>
  ({ ...a.entry(1), _id, ...(updatedAt !== undefined && { updatedAt }) }) as Documents['entries']

/** The feed of A's entries in the order of `updatedAt`, which tests can choose, at a time of theirs. */
const prepare = (t: Test, settings: Partial<FeedSettings> = {}, store: Store = testStore(t)) => {
  const clock = { now: LATER }
  const feeds = new Feeds(store, async () => clock.now, {
    settleMs: 0,
    stamp: 'updatedAt',
    tombstoneDays: 90,
    ...settings,
  })
  return { store, feeds, clock }
}

/** The ids of a page; those of deletions begin with a minus. */
const shown = ({ items }: FeedPage): string[] =>
  items.map(
    ({ document: { bytes }, isDeleted }) => `${isDeleted ? '-' : ''}${stringOf(bytes, fieldOf(bytes, 0, '_id'))}`,
  )

/** All that follows a cursor, page by page. */
const walk = async (feeds: Feeds, perPage: number, from?: Cursor): Promise<{ ids: string[]; next: Cursor }> => {
  const ids: string[] = []
  let cursor = from
  for (;;) {
    const page = await feeds.page(feed, cursor, perPage)
    ids.push(...shown(page))
    cursor = page.next
    if (!page.hasMore) return { ids, next: cursor }
    t.equal(shown(page).length, perPage, 'a page before the last is full')
  }
}

t.test('records come in the order of stamp and id, those without a stamp first, at every page size', async (t) => {
  const { store, feeds } = prepare(t)
  const at = (n: number) => new Date(Date.UTC(2025, 0, 1, 0, 0, 0, n))
  await store.insert('entries', [
    entry('e', at(2)),
    entry('b', at(3)),
    entry('d', at(2)),
    entry('a', at(4)),
    entry('c', new Date(-5)),
    entry('z', null),
    { ...entry('y'), updatedAt: undefined } as never,
    entry('é', at(2)),
    entry('list', [at(1), at(2)] as never),
    { ...b.entry(1), _id: 'foreign', updatedAt: at(2) },
  ])
  for (let perPage = 1; perPage <= 9; perPage++) {
    const { ids, next } = await walk(feeds, perPage)
    t.same(ids, ['y', 'z', 'c', 'd', 'e', 'é', 'b', 'a'], `${perPage} a page`)
    t.same((await walk(feeds, perPage, next)).ids, [], 'nothing comes again')
  }
})

t.test(
  'deletions are merged with the changes by time, and a record that is stored again replaces its own',
  async (t) => {
    const { store, feeds, clock } = prepare(t, { stamp: 'changedAt' })
    await store.insert(
      'entries',
      ['a', 'b', 'c', 'd'].map((id) => entry(id)),
    )
    await store.insert('entries', [{ ...b.entry(1), _id: 'foreign' }])
    clock.now = (await store.now()).getTime() + 1
    const first = await walk(feeds, 3)
    t.same(first.ids, ['a', 'b', 'c', 'd'])
    await new Promise((resolve) => setTimeout(resolve, 5))
    await store.remove('entries', A, ['b', 'c'])
    await store.remove('entries', B, ['foreign'])
    await new Promise((resolve) => setTimeout(resolve, 5))
    await store.upsert('entries', [entry('a')])
    await new Promise((resolve) => setTimeout(resolve, 5))
    await store.insert('entries', [entry('c')])
    clock.now = (await store.now()).getTime() + 1
    for (let perPage = 1; perPage <= 4; perPage++) {
      t.same((await walk(feeds, perPage, first.next)).ids, ['-b', 'a', 'c'], `${perPage} a page`)
      t.same((await walk(feeds, perPage)).ids, ['d', '-b', 'a', 'c'], 'from the start')
    }
  },
)

t.test('rows of one stamp are ordered by the bytes of their ids, records and tombstones alike', async (t) => {
  const ids = ['a', 'b', '\u{1f30d}', '\uffee', 'c']
  // The clock of the store stands still, so that all have one stamp.
  const store = embeddedStore({ now: () => new Date(1000) })
  const { feeds } = prepare(t, { stamp: 'changedAt' }, store)
  await store.insert(
    'entries',
    ids.map((id) => entry(id)),
  )
  await store.remove('entries', A, ['b', '\uffee'])
  for (let perPage = 1; perPage <= 6; perPage++) {
    t.same((await walk(feeds, perPage)).ids, ['a', '-b', 'c', '-\uffee', '\u{1f30d}'])
  }
})

t.test('what is younger than the settle window is held back, and comes when it has settled', async (t) => {
  const { store, feeds, clock } = prepare(t, { settleMs: 1000 })
  await store.insert('entries', [entry('old', new Date(5000)), entry('young', new Date(5001))])
  clock.now = 6001
  const first = await feeds.page(feed, undefined, 10)
  t.same(shown(first), ['old'], 'the horizon itself is not shown')
  clock.now = 6002
  t.same(shown(await feeds.page(feed, first.next, 10)), ['young'])
})

t.test('a write that commits late is not lost, as long as the window is longer than the delay', async (t) => {
  const { store, feeds, clock } = prepare(t, { settleMs: 1000 })
  await store.insert('entries', [entry('a', new Date(5000))])
  clock.now = 6500
  const { next } = await feeds.page(feed, undefined, 10)
  // Stamped before the page was read, and stored after it.
  await store.insert('entries', [entry('late', new Date(5600))])
  clock.now = 7000
  t.same(shown(await feeds.page(feed, next, 10)), ['late'])
})

t.test('the clock is read before the rows, so a row that is stored meanwhile is not passed', async (t) => {
  const { store, clock } = prepare(t)
  clock.now = 5000
  const feeds = new Feeds(
    {
      aggregate: async (...query) => {
        const rows = await store.aggregate(...query)
        // A write that is stamped and stored while the rows are read.
        clock.now += 10
        await store.insert('entries', [entry(`at ${clock.now}`, new Date(clock.now))])
        return rows
      },
    },
    async () => clock.now,
    { settleMs: 0, stamp: 'updatedAt', tombstoneDays: 90 },
  )
  const seen: string[] = []
  let cursor: Cursor | undefined
  for (let i = 0; i < 5; i++) {
    const page = await feeds.page(feed, cursor, 100)
    seen.push(...shown(page))
    cursor = page.next
  }
  const { ids } = await walk(prepare(t, {}, store).feeds, 100)
  t.same(seen, ids.slice(0, seen.length))
  t.equal(seen.length, 4, 'all that had settled before the last page')
})

t.test('a clock that is behind delays a feed, and takes nothing back', async (t) => {
  const { store, feeds, clock } = prepare(t)
  await store.insert('entries', [entry('a', new Date(5000)), entry('b', new Date(6000))])
  clock.now = 5500
  const first = await feeds.page(feed, undefined, 10)
  clock.now = 5200
  const behind = await feeds.page(feed, first.next, 10)
  t.same([shown(behind), behind.hasMore, behind.next], [[], false, first.next])
  clock.now = 7000
  t.same(shown(await feeds.page(feed, behind.next, 10)), ['b'])
  const second = await feeds.page(feed, undefined, 1)
  clock.now = 4000
  const place = await feeds.page(feed, second.next, 1)
  t.same(place.next, second.next, 'a place within the rows stays as well')
})

t.test('a cursor expires with the deletions that its copy may need', async (t) => {
  const { store, feeds, clock } = prepare(t, { tombstoneDays: 2 })
  await store.insert('entries', [entry('a', new Date(5000)), entry('b', new Date(6000))])
  const first = await feeds.page(feed, undefined, 1)
  t.same(first.next.position, { stamp: 5001, id: null }, 'a place of long ago, but the copy has just begun')
  clock.now += 2 * DAY
  const second = await feeds.page(feed, first.next, 1)
  t.same(shown(second), ['b'])
  t.same(shown(await feeds.page(feed, second.next, 1)), [])
  clock.now += 1
  const expired = { code: 'cursor_expired', status: 410, message: /2 days/ }
  await t.rejects(feeds.page(feed, first.next, 1), expired)
  t.same(shown(await feeds.page(feed, second.next, 1)), [], 'the newer place is as good as new')
  clock.now += 3 * DAY
  await t.rejects(feeds.page(feed, second.next, 1), expired)
})

t.test('an idle poll is one query, and none if the clock has not moved', async (t) => {
  const { store, clock } = prepare(t)
  const queries: unknown[] = []
  const feeds = new Feeds(
    {
      aggregate: (query, reading) => {
        queries.push([query.match, query.union?.match, reading?.from])
        return store.aggregate(query, reading)
      },
    },
    async () => clock.now,
    { settleMs: 0, stamp: 'updatedAt', tombstoneDays: 90 },
  )
  const { next } = await feeds.page(feed, undefined, 10)
  queries.length = 0
  clock.now += 1000
  await feeds.page(feed, next, 10)
  const range = { $gte: new Date(LATER), $lt: new Date(LATER + 1000) }
  const noArray = { $not: { $type: 'array' } }
  t.same(queries, [
    [
      { $and: [{ updatedAt: range }, { updatedAt: noArray }, { organisation: noArray }, { organisation: A }] },
      {
        $and: [
          ...[{ deletedAt: range }, { deletedAt: noArray }, { deletedFrom: noArray }],
          { deletedFrom: A, organisation: { $exists: false } },
        ],
      },
      'primary',
    ],
  ])
  queries.length = 0
  clock.now -= 1000
  await feeds.page(feed, next, 10)
  t.same(queries, [])
})

t.test('polls of an empty feed share a look-up until the clock is read again', async (t) => {
  const { store, clock } = prepare(t)
  let queries = 0
  const feeds = new Feeds(
    {
      aggregate: (...query) => {
        queries += 1
        return store.aggregate(...query)
      },
    },
    async () => clock.now,
    { settleMs: 0, stamp: 'updatedAt', tombstoneDays: 90 },
  )
  const at = (stamp: number | null, id: string | null = null) => ({ began: LATER, position: { stamp, id } })
  const cost = async (cursor: Cursor, ...of: [typeof scope, FeedResource] | []) => {
    const before = queries
    const [organisation = scope, resource = entries] = of
    const page = await feeds.page({ scope: organisation, resource }, cursor, 10)
    t.same(page.next.position, { stamp: clock.now, id: null })
    return queries - before
  }
  clock.now += 1000
  t.equal(await cost(at(LATER + 10)), 1)
  t.equal(await cost(at(LATER + 20)), 0, 'what follows is empty as well')
  t.equal(await cost(at(LATER + 20, 'a')), 0)
  t.equal(await cost(at(LATER + 5)), 1, 'what is before was not looked up')
  t.equal(await cost(at(LATER + 5)), 0)
  t.equal(await cost(at(LATER + 10)), 0)
  t.equal(await cost(at(LATER + 20), { organisation: B }, entries), 1, 'another organisation')
  t.equal(await cost(at(LATER + 20), scope, { ...entries, collection: 'forms' }), 1, 'another resource')
  t.equal(await cost(at(null)), 2, 'also records without a stamp')
  t.equal(await cost(at(LATER + 1)), 0)
  clock.now += 1
  t.equal(await cost(at(LATER + 20)), 1, 'the clock has moved')
})

t.test('a page of large records ends earlier, and loses none', async (t) => {
  const { store, feeds } = prepare(t)
  const ids = ['e1', 'e2', 'e3', 'e4', 'e5', 'e6']
  const large = { type: 'text', question: 'Why?', answer: 'x'.repeat(5_000_000) }
  for (const id of ids) await store.insert('entries', [{ ...entry(id, new Date(5)), answers: [large] }])
  const first = await feeds.page(feed, undefined, 6)
  t.same(shown(first), ids.slice(0, 3))
  t.equal(first.hasMore, true)

  // A store that reads at most two of them at once.
  const small: Pick<Store, 'aggregate'> = {
    async aggregate(...query) {
      const found = await store.aggregate(...query)
      if (found.size > 16_000_000) throw new ResponseTooLarge()
      return found
    },
  }
  const limited = new Feeds(small, async () => LATER, { settleMs: 0, stamp: 'updatedAt', tombstoneDays: 90 })
  const found: string[] = []
  let cursor: Cursor | undefined
  for (let hasMore = true; hasMore; ) {
    const page = await limited.page(feed, cursor, 6)
    found.push(...shown(page))
    cursor = page.next
    hasMore = page.hasMore
  }
  t.same(found, ids)
  const tiny = { aggregate: () => Promise.reject(new ResponseTooLarge()) }
  const stuck = new Feeds(tiny, async () => LATER, { settleMs: 0, stamp: 'updatedAt', tombstoneDays: 90 })
  await t.rejects(stuck.page(feed, undefined, 6), ResponseTooLarge, 'two records that are too large')
})

t.test('a record with the field of tombstones is no deletion', async (t) => {
  const { store, feeds } = prepare(t)
  await store.insert('entries', [{ ...entry('a', new Date(5000)), deletedFrom: A } as Documents['entries']])
  t.same((await walk(feeds, 1)).ids, ['a'])
})

t.test('an id that makes a cursor too long for a URL stops a feed only where a cursor would need it', async (t) => {
  const { store, feeds } = prepare(t)
  const ids = ['a', '🌍'.repeat(500), 'z'.repeat(2001), 'zz']
  await store.insert(
    'entries',
    ids.map((id) => entry(id, new Date(5000))),
  )
  const reason = '_id is not a string of at most 2000 bytes, so no cursor can go on after it'
  await t.rejects(walk(feeds, 1), { message: `entries ${'z'.repeat(100)}: ${reason}` })
  t.same((await walk(feeds, 4)).ids.sort(), [...ids].sort())
})

t.test('ids that are not strings stop a feed only where no cursor can go on after them', async (t) => {
  const { store, feeds } = prepare(t)
  const [first, last] = [new ObjectId('0'.repeat(24)), new ObjectId('1'.repeat(24))]
  await store.insert(
    'entries',
    ['a', 'b', first, last].map((id) => entry(id as string, new Date(5000))),
  )
  await store.insert('entries', [entry('c', new Date(6000))])
  const all = ['a', 'b', 'undefined', 'undefined', 'c']
  for (const perPage of [1, 3]) {
    const message = `entries ${first}: _id is not a string of at most 2000 bytes, so no cursor can go on after it`
    await t.rejects(walk(feeds, perPage), { message }, `${perPage} a page`)
  }
  for (const perPage of [2, 4, 5]) t.same((await walk(feeds, perPage)).ids, all, `${perPage} a page`)
})

t.test('records without a stamp come in the order of their ids, whether it is missing or null', async (t) => {
  const { store, feeds } = prepare(t)
  const ids = Array.from({ length: 40 }, (_, n) => `${'cab'[n % 3]}${10 + n}`)
  const stamps = [undefined, null]
  await store.insert(
    'entries',
    ids.map((id, n) => ({ ...entry(id), updatedAt: stamps[Number(n % 5 < 2)] }) as never),
  )
  for (const perPage of [1, 2, 7, 40]) t.same((await walk(feeds, perPage)).ids, [...ids].sort(), `${perPage} a page`)
})

t.test('the newest stamp is that of a change or a deletion below the horizon', async (t) => {
  const { store, feeds, clock } = prepare(t, { settleMs: 1000 })
  await store.insert('entries', [entry('a', new Date(5000)), entry('b', new Date(6000)), entry('c', new Date(7000))])
  clock.now = 7500
  t.equal(await feeds.newest(feed, 0), 6000)
  t.equal(await feeds.newest(feed, 6001), undefined)
  t.equal(await feeds.newest(feed, 6500), undefined, 'nothing can be there before the horizon moves')
  t.equal(await feeds.newest({ ...feed, scope: { organisation: B } }, 0), undefined)
  await store.remove('entries', A, ['a'])
  const deleted = (await store.now()).getTime()
  clock.now = deleted + 2000
  const newest = await feeds.newest(feed, 0)
  t.ok(newest !== undefined && newest > 7000 && newest <= deleted)
  await store.insert('entries', [entry('d', new Date(deleted + 900))])
  t.equal(await feeds.newest(feed, 0), deleted + 900)
})
