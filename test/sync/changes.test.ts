// The change feed over a store: nothing is lost and nothing is out of order, whatever the stamps are and whoever writes
// meanwhile.
import { ObjectId } from 'mongodb'
import t, { type Test } from 'tap'
import { fieldOf, stringOf } from '../../src/core/bson/values.js'
import type { Documents } from '../../src/core/documents/collections.js'
import { entries } from '../../src/core/pipelines/entries.js'
import { projectionOf } from '../../src/core/read/projection.js'
import { embeddedStore } from '../../src/core/store/embedded.js'
import type { Store } from '../../src/core/store/store.js'
import { type FeedPage, type FeedSettings, Feeds } from '../../src/sync/changes.js'
import type { Cursor } from '../../src/sync/cursor.js'
import type { Feed } from '../../src/sync/queries.js'
import { testStore } from '../support/store.js'
import { A, a, B, b } from '../support/tenants.js'

const projection = projectionOf(entries, undefined, { embed: 'false' })
const feed: Feed = { scope: { organisation: A }, collection: 'entries', projection }
const DAY = 86_400_000
const LATER = Date.UTC(2030, 0, 1)

/** An entry of A with this id and an `updatedAt` that the tests use as its stamp. */
const entry = (_id: string, updatedAt?: Date | null) =>
  ({ ...a.entry(1), _id, ...(updatedAt !== undefined && { updatedAt }) }) as Documents['entries']

/** A clock of the database that the test sets. */
const clockAt = (now: number) => {
  const clock = { now, read: async () => ({ now: clock.now, majority: clock.now }) }
  return clock
}

/** The feed of A's entries in the order of `updatedAt`, which tests can choose, at a time of theirs. */
const prepare = (t: Test, settings: Partial<FeedSettings> = {}, store: Store = testStore(t)) => {
  const clock = clockAt(LATER)
  return { store, clock, feeds: feedsOf(store.aggregate, clock.read, settings) }
}

const feedsOf = (aggregate: Store['aggregate'], clock: Feeds['clock'], settings: Partial<FeedSettings> = {}) =>
  new Feeds({ aggregate }, clock, { settleMs: 0, stamp: 'updatedAt', tombstoneDays: 90, ...settings })

/** The ids of a page; those of deletions begin with a minus. */
const shown = ({ items }: FeedPage): string[] =>
  items.map(({ bytes, isDeleted }) => `${isDeleted ? '-' : ''}${stringOf(bytes, fieldOf(bytes, 0, '_id'))}`)

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
    clock.now = (await store.now()).now + 1
    const first = await walk(feeds, 3)
    t.same(first.ids, ['a', 'b', 'c', 'd'])
    await new Promise((resolve) => setTimeout(resolve, 5))
    await store.remove('entries', A, ['b', 'c'])
    await store.remove('entries', B, ['foreign'])
    await new Promise((resolve) => setTimeout(resolve, 5))
    await store.upsert('entries', [entry('a')])
    await new Promise((resolve) => setTimeout(resolve, 5))
    await store.insert('entries', [entry('c')])
    clock.now = (await store.now()).now + 1
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

t.test('what is younger than the settle window comes at once, and once more when it has settled', async (t) => {
  const { store, feeds, clock } = prepare(t, { settleMs: 1000 })
  await store.insert('entries', [entry('old', new Date(5000)), entry('young', new Date(5001))])
  clock.now = 6001
  const first = await walk(feeds, 10)
  t.same(first.ids, ['old', 'young'])
  t.same(first.next.settled, { stamp: 5001, id: null })
  t.same(first.next.fresh, { stamp: 5001, id: 'young' }, 'at the horizon itself a row has not settled')
  const again = await walk(feeds, 10, first.next)
  t.same(again.ids, [], 'not before it has settled')
  clock.now = 6002
  const settled = await walk(feeds, 10, again.next)
  t.same(settled.ids, ['young'])
  t.same((await walk(feeds, 10, settled.next)).ids, [], 'not a third time')
})

t.test('a page goes on from settled rows to fresh ones, at every page size', async (t) => {
  const { store, feeds, clock } = prepare(t, { settleMs: 1000 })
  clock.now = 10_000
  const stamps = { a: 5000, b: 8999, c: 9000, d: 9500, e: 9500, f: 10_000, ahead: 10_001 }
  await store.insert(
    'entries',
    Object.entries(stamps).map(([id, stamp]) => entry(id, new Date(stamp))),
  )
  const all = ['a', 'b', 'c', 'd', 'e', 'f']
  for (let perPage = 1; perPage <= 7; perPage++) {
    const { ids, next } = await walk(feeds, perPage)
    t.same(ids, all, `${perPage} a page`)
    t.same((await walk(feeds, perPage, next)).ids, [])
  }
  const { next } = await walk(feeds, 10)
  await store.upsert('entries', [entry('g', new Date(9600)), entry('h', new Date(10_002))])
  clock.now = 10_002
  const later = await walk(feeds, 1, next)
  t.same(later.ids, ['c', 'ahead', 'h'], 'what was committed out of order waits until it has settled')
  clock.now = 10_601
  t.same((await walk(feeds, 1, later.next)).ids, ['d', 'e', 'g'])
})

t.test('a position is a row: a clock that was ahead once, or goes back, loses no write', async (t) => {
  const { store, feeds, clock } = prepare(t, { settleMs: 1000 })
  await store.insert('entries', [entry('a', new Date(5000))])
  clock.now = 20_000
  const ahead = await walk(feeds, 10)
  t.same(ahead.ids, ['a'])
  clock.now = 6000
  await store.insert('entries', [entry('b', new Date(5900))])
  const back = await walk(feeds, 10, ahead.next)
  t.same(back.ids, ['b'])
  // A settled row of a clock that was an hour ahead is beyond the clock now, and what comes now is fresh.
  await store.insert('entries', [entry('hour', new Date(3_600_000))])
  clock.now = 3_700_000
  const { next } = await walk(feeds, 10, back.next)
  clock.now = 10_000
  await store.insert('entries', [entry('c', new Date(9900))])
  const fresh = await walk(feeds, 10, next)
  t.same(fresh.ids, ['c'])
  t.same((await walk(feeds, 10, fresh.next)).ids, [])
})

t.test('when the clock goes back behind settled rows, they come again when they have settled again', async (t) => {
  const { store, feeds, clock } = prepare(t, { settleMs: 1000 })
  await store.insert('entries', [entry('a', new Date(5000)), entry('b', new Date(5000))])
  const { next } = await feeds.page(feed, undefined, 1)
  t.same(next.settled, { stamp: 5000, id: 'a' })
  clock.now = 4000
  const back = await walk(feeds, 1, next)
  t.same([back.ids, back.next.settled], [[], { stamp: 3000, id: null }])
  clock.now = LATER
  t.same((await walk(feeds, 1, back.next)).ids, ['a', 'b'])
})

t.test('a cursor beyond the horizon goes on at it, with fresh rows only where the walk has some', async (t) => {
  const { feeds, clock } = prepare(t, { settleMs: 1000 })
  clock.now = 5000
  const settled = { stamp: 4500, id: 'x' }
  const [at, fresh] = [(stamp: number) => ({ stamp, id: null }), { stamp: 4800, id: 'y' }]
  for (const [isSettledOnly, before, after] of [
    [true, null, null],
    [false, null, settled],
    [false, fresh, fresh],
  ] as const) {
    const { next } = await feeds.page(feed, { since: 4000, isSettledOnly, settled, fresh: before }, 1)
    t.same([next.settled, next.fresh], [at(4000), after])
  }
})

t.test('what is stored after the clock went back ends a wait', async (t) => {
  const { store, feeds, clock } = prepare(t, { settleMs: 1000 })
  await store.insert('entries', [entry('a', new Date(LATER - 2000))])
  const { next } = await feeds.page(feed, undefined, 1)
  clock.now = 10_000
  const { items, newFrom } = await feeds.page(feed, next, 1)
  t.same([items.length, await feeds.newest(feed, false)], [0, undefined])
  await store.insert('entries', [entry('b', new Date(9900))])
  t.equal(await feeds.newest(feed, false), 9900)
  t.ok(newFrom <= 9900)
})

t.test('rows settle by what a majority has, and are read from there', async (t) => {
  const { store } = prepare(t)
  const time = { now: 9000, majority: 6000 }
  const readings: unknown[] = []
  const aggregate: Store['aggregate'] = (query, reading) => {
    readings.push(reading?.isMajority)
    return store.aggregate(query, reading)
  }
  const feeds = feedsOf(aggregate, async () => time, { settleMs: 1000 })
  await store.insert('entries', [entry('a', new Date(4999)), entry('b', new Date(5000))])
  const { next } = await feeds.page(feed, undefined, 10)
  t.same(
    [next.settled, next.fresh],
    [
      { stamp: 5000, id: null },
      { stamp: 5000, id: 'b' },
    ],
  )
  t.same([...new Set(readings)], [true])
})

t.test('a record that changes again while it is read is in the page, and one of the future is not', async (t) => {
  const { store, clock } = prepare(t)
  const change = async () => {
    clock.now += 10
    await store.upsert('entries', [entry('hot', new Date(clock.now))])
  }
  const aggregate: Store['aggregate'] = async (...query) => {
    await change()
    return store.aggregate(...query)
  }
  clock.now = 5000
  await store.insert('entries', [entry('ahead', new Date(6000))])
  const feeds = feedsOf(aggregate, clock.read, { settleMs: 1000 })
  let cursor: Cursor | undefined
  for (let i = 0; i < 5; i++) {
    const page = await feeds.page(feed, cursor, 1)
    t.same([shown(page), page.hasMore], [['hot'], false])
    cursor = page.next
  }
})

t.test('the clock is read before the rows, so a row that is stored meanwhile is not passed', async (t) => {
  const { store, clock } = prepare(t)
  clock.now = 5000
  const aggregate: Store['aggregate'] = async (...query) => {
    const rows = await store.aggregate(...query)
    // A write that is stamped and stored while the rows are read.
    clock.now += 10
    await store.insert('entries', [entry(`at ${clock.now}`, new Date(clock.now))])
    return rows
  }
  const feeds = feedsOf(aggregate, clock.read)
  const seen: string[] = []
  let cursor: Cursor | undefined
  for (let i = 0; i < 5; i++) {
    const page = await feeds.page(feed, cursor, 100)
    seen.push(...shown(page))
    cursor = page.next
  }
  const { ids } = await walk(prepare(t, {}, store).feeds, 100)
  const different = [...new Set(seen)]
  t.same(different, ids.slice(0, -1), 'all that was there when the last page began')
})

t.test('a cursor expires with the deletions that its copy may need', async (t) => {
  const { store, feeds, clock } = prepare(t, { tombstoneDays: 2 })
  await store.insert('entries', [entry('a', new Date(5000)), entry('b', new Date(6000))])
  const first = await feeds.page(feed, undefined, 1)
  t.same(first.next.settled, { stamp: 5001, id: null }, 'a place of long ago, but the copy has just begun')
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

t.test('an idle poll is one query, which reads what a majority has', async (t) => {
  const { store, clock } = prepare(t)
  await store.insert('entries', [entry('a', new Date(5000))])
  const reads: unknown[] = []
  const aggregate: Store['aggregate'] = (query, reading) => {
    const [stamps, deletions] = [query, query.union].map((each) => (each?.match.$and as object[] | undefined)?.[0])
    reads.push({ stamps, deletions, ...reading })
    return store.aggregate(query, reading)
  }
  const feeds = feedsOf(aggregate, clock.read, { settleMs: 1000 })
  const { next } = await feeds.page(feed, undefined, 10)
  reads.length = 0
  clock.now += 1000
  t.same((await feeds.page(feed, next, 10)).items, [])
  const range = { $gte: new Date(5001), $lte: new Date(LATER + 61_000) }
  t.same(reads, [{ stamps: { updatedAt: range }, deletions: { deletedAt: range }, isMajority: true }])
})

t.test('a walk by changedSince begins at a time, and shows settled rows alone', async (t) => {
  const { store, feeds, clock } = prepare(t, { settleMs: 1000, tombstoneDays: 2 })
  await store.insert(
    'entries',
    [4999, 5000, 6000, 8000].map((stamp) => entry(`at ${stamp}`, new Date(stamp))),
  )
  clock.now = 8500
  const since = async (time: number) => walk(feeds, 1, await feeds.beginAt(feed, new Date(time)))
  t.same((await since(5000)).ids, ['at 5000', 'at 6000'])
  t.same((await since(0)).ids, ['at 4999', 'at 5000', 'at 6000'])
  const { ids, next } = await since(9_000_000)
  const atHorizon = [[], { stamp: 7500, id: null }, 7500]
  t.same([ids, next.settled, next.since], atHorizon, 'a time to come is as good as now, and expires as one')
  clock.now = 9001
  t.same((await walk(feeds, 1, next)).ids, ['at 8000'])
  t.equal(await feeds.newest(feed, true), 8000)
  clock.now = 9000
  t.equal(await feeds.newest(feed, true), 6000)

  await store.insert('entries', [entry('unstamped', null)])
  await t.rejects(since(0), { code: 'records_without_stamp', status: 409 })
  t.same((await since(5000)).ids, ['at 5000', 'at 6000'])
  clock.now = 2 * DAY + 5001
  for (const time of [5000, -1]) {
    await t.rejects(since(time), { code: 'cursor_expired', message: /^changedSince is older than 2 days/ })
  }
})

t.test('a walk by changedSince that has rested for a day ends with a checkpoint', async (t) => {
  const { store, feeds, clock } = prepare(t, { settleMs: 1000 })
  await store.insert('entries', [entry('a', new Date(5000)), entry('b', new Date(6000))])
  const now = DAY + 6001
  for (const [perPage, pages] of [
    [1, [['a'], ['b'], ['-checkpoint']]],
    [2, [['a', 'b'], ['-checkpoint']]],
    [3, [['a', 'b', '-checkpoint']]],
  ] as const) {
    clock.now = now
    let cursor = await feeds.beginAt(feed, new Date(5000))
    for (const [i, ids] of pages.entries()) {
      const page = await feeds.page(feed, cursor, perPage)
      t.same(shown(page), ids)
      t.equal(page.hasMore, i < pages.length - 1)
      if (!page.hasMore) t.equal(page.items.at(-1)?.stamp, now - 1000)
      cursor = page.next
    }
    t.same(shown(await feeds.page(feed, cursor, perPage)), [], 'it comes once')
  }
  clock.now = now - 1
  t.same((await walk(feeds, 10, await feeds.beginAt(feed, new Date(5000)))).ids, ['a', 'b'])
  const forgetful = prepare(t, { settleMs: 1000, tombstoneDays: 1 }, store)
  forgetful.clock.now = DAY / 2 + 6001
  const early = await walk(forgetful.feeds, 10, await forgetful.feeds.beginAt(feed, new Date(5000)))
  t.same(early.ids, ['a', 'b', '-checkpoint'], 'before the time of the newest record is too old')
  const empty = { ...feed, scope: { organisation: B } }
  t.same(shown(await feeds.page(empty, await feeds.beginAt(empty, new Date(0)), 10)), ['-checkpoint'])
})

t.test('a record with the field of tombstones is no deletion', async (t) => {
  const { store, feeds } = prepare(t)
  await store.insert('entries', [{ ...entry('a', new Date(5000)), deletedFrom: A } as Documents['entries']])
  t.same((await walk(feeds, 1)).ids, ['a'])
})

t.test('an id that makes a cursor too long for a URL stops a feed only where a cursor would need it', async (t) => {
  const { store, feeds } = prepare(t)
  const ids = ['a', '🌍'.repeat(500), 'z'.repeat(2001), 'z'.repeat(2002), 'zz']
  await store.insert(
    'entries',
    ids.map((id) => entry(id, new Date(5000))),
  )
  await t.rejects(walk(feeds, 1), { name: 'UnreadableDocument', id: 'z'.repeat(100), field: '_id' })
  for (const perPage of [2, 5]) t.same((await walk(feeds, perPage)).ids.sort(), [...ids].sort())
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
  await t.rejects(walk(feeds, 1), { name: 'UnreadableDocument', id: String(first), field: '_id' })
  for (const perPage of [2, 4, 5]) t.same((await walk(feeds, perPage)).ids, all, `${perPage} a page`)
  const pages = [await feeds.page(feed, undefined, 3)]
  while (pages.at(-1)?.hasMore) pages.push(await feeds.page(feed, pages.at(-1)?.next, 3))
  t.same(
    pages.map(shown),
    [
      ['a', 'b'],
      ['undefined', 'undefined', 'c'],
    ],
    'a page ends before them',
  )
})

t.test('a fresh page may end with an id that no cursor can hold', async (t) => {
  const { store, feeds, clock } = prepare(t, { settleMs: 1000 })
  const ids = [new ObjectId('0'.repeat(24)), new ObjectId('1'.repeat(24))]
  const stamp = new Date(5000)
  await store.insert(
    'entries',
    ids.map((id) => entry(id as never, stamp)),
  )
  await store.insert('entries', [entry('z', new Date(5001))])
  clock.now = 5500
  const first = await walk(feeds, 1)
  t.same(first.ids, ['undefined', 'z'], 'the other one of its stamp comes when it has settled')
  clock.now = 7000
  t.same((await walk(feeds, 3, first.next)).ids, ['undefined', 'undefined', 'z'])
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

t.test('the newest stamp is that of a change or a deletion, up to now', async (t) => {
  const { store, feeds, clock } = prepare(t, { settleMs: 1000 })
  await store.insert('entries', [entry('a', new Date(5000)), entry('b', new Date(6000)), entry('c', new Date(7000))])
  clock.now = 6999
  t.equal(await feeds.newest(feed, false), 6000)
  t.equal(await feeds.newest({ ...feed, scope: { organisation: B } }, false), undefined)
  clock.now = 6000
  t.equal(await feeds.newest(feed, true), undefined, 'nothing has settled')
  await store.remove('entries', A, ['a'])
  const deleted = (await store.now()).now
  clock.now = deleted + 2000
  const newest = await feeds.newest(feed, true)
  t.ok(newest !== undefined && newest > 7000 && newest <= deleted)
  await store.insert('entries', [entry('d', new Date(deleted + 900))])
  t.equal(await feeds.newest(feed, true), deleted + 900)
})

/** The feed of a project, in which a page looks at as many rows as it may have, so that most pages end at an edge. */
const part: Feed = { ...feed, scope: { organisation: A, only: { project: ['mine'] } } }
const ofPart = { lookedAt: 1 }
const inProject = (project: string, id: string, stamp: number) =>
  ({ ...entry(id, new Date(stamp)), project }) as Documents['entries']

/** All pages of the part that follow a cursor. */
const pagesOf = async (feeds: Feeds, perPage: number, from?: Cursor): Promise<FeedPage[]> => {
  const pages = [await feeds.page(part, from, perPage)]
  while (pages.at(-1)?.hasMore && pages.length < 100) pages.push(await feeds.page(part, pages.at(-1)?.next, perPage))
  return pages
}

t.test('pages of a part may be short or empty before the last, and no cursor tells of other records', async (t) => {
  const { store, feeds } = prepare(t, ofPart)
  await store.insert(
    'entries',
    Array.from({ length: 30 }, (_, n) => inProject(n % 7 === 3 ? 'mine' : 'other', `e${10 + n}`, 5000 + n)),
  )
  for (let perPage = 1; perPage <= 9; perPage++) {
    const pages = await pagesOf(feeds, perPage)
    t.same(pages.flatMap(shown), ['e13', 'e20', 'e27', 'e34'], `${perPage} a page`)
    t.ok(pages.some(({ items, hasMore }) => hasMore && items.length === 0) || perPage > 6)
    t.notMatch(JSON.stringify(pages.map(({ next }) => next)), /"e\d/)
    const { next } = pages.at(-1) as FeedPage
    t.same((await pagesOf(feeds, perPage, next)).map(shown), [[]], 'what others have is not looked at again')
  }
})

t.test('a record that enters or leaves a part while a page of it is read comes later', async (t) => {
  const { store, clock, feeds: quiet } = prepare(t, ofPart)
  clock.now = 5000
  let moves = 0
  const aggregate: Store['aggregate'] = async (...query) => {
    const rows = await store.aggregate(...query)
    clock.now += 10
    await store.upsert('entries', [inProject(moves % 2 ? 'mine' : 'other', `e${moves % 5}`, clock.now)])
    moves += 1
    return rows
  }
  const feeds = feedsOf(aggregate, clock.read, ofPart)
  const copy = new Set<string>()
  const apply = (page: FeedPage): void => {
    for (const id of shown(page)) id.startsWith('-') ? copy.delete(id.slice(1)) : copy.add(id)
  }
  let cursor: Cursor | undefined
  for (let i = 0; i < 30; i++) {
    const page = await feeds.page(part, cursor, 3)
    apply(page)
    cursor = page.next
  }
  for (const page of await pagesOf(quiet, 3, cursor)) apply(page)
  const stored = await store.dangerouslyFindAll('entries', { project: 'mine' })
  t.ok(stored.length > 0 && stored.length < 5)
  t.same([...copy].sort(), stored.map(({ _id }) => _id).sort())
})

t.test('a part goes on among many rows of one stamp, whatever ids others have there', async (t) => {
  const { store, feeds } = prepare(t, ofPart)
  const numbers = Array.from({ length: 30 }, (_, n) => n)
  await store.insert(
    'entries',
    numbers.map((n) => inProject(n % 7 === 3 ? 'mine' : 'other', `e${10 + n}`, n < 3 ? 4000 : 5000)),
  )
  const ids = ['0', '1', '2'].map((digit) => new ObjectId(digit.repeat(24)))
  await store.insert(
    'entries',
    ids.map((id) => inProject('other', id as never, 5000)),
  )
  for (let perPage = 1; perPage <= 9; perPage++) {
    const pages = await pagesOf(feeds, perPage)
    t.same(pages.flatMap(shown), ['e13', 'e20', 'e27', 'e34'], `${perPage} a page`)
    t.notMatch(JSON.stringify(pages.map(({ next }) => next)), /"e(?!13|20|27|34)/)
  }
})

t.test('a part has what has left it as deletions, up to edges among tombstones of others too', async (t) => {
  let now = 5000
  const store = embeddedStore({ now: () => new Date(now++) })
  const { feeds } = prepare(t, { ...ofPart, stamp: 'changedAt' }, store)
  const put = (project: string, ...ids: string[]) =>
    store.upsert(
      'entries',
      ids.map((id) => inProject(project, id, 0)),
    )
  const others = Array.from({ length: 9 }, (_, n) => `o${n}`)
  await put('mine', 'back', 'deleted', 'left', 'left and deleted')
  await put('other', ...others, 'never')
  await put('other', 'back', 'left', 'left and deleted')
  for (const id of [...others, 'deleted', 'left and deleted']) await store.remove('entries', A, [id])
  await put('mine', 'back', 'o3')
  await put('other', 'deleted', 'left')
  for (let perPage = 1; perPage <= 9; perPage++) {
    const pages = await pagesOf(feeds, perPage)
    t.same(pages.flatMap(shown).sort(), ['-deleted', '-left', '-left and deleted', 'back', 'o3'], `${perPage} a page`)
    const left = pages.flatMap(({ items }) => items).filter(({ isDeleted }) => isDeleted)
    for (const { bytes, stamp } of left) t.equal(fieldOf(bytes, 0, 'project'), undefined, `${stamp} is an id alone`)
  }
})

t.test('an edge that has not settled is passed once at once, and once more when it has settled', async (t) => {
  const { store, feeds, clock } = prepare(t, { ...ofPart, settleMs: 1000 })
  clock.now = 10_000
  const others = Array.from({ length: 9 }, (_, n) => inProject('other', `o${n}`, 9100 + n))
  await store.insert('entries', [
    ...others,
    inProject('mine', 'a', 9050),
    inProject('mine', 'b', 9105),
    inProject('mine', 'c', 9200),
  ])
  const pages = await pagesOf(feeds, 1)
  t.same(pages.flatMap(shown), ['a', 'b', 'c'])
  const edge = pages.find(({ items }) => items.length === 0)
  t.match(edge?.next, { settled: { stamp: 9000, id: null }, fresh: { id: null } })
  const { next } = pages.at(-1) as FeedPage
  t.same(next.fresh, { stamp: 9200, id: 'c' })
  clock.now = 10_150
  const again = await pagesOf(feeds, 1, next)
  t.same(again.flatMap(shown), ['a', 'b'])
  clock.now = 12_000
  t.same((await pagesOf(feeds, 1, again.at(-1)?.next)).flatMap(shown), ['c'])
})

t.test('what others have in the future is no edge', async (t) => {
  const { store, feeds, clock } = prepare(t, ofPart)
  clock.now = 10_000
  const ahead = Array.from({ length: 9 }, (_, n) => inProject('other', `o${n}`, 10_001 + n))
  await store.insert('entries', [...ahead, inProject('mine', 'a', 9000)])
  t.same((await pagesOf(feeds, 1)).map(shown), [['a']])
})

t.test('a walk of a part by times gets a checkpoint however far others have gone on', async (t) => {
  const { store, feeds, clock } = prepare(t, { ...ofPart, settleMs: 1000 })
  const since = async (time: number, perPage: number) =>
    // An empty page before the last shows how far it looked.
    [...new Set((await pagesOf(feeds, perPage, await feeds.beginAt(part, new Date(time)))).flatMap(shown))]
  clock.now = 2 * DAY
  const others = Array.from({ length: 9 }, (_, n) => inProject('other', `o${n}`, clock.now - 9000 + n))
  await store.insert('entries', [inProject('mine', 'a', 5000), ...others])
  t.same(await since(0, 2), ['a', '-checkpoint'])
  t.same(await since(6000, 2), ['-checkpoint'])
  t.same(await since(6000, 100), ['-checkpoint'])
  t.same(await since(clock.now - 1000, 2), [], 'not when it has just begun')
  await store.insert('entries', [inProject('mine', 'b', clock.now - 2000)])
  t.same(await since(6000, 2), ['-checkpoint', 'b'])
  t.same(await since(6000, 100), ['b'], 'its newest record is new')
})
