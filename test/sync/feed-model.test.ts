// Histories of writers and readers against a model: whatever they do and in whichever order, a reader's copy equals the
// source in the end. Time is simulated. A write has its stamp when it begins, and is visible when it commits.
import fc from 'fast-check'
import { BSON } from 'mongodb'
import t, { type Test } from 'tap'
import { entries } from '../../src/pipelines/entries.js'
import { embeddedStore } from '../../src/store/embedded.js'
import type { Store } from '../../src/store/store.js'
import type { Cursor } from '../../src/sync/cursor.js'
import { type FeedSettings, Feeds } from '../../src/sync/feed.js'
import { databaseOn } from '../support/store.js'
import { tenant } from '../support/tenants.js'

const server = process.env.TEST_MONGODB_URI

/** The settle window, and more than the longest time from the beginning of a write to its commit. */
const WINDOW = 8
const settings: FeedSettings = { settleMs: WINDOW, stamp: 'changedAt', tombstoneDays: 90 }
const START = Date.UTC(2026, 0, 1)

/** A write to one of a few ids. A change may leave `updatedAt` as it is, or set it to any time. */
interface Write {
  readonly kind: 'write'
  readonly id: number
  readonly isDelete: boolean
  readonly updatedAt: number | undefined
  /** From its beginning to its commit. */
  readonly delay: number
}
/** A reader fetches a page; if it is killed, it has neither the page nor the cursor after it. */
interface Read {
  readonly kind: 'read'
  readonly perPage: number
  readonly isKilled: boolean
}
/** Time passes. Without it, stamps are equal. */
interface Pause {
  readonly kind: 'pause'
  readonly ms: number
}
type Event = Write | Read | Pause

const write: fc.Arbitrary<Write> = fc.record({
  kind: fc.constant('write'),
  id: fc.nat(6),
  isDelete: fc.boolean(),
  updatedAt: fc.option(fc.integer({ min: -20, max: 40 }), { nil: undefined }),
  delay: fc.nat(WINDOW - 1),
})
const read: fc.Arbitrary<Read> = fc.record({
  kind: fc.constant('read'),
  perPage: fc.integer({ min: 1, max: 5 }),
  isKilled: fc.boolean(),
})
const pause: fc.Arbitrary<Pause> = fc.record({ kind: fc.constant('pause'), ms: fc.integer({ min: 1, max: WINDOW }) })
const history = fc.array(fc.oneof({ arbitrary: write, weight: 3 }, { arbitrary: read, weight: 2 }, pause), {
  minLength: 4,
  maxLength: 40,
})

/** A database in which a write has the stamp that it is given. */
interface World {
  readonly store: Store
  put(id: string, version: number, updatedAt: Date, stamp: Date): Promise<unknown>
  remove(id: string, stamp: Date): Promise<unknown>
}

let worlds = 0
const nextTenant = () => {
  worlds += 1
  const organisation = `org-${worlds}`
  return { organisation, entry: tenant(organisation, String(worlds)).entry(1) }
}

const embeddedWorld = () => {
  const { organisation, entry } = nextTenant()
  let time = new Date()
  const store = embeddedStore({ now: () => time })
  const world: World = {
    store,
    put(_id, duration, updatedAt, stamp) {
      time = stamp
      return store.upsert('entries', [{ ...entry, _id, duration, updatedAt }])
    },
    remove(id, stamp) {
      time = stamp
      return store.remove('entries', organisation, [id])
    },
  }
  return { world, organisation }
}

const mongoWorlds = async (t: Test, uri: string) => {
  const { store, client } = await databaseOn(t, uri)
  const collection = client.db().collection<{ _id: string }>('entries')
  return () => {
    const { organisation, entry } = nextTenant()
    const world: World = {
      store,
      put: (_id, duration, updatedAt, changedAt) =>
        collection.replaceOne({ _id }, { ...entry, _id, duration, updatedAt, changedAt }, { upsert: true }),
      remove: (_id, deletedAt) =>
        collection.replaceOne({ _id, organisation }, { deletedFrom: organisation, deletedAt }),
    }
    return { world, organisation }
  }
}

/**
 * Returns what plays a history to its end, in a world of its own. It gives the source and the copy, each as the version of
 * every id.
 */
const player = (settings: FeedSettings) => {
  let now = START
  let store: Store
  const feeds = new Feeds(
    { aggregate: (...query) => store.aggregate(...query) },
    async () => ({ now, majority: now }),
    settings,
  )

  return async ({ world, organisation }: ReturnType<typeof embeddedWorld>, events: readonly Event[]) => {
    now = START
    store = world.store
    const source = new Map<string, number>()
    const copy = new Map<string, number>()
    let cursor: Cursor | undefined

    let pending: { at: number; commit: () => Promise<unknown> }[] = []
    const pass = async (until: number) => {
      const due = pending.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)
      pending = pending.filter(({ at }) => at > until)
      for (const { commit } of due) await commit()
      now = until
    }
    const fetchPage = async ({ perPage, isKilled }: Pick<Read, 'perPage' | 'isKilled'>): Promise<boolean> => {
      const { items, next, hasMore } = await feeds.page({ scope: { organisation }, resource: entries }, cursor, perPage)
      if (isKilled) return true
      for (const { document, isDeleted } of items) {
        const { _id, duration } = BSON.deserialize(document.bytes) as { _id: string; duration: number }
        if (isDeleted) copy.delete(_id)
        else copy.set(_id, duration)
      }
      cursor = next
      return hasMore
    }

    for (const [version, event] of events.entries()) {
      if (event.kind === 'pause') await pass(now + event.ms)
      else if (event.kind === 'read') await fetchPage(event)
      else {
        const id = `${organisation}-${event.id}`
        const begun = new Date(now)
        const updatedAt = new Date(START + (event.updatedAt ?? 0))
        const commit = async () => {
          if (event.isDelete) await world.remove(id, begun)
          else await world.put(id, version, updatedAt, begun)
          if (event.isDelete) source.delete(id)
          else source.set(id, version)
        }
        pending.push({ at: now + event.delay, commit })
        await pass(now)
      }
    }
    await pass(now + WINDOW)
    await pass(now + 10 * WINDOW)
    while (await fetchPage({ perPage: 3, isKilled: false }));
    return { source, copy }
  }
}

const copiesEqual = (worldOf: () => ReturnType<typeof embeddedWorld>, changes: Partial<FeedSettings> = {}) => {
  const play = player({ ...settings, ...changes })
  return fc.asyncProperty(history, async (events) => {
    const { source, copy } = await play(worldOf(), events)
    return BSON.EJSON.stringify([...source].sort()) === BSON.EJSON.stringify([...copy].sort())
  })
}

/** Plays histories until a copy is wrong. */
const untilWrong = { numRuns: 1000, seed: 1, endOnFailure: true }

t.test('a copy equals the source after any history', async (t) => {
  const worldOf = server === undefined ? embeddedWorld : await mongoWorlds(t, server)
  const result = await fc.check(copiesEqual(worldOf), { numRuns: server === undefined ? 1000 : 200, seed: 1 })
  t.notOk(result.failed, String(fc.defaultReportMessage(result)))
})

t.test('this test finds a loss when changes are shown before they have settled', async (t) => {
  t.ok((await fc.check(copiesEqual(embeddedWorld, { settleMs: 0 }), untilWrong)).failed)
})

t.test('this test finds a loss when the feed is ordered by updatedAt', async (t) => {
  t.ok((await fc.check(copiesEqual(embeddedWorld, { stamp: 'updatedAt' }), untilWrong)).failed)
})

t.test('thousands of equal stamps are no obstacle', async (t) => {
  const { world, organisation } = embeddedWorld()
  for (let i = 0; i < 3000; i++) await world.put(`id-${i}`, i, new Date(START), new Date(START))
  const feeds = new Feeds(
    world.store,
    async () => ({ now: START + 2 * WINDOW, majority: START + 2 * WINDOW }),
    settings,
  )
  const ids: string[] = []
  let cursor: Cursor | undefined
  for (let hasMore = true; hasMore; ) {
    const page = await feeds.page({ scope: { organisation }, resource: entries }, cursor, 701)
    ids.push(...page.items.map(({ document }) => BSON.deserialize(document.bytes)._id))
    ;({ hasMore } = page)
    cursor = page.next
  }
  t.equal(ids.length, 3000)
  t.equal(new Set(ids).size, 3000)
})
