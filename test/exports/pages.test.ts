// Reading a whole list: every record once, in the order of ids, in pages of a bounded size.
import { ObjectId } from 'mongodb'
import t, { type Test } from 'tap'
import { ResponseTooLarge } from '../../src/bson/reader.js'
import { Pages } from '../../src/exports/pages.js'
import { entries } from '../../src/pipelines/entries.js'
import type { Resource } from '../../src/pipelines/resource.js'
import type { Listing, Query } from '../../src/pipelines/stages.js'
import { idOf } from '../../src/serializer/items.js'
import type { Store } from '../../src/store/store.js'
import { testStore } from '../support/store.js'
import { listOf, plain, stored } from '../support/stored.js'
import { A, a } from '../support/tenants.js'

// An export passes only the parameters that all resources take.
const resource = entries as unknown as Resource<Listing>
const scope = { organisation: A }

const fill = async (t: Test, ids: readonly unknown[], changes = {}): Promise<Store> => {
  const store = testStore(t)
  await store.insert(
    'entries',
    ids.map((id) => a.entry(1, { _id: id as string, ...changes })),
  )
  return store
}

/** The ids of each page. */
const walk = async (pages: Pages, read: (query: Query) => ReturnType<Store['aggregate']>): Promise<string[][]> => {
  const found: string[][] = []
  for (;;) {
    const list = await pages.next(read)
    if (list === undefined) return found
    found.push(list.documents.map(idOf))
  }
}

const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `e${String(i).padStart(5, '0')}`)

t.test('pages hold every record once, in the order of ids or against it, up to a limit', async (t) => {
  const ids = numbered(2100)
  const store = await fill(t, ids)
  const all = async (sortOrder: 'asc' | 'desc', limit?: number) =>
    walk(new Pages(resource, scope, { sortOrder }, limit), (query) => store.aggregate(query))
  const ascending = await all('asc')
  t.same(
    ascending.map(({ length }) => length),
    [1000, 1000, 100],
  )
  t.same(ascending.flat(), ids)
  t.same((await all('desc')).flat(), ids.toReversed())
  t.same((await all('desc', 1500)).flat(), ids.toReversed().slice(0, 1500), 'the newest so many')
  t.same((await all('asc', 1)).flat(), ids.slice(0, 1))
  t.same(await walk(new Pages(resource, { organisation: 'nobody' }, { sortOrder: 'asc' }), store.aggregate), [])
})

t.test('pages of large records are small, and grow again behind them', async (t) => {
  const answers = [{ type: 'text', question: 'What?', answer: 'x'.repeat(100_000) }]
  const store = await fill(t, numbered(60), { answers })
  await store.insert(
    'entries',
    numbered(3000).map((id) => a.entry(1, { _id: `f${id}` })),
  )
  let tooLarge = 0
  const sizes = (
    await walk(new Pages(resource, scope, { sortOrder: 'asc' }), async (query) => {
      const list = await store.aggregate(query)
      if (list.size < 4_000_000) return list
      tooLarge += 1
      throw new ResponseTooLarge()
    })
  ).map(({ length }) => length)
  t.ok(tooLarge > 0)
  t.equal(
    sizes.reduce((sum, size) => sum + size, 0),
    3060,
  )
  t.ok(sizes.some((size) => size < 60) && sizes.some((size) => size === 1000), sizes.join())
})

t.test('a record that is too large to be read ends the walk', async (t) => {
  const read = async () => {
    throw new ResponseTooLarge()
  }
  await t.rejects(new Pages(resource, scope, { sortOrder: 'asc' }).next(read), ResponseTooLarge)
})

t.test('records whose ids are no texts come last', async (t) => {
  const id = new ObjectId('0'.repeat(24))
  const store = await fill(t, ['a', id, 'b'])
  const read = (query: Query) => store.aggregate(query)
  t.same(await walk(new Pages(resource, scope, { sortOrder: 'asc' }), read), [['a', 'b', id.toHexString()]])
  const other = new ObjectId('1'.repeat(24))
  await store.insert('entries', [a.entry(1, { _id: other as never })])
  t.same(
    await walk(new Pages(resource, scope, { sortOrder: 'asc' }, 3), read),
    [['a', 'b', id.toHexString()]],
    'a limit',
  )
  const only = await fill(t, [id])
  t.same(await walk(new Pages(resource, scope, { sortOrder: 'asc' }), (query) => only.aggregate(query)), [
    [id.toHexString()],
  ])
})

t.test('a page ends with a record that has a position, and without one the walk fails', async (t) => {
  const bad = stored.string([0xff])
  const rows = (ids: readonly unknown[]) => listOf([ids.map((_id) => plain({ _id }))], 'entries')
  const pages = new Pages(resource, scope, { sortOrder: 'asc' }, 3)
  const first = await pages.next(async () => rows(['a', 'b', bad]))
  t.same(first?.documents.map(idOf), ['a', 'b'])
  const ranges: unknown[] = []
  const next = pages.next(async (query) => {
    ranges.push(query.match)
    return rows([bad])
  })
  await t.rejects(next, { message: /so no export can go on after it$/ }, 'a record that is alone on its page')
  t.match(JSON.stringify(ranges), '{"_id":{"$gt":"b"}}', 'the next one begins behind it')
  const alone = new Pages(resource, scope, { sortOrder: 'asc' }, 1)
  await t.rejects(
    alone.next(async () => rows([bad])),
    { message: /_id is not a string of valid UTF-8 with at most 2000 bytes, so no export can go on after it$/ },
  )
  const many = new Pages(resource, scope, { sortOrder: 'asc' })
  await t.rejects(
    many.next(async (query) =>
      JSON.stringify(query.match).includes('$type":["') ? rows(Array(1000).fill(1)) : rows([]),
    ),
    { message: /so no export can go on after it$/ },
  )
})
