// Pages that follow each other, read while records come and go: a walk gets each record that lives throughout exactly once. And
// what all that read on have in common: pages that get smaller, and records after which nothing can be read on.
import fc from 'fast-check'
import { BSON, ObjectId } from 'mongodb'
import t, { type Test } from 'tap'
import type { EntryListQuery } from '../../../schemas/entries.js'
import { BsonList } from '../../../src/core/bson/reader.js'
import type { Documents } from '../../../src/core/documents/collections.js'
import { entries } from '../../../src/core/pipelines/entries.js'
import { readPage } from '../../../src/core/read/page.js'
import type { Start } from '../../../src/core/read/position.js'
import { rowsQuery, selectionOf } from '../../../src/core/read/selection.js'
import { tokensOf } from '../../../src/core/read/token.js'
import { cut, readRanges } from '../../../src/core/read/walk.js'
import type { Store } from '../../../src/core/store/store.js'
import { ResponseTooLarge } from '../../../src/core/write/errors.js'
import { testStore } from '../../support/store.js'
import { documentOf } from '../../support/stored.js'
import { runs } from '../../support/thorough.js'

const onServer = process.env.TEST_MONGODB_URI !== undefined
/** How many walks are tried. Each has some dozens of queries. */
const numRuns = onServer ? 30 : runs(20, 150)

/** A walk that gets more records than there are goes in a circle. */
const MOST = 100

type Listing = Pick<EntryListQuery, 'sortBy' | 'sortOrder' | 'page' | 'perPage' | 'cursor' | 'after'>
type Entry = Documents['entries']

const entry = (organisation: string, id: string, value: unknown) =>
  ({ _id: id, organisation, ...(value !== undefined && { duration: value }) }) as Entry

/** Reads one page, by the token of another one if there is one. */
const pageReader =
  (store: Store, organisation: string, listing: Omit<Listing, 'page' | 'cursor' | 'after'>) =>
  async (token?: string, parameter: 'cursor' | 'after' = 'after') => {
    const asked: Listing = { ...listing, page: 1, ...(token !== undefined && { [parameter]: token }) }
    const tokens = tokensOf({ organisation }, 'listEntries', asked)
    const { order, ...selection } = selectionOf(entries, undefined, asked)
    const { rows, next, previous } = await readPage(order, asked, tokens.start, async (order, slice) => {
      return (await store.aggregate(rowsQuery({ organisation }, { order, ...selection }, order, slice))).documents
    })
    const encoded = (start: Start | undefined) => start && tokens.encode(parameter, start)
    return {
      ids: rows.map(({ bytes }) => BSON.deserialize(bytes)._id as string),
      next: encoded(next?.start),
      previous: encoded(previous?.start),
    }
  }

const scalars = [undefined, null, -1, 0, 1.5, 2, '', 'a', 'á', false, true, new Date(0), new Date(1e12)]
/** Few values, so that many are equal. */
const values = fc.oneof(fc.constantFrom(...scalars), fc.constantFrom(undefined, 2))
const ids = fc.uniqueArray(
  fc.integer({ min: 0, max: 99 }).map((n) => `e${n}`),
  { minLength: 6, maxLength: 16 },
)

const walks = fc.record({
  ids,
  values: fc.array(values, { minLength: 16, maxLength: 16 }),
  /** How many of the ids exist at the beginning; the others are inserted on the way, one before each page. */
  present: fc.integer({ min: 0, max: 16 }),
  /** The places of records that are deleted, one before each page. */
  deleted: fc.array(fc.option(fc.integer({ min: 0, max: 15 })), { maxLength: 16 }),
  perPage: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 17 })),
  sortBy: fc.constantFrom('id' as const, 'duration' as const),
  sortOrder: fc.constantFrom('asc' as const, 'desc' as const),
  way: fc.constantFrom('cursor' as const, 'next' as const, 'previous' as const),
})

type Walk = typeof walks extends fc.Arbitrary<infer W> ? W : never

t.test('a walk in any order gets each record that lives throughout exactly once', async (t) => {
  const store = testStore(t)
  await store.ensureIndexes()
  let organisations = 0
  const isComplete = async ({ ids, values, present, deleted, way, ...listing }: Walk) => {
    const organisation = `org${organisations++}`
    const made = ids.map((id, i) => entry(organisation, `${id}-${organisation}`, values[i]))
    const [living, coming] = [made.slice(0, present), made.slice(present)]
    if (living.length > 0) await store.insert('entries', living)
    const deletions = [...deleted]
    const gone = new Set<string>()
    const read = pageReader(store, organisation, listing)
    const writeSomething = async () => {
      const [added] = coming.splice(0, 1)
      if (added !== undefined) await store.insert('entries', [added])
      const id = living[deletions.shift() ?? -1]?._id
      if (id === undefined) return
      await store.remove('entries', organisation, [id])
      gone.add(id)
    }

    const found: string[] = []
    let page = await read(way === 'cursor' ? '*' : undefined, way === 'cursor' ? 'cursor' : 'after')
    if (way === 'previous') {
      while (page.next !== undefined) page = await read(page.next)
      found.push(...page.ids)
      for (; page.previous !== undefined && found.length <= MOST; found.unshift(...page.ids)) {
        await writeSomething()
        page = await read(page.previous)
      }
    } else {
      found.push(...page.ids)
      for (; page.next !== undefined && found.length <= MOST; found.push(...page.ids)) {
        await writeSomething()
        page = await read(page.next, way === 'cursor' ? 'cursor' : 'after')
      }
    }
    const stayed = living.map(({ _id }) => _id).filter((id) => !gone.has(id))
    const whole = await pageReader(store, organisation, { ...listing, perPage: 100 })()
    const order = whole.ids.filter((id) => stayed.includes(id))
    const sorted = found.filter((id) => stayed.includes(id))
    return new Set(found).size === found.length && order.join() === sorted.join()
  }
  await fc.assert(fc.asyncProperty(walks, isComplete), { numRuns })
})

/** A store with entries whose durations are these values, with ids in their order. */
const storeOf = async (t: Test, durations: readonly unknown[]): Promise<Store> => {
  const store = testStore(t)
  await store.insert(
    'entries',
    durations.map((value, i) => entry('org', `e${i}`, value)),
  )
  return store
}

t.test('the way back from an empty page begins with the record at its position', async (t) => {
  const store = await storeOf(t, [1, 2, 3, 4])
  for (const sortBy of ['id', 'duration'] as const) {
    const read = pageReader(store, 'org', { sortBy, sortOrder: 'asc', perPage: 2 })
    const first = await read()
    await store.remove('entries', 'org', ['e2', 'e3'])
    const second = await read(first.next)
    t.same(second.ids, [])
    t.equal(second.next, undefined)
    t.same((await read(second.previous)).ids, ['e0', 'e1'])
    await store.upsert('entries', [entry('org', 'e2', 3), entry('org', 'e3', 4)])

    const last = await read(first.next)
    await store.remove('entries', 'org', ['e0', 'e1'])
    const before = await read(last.previous)
    t.same(before.ids, [])
    t.equal(before.previous, undefined)
    t.same((await read(before.next)).ids, ['e2', 'e3'])
    await store.upsert('entries', [entry('org', 'e0', 1), entry('org', 'e1', 2)])
  }
})

t.test(
  'two records without a position end a walk by cursor with an error that names the first, and a link has none',
  async (t) => {
    const listing = { sortBy: 'duration', sortOrder: 'asc', perPage: 1 } as const
    const store = await storeOf(t, ['s', {}, {}, false])
    const read = pageReader(store, 'org', listing)
    const objects = await read((await read('*', 'cursor')).next, 'cursor').catch((error: unknown) => error)
    t.match(objects, { name: 'UnreadableDocument', collection: 'entries', id: 'e1', field: 'duration' })
    t.match(await read((await read()).next), { ids: ['e1'], next: undefined })
  },
)

t.test('behind a record without a position, a list goes on with the next one', async (t) => {
  const store = await storeOf(t, [1, {}, true])
  for (const way of ['cursor', 'after'] as const) {
    const read = pageReader(store, 'org', { sortBy: 'duration', sortOrder: 'asc', perPage: 1 })
    const ids: string[] = []
    let page = await (way === 'cursor' ? read('*', 'cursor') : read())
    for (; page.next !== undefined; page = await read(page.next, way)) ids.push(...page.ids)
    t.same([...ids, ...page.ids], ['e0', 'e1', 'e2'], way)
  }
})

/** Entries with nothing but these ids. */
const entriesOf = (...ids: unknown[]): BsonList =>
  new BsonList(
    'entries',
    ids.map((id) => documentOf([['_id', id]]).bytes),
  )

t.test('rows that are too large to be read at once are read in smaller pages, down to the least', async (t) => {
  const all = Array.from({ length: 30 }, (_, n) => n)
  for (const [atOnce, limit, least, limits] of [
    [30, 21, 2, [21]],
    [10, 21, 2, [21, 5]],
    [4, 21, 2, [21, 5, 2]],
    [2, 5, 2, [5, 2]],
    [10, 11, 11, [11]],
    [1, 21, 2, [21, 5, 2]],
  ] as const) {
    const tried: number[] = []
    const found = readRanges([0], limit, least, async (_, limit) => {
      tried.push(limit)
      if (limit > atOnce) throw new ResponseTooLarge()
      return all.slice(0, limit)
    })
    const last = limits.at(-1) as number
    if (last <= atOnce) t.same(await found, { rows: all.slice(0, last), limit: last })
    else await t.rejects(found, ResponseTooLarge)
    t.same(tried, limits, `${atOnce} at once`)
  }
  await t.rejects(
    readRanges([0], 21, 2, () => Promise.reject(new Error('broken'))),
    { message: 'broken' },
  )
})

t.test('a range is read only if those before it do not fill the page', async (t) => {
  const read: [string, number][] = []
  const rows = { first: ['a', 'b'], second: ['c', 'd', 'e'], third: ['f'] }
  const found = await readRanges(['first', 'second', 'third'] as const, 4, 2, async (range, limit) => {
    read.push([range, limit])
    return rows[range].slice(0, limit)
  })
  t.same(found.rows, ['a', 'b', 'c', 'd'])
  t.same(read, [
    ['first', 4],
    ['second', 2],
  ])
})

t.test('a page ends where it is full, too large, or where nothing can be read on after one row more', async (t) => {
  const MIB = 1024 * 1024
  /** A row: its size, and whether one can go on after it. */
  const row = (mib: number, goesOn = true) => {
    const bytes = Buffer.alloc(Math.max(5, mib * MIB))
    return Object.assign(documentOf([['_id', 'a']], 'entries'), { bytes, goesOn })
  }
  for (const [rows, limit, shown] of [
    [[], 3, 0],
    [[row(0), row(0)], 3, 2],
    [[row(0), row(0), row(0)], 3, 2],
    [[row(8), row(8), row(1)], 4, 2],
    [[row(40), row(1)], 4, 1],
    [[row(0), row(0, false), row(0)], 3, 1],
    [[row(0), row(0, false)], 3, 2],
  ] as const) {
    const page = cut({ rows, limit }, 'x', (shown, following) => {
      const last = shown.at(-1)
      return following === undefined || last?.goesOn ? { next: following } : undefined
    })
    t.equal(page.rows.length, shown)
    t.equal(page.next, rows[shown])
  }
})

t.test('a record after which nothing can be read on is named, with what is wrong with it', async (t) => {
  const long = 'z'.repeat(2001)
  for (const [id, name, field, detail] of [
    ['a', 'a', 'x', /^x has a value after which/],
    [long, long.slice(0, 100), '_id', /^_id is not a string of valid UTF-8 with at most 2000 bytes/],
    [1, '?', '_id', /^_id is not a string/],
  ] as const) {
    const { documents: rows } = entriesOf(id, id)
    const error = { name: 'UnreadableDocument', collection: 'entries', id: name, field, detail }
    t.throws(() => cut({ rows, limit: 2 }, 'x', () => undefined), error)
  }
})

t.test(
  'a walk by ids comes to those that are not strings behind all others, and ends there with an error',
  async (t) => {
    const store = testStore(t)
    const others = Array.from({ length: 3 }, (_, n) => new ObjectId(String(n).repeat(24)) as never)
    await store.insert(
      'entries',
      ['a', 'b', ...others].map((id) => entry('org', id, 1)),
    )
    const read = pageReader(store, 'org', { sortBy: 'id', sortOrder: 'asc', perPage: 3 })
    const first = await read('*', 'cursor')
    t.same(first.ids, ['a', 'b'])
    const error = { name: 'UnreadableDocument', id: '0'.repeat(24), field: '_id' }
    await t.rejects(
      pageReader(store, 'org', { sortBy: 'id', sortOrder: 'asc', perPage: 2 })(first.next, 'cursor'),
      error,
    )
    const last = await read(first.next, 'cursor')
    t.same([last.ids.length, last.next], [3, undefined], 'none of them is left out')
  },
)
