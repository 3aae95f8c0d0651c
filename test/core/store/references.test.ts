// References: ids are replaced by documents, each of which is fetched once.
import { setImmediate } from 'node:timers/promises'
import { BSON, ObjectId } from 'mongodb'
import t from 'tap'
import { BsonList } from '../../../src/core/bson/reader.js'
import { Query, type References } from '../../../src/core/pipelines/stages.js'
import { readWithReferences } from '../../../src/core/store/references.js'
import type { Reading } from '../../../src/core/store/store.js'
import { ResponseTooLarge, UnreadableDocument } from '../../../src/core/write/errors.js'
import { objectsOf } from '../../support/bson.js'
import { leftToGate } from '../../support/thorough.js'

const listOf = (documents: object[]) =>
  new BsonList(
    'projects',
    documents.map((document) => Buffer.from(BSON.serialize(document))),
  )

const users: { _id: unknown; name: string }[] = [
  { _id: 'u1', name: 'Amina' },
  { _id: new ObjectId('665f1c2ab8d4e0a1c3f20b17'), name: 'Chidi' },
]
const referencesTo = (collection: 'users' | 'forms', ...fields: string[]) => ({
  fields,
  find: (ids: readonly unknown[]) => Query.in({ organisation: 'o' }, collection, [{ _id: { $in: ids } }], []),
})
const references = [referencesTo('users', 'by', 'to', 'sent.cc')]
/** The ids of each query. */
const queries: unknown[] = []
const read = async ({ match }: Query) => {
  const [{ _id }] = match.$and as [{ _id: { $in: unknown[] } }]
  queries.push(_id.$in)
  return listOf(users)
}

/** Reads a list whose fields refer to others. */
const filled = (
  list: BsonList,
  references: readonly References[],
  read: (query: Query) => Promise<BsonList>,
  reading?: Reading,
): Promise<BsonList> => {
  const query = Query.in({ organisation: 'o' }, 'projects', [], [], references)
  return readWithReferences({ aggregate: async (each) => (each === query ? list : read(each)) }, query, reading)
}

t.beforeEach(() => {
  queries.length = 0
})

t.test('All documents are fetched in one query, each once, and replace their ids', async (t) => {
  const rows = [
    { _id: '1', by: 'u1', to: users[1]?._id, name: 'One' },
    { _id: '2', by: 'u1', name: 'Two', to: 'u1' },
  ]
  t.same(objectsOf(await filled(listOf(rows), references, read)), [
    { _id: '1', by: users[0], to: users[1], name: 'One' },
    { _id: '2', by: users[0], name: 'Two', to: users[0] },
  ])
  t.same(queries, [['u1', users[1]?._id]])
})

t.test('Fields of several collections are filled together, with one query for each collection', async (t) => {
  const forms = [{ _id: 'u1', name: 'Water' }]
  const asked: string[] = []
  const readEither = async (query: Query) => {
    asked.push(query.collection)
    return listOf(query.collection === 'forms' ? forms : users)
  }
  const rows = [
    { _id: '1', by: 'u1', form: 'u1', sent: { cc: ['u1'], form: 'u1' } },
    { _id: '2', form: 'u1', by: 'u1' },
  ]
  const both = [referencesTo('users', 'by', 'sent.cc'), referencesTo('forms', 'form'), referencesTo('users', 'nothing')]
  t.same(objectsOf(await filled(listOf(rows), both, readEither)), [
    { _id: '1', by: users[0], form: forms[0], sent: { cc: [users[0]], form: 'u1' } },
    { _id: '2', form: forms[0], by: users[0] },
  ])
  t.same(asked, ['users', 'forms'])
})

t.test('An id without a document is removed, and what is neither an id nor null becomes false', async (t) => {
  const rows = [
    { _id: '1', by: 'nobody', to: '665f1c2ab8d4e0a1c3f20b17', name: 'One' },
    { _id: '2', by: 5, to: { _id: 'u1' } },
    { _id: '3', to: null, sent: 'u1' },
    { _id: '4', sent: { by: 'u1', cc: 5 } },
  ]
  t.same(objectsOf(await filled(listOf(rows), references, read)), [
    { _id: '1', name: 'One' },
    { _id: '2', by: false, to: false },
    { _id: '3', to: null, sent: 'u1' },
    { _id: '4', sent: { by: 'u1', cc: false } },
  ])
})

t.test('An array of ids becomes an array of documents in the same order, also inside an object', async (t) => {
  const rows = [{ _id: '1', sent: { at: 1, cc: [users[1]?._id, 'nobody', 'u1', null, ['u1'], 'u1'], by: 2 }, to: [] }]
  t.same(objectsOf(await filled(listOf(rows), references, read)), [
    { _id: '1', sent: { at: 1, cc: [users[1], users[0], false, false, users[0]], by: 2 }, to: [] },
  ])
  t.same(queries, [[users[1]?._id, 'nobody', 'u1']])
})

t.test(
  'An error of a damaged document names its collection, and a result that is too large fails',
  { skip: leftToGate },
  async (t) => {
    const damaged = new BsonList('projects', [Buffer.from([8, 0, 0, 0, 2, 0x30, 0, 0])])
    await t.rejects(filled(damaged, references, read), UnreadableDocument)
    const inner = Buffer.from(BSON.serialize({ _id: 'x', sent: { cc: ['u1'] } }))
    inner.writeInt32LE(99, inner.indexOf('cc\0') + 3)
    const within = new BsonList('projects', [inner])
    await t.rejects(filled(within, references, read), { name: 'UnreadableDocument', collection: 'projects' })
    const large = { _id: 'u1', name: 'x'.repeat(1024 * 1024) }
    const rows = Array.from({ length: 64 }, (_, n) => ({ _id: String(n), by: 'u1' }))
    const readLarge = async () => listOf([large])
    await t.rejects(filled(listOf(rows), references, readLarge), ResponseTooLarge)
    t.equal((await filled(listOf(rows.slice(1)), references, readLarge)).documents.length, 63)
  },
)

t.test('A repeated id is too large before its document is copied', { skip: leftToGate }, async (t) => {
  // Together the copies would be larger than a Buffer can be on Node 20.
  const large = { _id: 'u1', name: 'x'.repeat(300_000) }
  const row = { _id: '1', to: Array(20_000).fill('u1') }
  await t.rejects(
    filled(listOf([row]), references, async () => listOf([large])),
    ResponseTooLarge,
  )
})

t.test('Documents that are too large together fail before all are fetched', { skip: leftToGate }, async (t) => {
  const row = { _id: '1', to: Array.from({ length: 20_000 }, (_, n) => `u${n}`) }
  let fetched = 0
  const fetch = async () => {
    fetched += 1
    return listOf([{ _id: `u${fetched}`, name: 'x'.repeat(15_000_000) }])
  }
  await t.rejects(filled(listOf([row]), references, fetch), ResponseTooLarge)
  t.equal(fetched, 5)
})

t.test('Without ids there is no query', async (t) => {
  t.same(objectsOf(await filled(listOf([{ _id: '1' }]), references, read)), [{ _id: '1' }])
  t.same(objectsOf(await filled(new BsonList('projects', []), references, read)), [])
  const list = listOf([{ _id: '1', by: 'u1' }])
  t.equal(await filled(list, [], read), list)
  t.same(queries, [])
})

t.test(
  'Thousands of ids are fetched a thousand at a time, and others have their turn meanwhile',
  { skip: leftToGate },
  async (t) => {
    const ids = Array.from({ length: 2500 }, (_, n) => `a${n}`)
    let turns = 0
    let isOver = false
    const others = (async () => {
      for (; !isOver; turns++) await setImmediate()
    })()
    const told: number[] = []
    const charge = async (more: number) => {
      told.push(more)
    }
    const rows = listOf([{ _id: '1', sent: { cc: ids } }])
    const [found] = objectsOf(await filled(rows, references, read, { charge }))
    isOver = true
    await others
    t.same(found, { _id: '1', sent: { cc: [] } })
    t.same(
      queries.map((each) => (each as unknown[]).length),
      [1000, 1000, 500],
    )
    t.ok(turns >= 4, `${turns} turns`)
    t.equal(told.length, 1)
  },
)

t.test('A caller who has gone ends the work on its references', async (t) => {
  const caller = new AbortController()
  const rows = listOf([{ _id: '1', sent: { cc: Array.from({ length: 2500 }, (_, n) => `a${n}`) } }])
  const working = filled(rows, references, read, { signal: caller.signal })
  caller.abort(new Error('gone'))
  await t.rejects(working, { message: 'gone' })
  t.same(queries, [])
})
