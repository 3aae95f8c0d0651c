// Requests that wait for changes: how many look-ups they cost, and what ends them.
import { setMaxListeners } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import type { Documents, Only } from '../../src/core/documents/collections.js'
import { entries } from '../../src/core/pipelines/entries.js'
import { projectionOf } from '../../src/core/read/projection.js'
import { type Store, StoreUnavailable } from '../../src/core/store/store.js'
import { Feeds } from '../../src/sync/changes.js'
import { pageOrWait, Waiting } from '../../src/sync/waiting.js'
import { testStore } from '../support/store.js'
import { A, a } from '../support/tenants.js'
import { oneAtATime, testTicket } from '../support/tickets.js'

/** A feed whose newest stamp the test sets. */
const prepare = (limits: Partial<Waiting['limits']> = {}) => {
  const waiting = new Waiting({ max: 1000, maxPerKey: 100, intervalMs: 5, ...limits })
  const feed = { newest: undefined as number | undefined, lookUps: 0, error: undefined as Error | undefined }
  const lookUp = async (from: number) => {
    feed.lookUps += 1
    if (feed.error) throw feed.error
    return { newest: feed.newest, from }
  }
  const caller = new AbortController()
  setMaxListeners(0, caller.signal)
  const wait = (
    from = 10,
    { key = 'key', organisation = 'org', name = 'feed', ms = 10_000, signal = caller.signal } = {},
  ) => waiting.wait({ keyId: key, organisation }, name, lookUp, { from, ms, signal })
  return { waiting, feed, caller, wait }
}

/** Ends at the beginning of a round, so that what follows does not fall into two. */
const nextRound = async (intervalMs: number) => {
  do await setTimeout(1)
  while (performance.now() % intervalMs > intervalMs / 4)
}

const overloaded = { name: 'Overloaded' }

t.test('all that wait for a feed share a look-up in each round, and end when it has what they lack', async (t) => {
  const { waiting, feed, wait } = prepare({ intervalMs: 300 })
  await nextRound(300)
  const far = wait(20)
  const near = Array.from({ length: 50 }, () => wait(10))
  t.equal(waiting.size, 51)
  feed.newest = 10
  t.same(await Promise.all(near), Array(50).fill(true))
  t.equal(waiting.size, 1)
  t.equal(feed.lookUps, 1, 'they wake at the beginning of a round')
  feed.newest = 20
  t.equal(await far, true)
  const before = feed.lookUps
  await setTimeout(600)
  t.equal(feed.lookUps, before, 'a feed for which nobody waits costs nothing')
  feed.newest = 30
  t.equal(await wait(25), true, 'a later request begins again')
})

t.test('each feed has look-ups of its own', async (t) => {
  const { feed, wait } = prepare({ intervalMs: 100 })
  feed.newest = 10
  t.same(await Promise.all([wait(10), wait(10, { name: 'other' })]), [true, true])
  t.equal(feed.lookUps, 2)
})

t.test('a wait ends without a change when its time is over', async (t) => {
  const { feed, wait } = prepare({ intervalMs: 10_000 })
  t.equal(await wait(10, { ms: 1 }), false)
  t.equal(feed.lookUps, 0)
})

t.test('a caller who leaves ends its own wait alone', async (t) => {
  const { feed, wait, caller } = prepare()
  const other = wait(10, { signal: new AbortController().signal })
  const left = wait()
  caller.abort(new Error('gone'))
  await t.rejects(left, { message: 'gone' })
  await t.rejects(wait(), { message: 'gone' }, 'also if it left before')
  feed.newest = 10
  t.equal(await other, true)
})

t.test('a look-up that fails ends the waits of its feed, and not those of others', async (t) => {
  const { feed, wait, waiting } = prepare({ intervalMs: 100 })
  await nextRound(100)
  const lookUp = async (from: number) => ({ newest: feed.lookUps > 0 ? 10 : undefined, from })
  const { signal } = new AbortController()
  const other = waiting.wait({ keyId: 'key', organisation: 'org' }, 'other', lookUp, { from: 10, ms: 10_000, signal })
  const waits = [wait(), wait()]
  feed.error = new Error('the database is gone')
  for (const result of await Promise.allSettled(waits)) t.match(result, { status: 'rejected', reason: feed.error })
  t.equal(feed.lookUps, 1)
  t.equal(await other, true)
})

t.test('too many waits of a key are refused, and their places are free again when they end', async (t) => {
  const { feed, wait } = prepare({ maxPerKey: 2 })
  const waits = [wait(), wait()]
  await t.rejects(wait(), overloaded)
  waits.push(wait(10, { key: 'b' }))
  feed.newest = 10
  t.same(await Promise.all(waits), [true, true, true])
  t.same(await Promise.all([wait(), wait(), wait(10, { key: 'b' })]), [true, true, true])
})

t.test('an organisation with many keys leaves places for others, and they for those that come later', async (t) => {
  const { feed, wait, waiting } = prepare({ max: 100, maxPerKey: 20 })
  /** Waits with five keys of an organisation until it is refused. Returns how many wait. */
  const fill = (organisation: string): number => {
    const before = waiting.size
    for (let n = 0; n < 100; n++) wait(10, { key: `${organisation}${n % 5}`, organisation }).catch(() => {})
    return waiting.size - before
  }
  t.same([fill('a'), fill('b'), fill('c')], [50, 25, 13])
  feed.newest = 10
  t.equal(await wait(10, { key: 'd', organisation: 'd' }), true)
})

t.test('closing ends all waits at once, and those that begin afterwards', async (t) => {
  const { feed, wait, waiting } = prepare({ intervalMs: 10_000 })
  const waits = [wait(), wait(10, { key: 'b', name: 'other' })]
  waiting.close()
  t.same(await Promise.all(waits), [false, false])
  t.equal(await wait(), false)
  t.equal(feed.lookUps, 0)
})

const entry = (_id: string, stamp: number): Documents['entries'] => ({
  ...a.entry(1),
  _id,
  updatedAt: new Date(stamp),
})

/** Waits with a ticket for the feed of A's entries, whose clock the test sets. */
const prepareFeed = (
  store: Store,
  clock: Feeds['clock'],
  { settleMs = 0, intervalMs = 10, only = {} as Only } = {},
) => {
  const feeds = new Feeds(store, clock, { settleMs, stamp: 'updatedAt', tombstoneDays: 90, lookedAt: 1 })
  const waiting = new Waiting({ max: 10, maxPerKey: 10, intervalMs })
  const projection = projectionOf(entries, undefined, { embed: 'false' })
  const feed = { scope: { organisation: A, only: only.project && only }, collection: 'entries', projection } as const
  const page = async (cursor?: Parameters<Feeds['page']>[1], waitMs = 0, scheduler = oneAtATime()) => {
    const ticket = await testTicket(scheduler)
    const { items, hasMore, next } = await pageOrWait(feeds, feed, cursor, 10, { ticket, waiting, waitMs, equal: [A] })
    ticket.stop()
    return { stamps: items.map(({ stamp }) => stamp), hasMore, next }
  }
  return { waiting, page }
}

t.test('a request that waits leaves its place in the scheduler, and has one again when it reads', async (t) => {
  const store = testStore(t)
  const scheduler = oneAtATime()
  const read = async () => ({ now: 10_000, majority: 10_000 })
  const { page } = prepareFeed(store, read)
  const { next } = await page()
  const waits = [page(next, 20_000, scheduler), page(next, 20_000, scheduler)]
  // The scheduler runs one task at once, so each of these ends only because the others wait outside of it.
  const other = await testTicket(scheduler)
  await store.insert('entries', [entry('a', 9999)])
  other.stop()
  t.same(
    (await Promise.all(waits)).map(({ stamps }) => stamps),
    [[9999], [9999]],
  )
  t.same(scheduler.all.running, { small: 0, large: 0 })
})

t.test('a wait goes on until what was committed late has settled, unless the service closes', async (t) => {
  const store = testStore(t)
  let began = Number.POSITIVE_INFINITY
  const now = () => 10_000 + Math.max(0, Math.floor(performance.now() - began))
  const { page, waiting } = prepareFeed(store, async () => ({ now: now(), majority: now() }), { settleMs: 200 })
  await store.insert('entries', [entry('b', 9999)])
  const { next } = await page()
  await store.insert('entries', [entry('a', 9998)])
  // Time stands still until here: what is committed after it has settled is never shown.
  began = performance.now()
  const settled = await page(next, 20_000)
  t.equal(settled.stamps[0], 9998)
  waiting.close()
  t.same((await page(settled.next, 20_000)).stamps, [], 'at once')
})

t.test('a walk of settled rows waits until a row has settled', async (t) => {
  const store = testStore(t)
  const began = performance.now()
  const now = () => 10_000 + Math.floor(performance.now() - began)
  const { page } = prepareFeed(store, async () => ({ now: now(), majority: now() }), { settleMs: 200 })
  await store.insert('entries', [entry('a', 10_000)])
  const settled = { stamp: 9000, id: null }
  const { stamps } = await page({ since: 9000, isSettledOnly: true, settled, fresh: null }, 20_000)
  t.same(stamps, [10_000])
})

t.test('while the majority lags behind, a wait reads the page no more often than it looks up the feed', async (t) => {
  const store = testStore(t)
  await store.insert('entries', [entry('a', 9999)])
  let readings = 0
  const clock = async () => {
    readings += 1
    return { now: 10_000, majority: 9000 }
  }
  const { page } = prepareFeed(store, clock, { intervalMs: 100 })
  const { next } = await page()
  readings = 0
  t.same((await page(next, 350)).stamps, [])
  t.ok(readings > 2 && readings <= 10, `pages and look-ups read the clock ${readings} times`)
})

t.test('those that wait for a part share what is read for the changes of others, and hear of their own', async (t) => {
  const store = testStore(t)
  let [now, queries] = [10_000, 0]
  const aggregate: Store['aggregate'] = (query, reading) => {
    queries += 1
    return store.aggregate(query, reading)
  }
  const read = async () => ({ now, majority: now })
  const { page, waiting } = prepareFeed({ ...store, aggregate }, read, { settleMs: 1000, only: { project: ['mine'] } })
  // Their cursors differ.
  const waits: ReturnType<typeof page>[] = []
  for (; waits.length < 5; now++) waits.push(page((await page()).next, 20_000))
  await store.insert('entries', [entry('other', now - 1)])
  queries = 0
  const began = performance.now()
  while (queries < 40) await setTimeout(1)
  const rounds = Math.ceil((performance.now() - began) / 10) + 1
  // A look-up is four queries, and each of the five alone would be twenty. Timers may end in the round before.
  t.ok(queries <= 8 * rounds, `${queries} in ${rounds} rounds`)
  // Committed late: others have later stamps.
  await store.insert('entries', [{ ...entry('mine', now - 3), project: 'mine' }])
  t.same(
    (await Promise.all(waits)).map(({ stamps }) => stamps),
    Array(5).fill([now - 3]),
  )
  const waited = page((await page()).next, 20_000)
  const more = Array.from({ length: 11 }, (_, n) => ({ ...entry(`mine ${n}`, now - 1), project: 'mine' }))
  while (waiting.size === 0) await setTimeout(1)
  await store.insert('entries', more)
  t.equal((await waited).hasMore, true, 'a page does not have all that a look-up finds')
})

t.test('equal requests that may wait share a page, and read it again if that fails', async (t) => {
  const store = testStore(t)
  let [now, queries, failures] = [10_000, 0, 0]
  let failure = new Error('its caller has left')
  const aggregate: Store['aggregate'] = async (query, reading) => {
    queries += 1
    if (failures-- > 0) throw failure
    return store.aggregate(query, reading)
  }
  const read = async () => ({ now, majority: now })
  const { page, waiting } = prepareFeed({ ...store, aggregate }, read, { settleMs: 1000, only: { project: ['mine'] } })
  const { next } = await page()
  const asked = async (ask: () => Promise<unknown>) => {
    queries = 0
    await ask()
    return queries
  }
  const alone = await asked(() => page(next))
  queries = 0
  const all = (cursor: typeof next) => Array.from({ length: 4 }, () => page(cursor, 20_000))
  const waits = all(next)
  while (waiting.size < waits.length) await setTimeout(1)
  t.ok(queries < 2 * alone, `${queries} queries for all that begin to wait, ${alone} for one`)
  await store.insert('entries', [{ ...entry('mine', now), project: 'mine' }])
  now += 1
  const found = await Promise.all(waits)
  const [{ next: after } = { next }] = found
  t.same(
    found.map(({ stamps, next }) => [stamps, next]),
    Array(4).fill([[10_000], after]),
  )
  await store.insert('entries', [{ ...entry('more', now), project: 'mine' }])
  now += 1
  ;[queries, failures] = [0, 1]
  const [first, ...others] = await Promise.allSettled(all(after))
  t.equal(first?.status, 'rejected')
  t.ok(queries <= 1 + (await asked(() => page(after))), 'one of the others reads it')
  t.ok(others.every(({ status }) => status === 'fulfilled'))
  t.equal(await asked(() => Promise.all(all(after))), await asked(() => page(after)))
  failure = new StoreUnavailable(new Error('down'))
  failures = 4
  t.equal(
    await asked(() => Promise.allSettled(all(after))),
    1,
    'an outage is that of all: nobody tries it again in turn',
  )
})

t.test('a look-up begins where the one begins that lacks most, also if others wait already', async (t) => {
  const { waiting } = prepare({ intervalMs: 50 })
  const { signal } = new AbortController()
  const asked: number[] = []
  const lookUp = async (from: number) => {
    asked.push(from)
    return { newest: asked.length < 3 ? undefined : 1000, from: 100 * asked.length }
  }
  const wait = (from: number) =>
    waiting.wait({ keyId: 'key', organisation: 'org' }, 'feed', lookUp, { from, ms: 10_000, signal })
  await nextRound(50)
  t.same(await Promise.all([wait(150), wait(20)]), [true, true])
  t.same(asked, [20, 100, 200], 'and goes on behind what it has found')
})

t.test('a wait for a part goes on behind what others write, and ends at an edge', async (t) => {
  const store = testStore(t)
  const ranges: unknown[] = []
  let now = 10_000
  const aggregate: Store['aggregate'] = (query, reading) => {
    // A page first looks for one row.
    const [{ $sort = {} } = {}, { $limit } = {}] = query.stages
    if ($limit === 1 && $sort._id === 1) ranges.push((query.match.$and as object[])[0])
    return store.aggregate(query, reading)
  }
  const read = async () => ({ now, majority: now })
  const { page } = prepareFeed({ ...store, aggregate }, read, { only: { project: ['mine'] } })
  const { next } = await page()
  ranges.length = 0
  const waited = page(next, 20_000)
  // Each time the wait ends for what another has written.
  for (let n = 1; n <= 3; n++) {
    while (ranges.length < n) await setTimeout(1)
    now += 1
    await store.insert('entries', [entry(`other ${n}`, now - 1)])
  }
  await store.insert('entries', [{ ...entry('mine', now), project: 'mine' }])
  t.same((await waited).stamps, [10_003])
  const [first, , third] = (ranges as { updatedAt: { $gte: Date } }[]).map(({ updatedAt }) => updatedAt.$gte.getTime())
  t.ok(Number(third) > Number(first))
  await store.insert(
    'entries',
    Array.from({ length: 20 }, (_, n) => entry(`more ${n}`, now + n)),
  )
  now += 100
  t.match(await page(undefined, 100_000), { stamps: [], hasMore: true })
})
