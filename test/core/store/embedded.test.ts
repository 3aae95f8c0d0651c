// The embedded store: what it stores, what it finds, in which order, and what it refuses. test/core/store/store.test.ts compares
// its results with MongoDB's.
import { BSON } from 'mongodb'
import t from 'tap'
import type { CollectionName } from '../../../src/core/documents/collections.js'
import { dispatches } from '../../../src/core/pipelines/dispatches.js'
import { resources } from '../../../src/core/pipelines/index.js'
import { type Condition, Query, type Stage } from '../../../src/core/pipelines/stages.js'
import { embeddedStore } from '../../../src/core/store/embedded.js'
import type { Store } from '../../../src/core/store/store.js'
import { objectsOf } from '../../support/bson.js'
import { listQuery, recordQuery } from '../../support/queries.js'
import { A, a, B, b, fillTenants } from '../../support/tenants.js'

type Document = Record<string, unknown>

const filled = async (): Promise<Store> => {
  const store = embeddedStore()
  await fillTenants(store)
  return store
}

const query = (collection: CollectionName, conditions: Condition[], ...stages: Stage[]) =>
  Query.in({ organisation: A }, collection, conditions, stages)

const find = async (store: Store, ...search: Parameters<typeof query>): Promise<Document[]> =>
  objectsOf(await store.aggregate(query(...search)))

const idsOf = (found: Document[]) => found.map(({ _id }) => _id)

const byId: Stage = { $sort: { _id: 1 } }
const page = { sortBy: 'id', sortOrder: 'asc', page: 1, perPage: 50 } as const

t.test('It needs no connection, and has its indexes without being told', async (t) => {
  const store = embeddedStore()
  t.equal(store.description, 'embedded store')
  await store.ensureIndexes()
  t.same(await store.indexes('users'), [])
  await t.resolves(store.ping())
  await t.resolves(store.close())
})

t.test('An insert of an id that exists already fails and changes nothing', async (t) => {
  const store = await filled()
  const fresh = { ...a.user, _id: 'user-new' }
  await t.rejects(store.insert('users', [fresh, { ...a.user, firstName: 'Other' }]), /user-a exists already/)
  await t.rejects(store.insert('users', [fresh, fresh]), /user-new exists already/)
  t.match(await store.dangerouslyFind('users', a.user._id), a.user)
  t.equal(await store.dangerouslyFind('users', 'user-new'), undefined)
  for await (const read of store.dangerouslyReadAll('users')) t.equal(read.length, 2, 'those of both organisations')
})

t.test('Later changes of an inserted object do not change the stored document', async (t) => {
  const store = embeddedStore()
  const dispatch = a.dispatch(1, { createdAt: new Date(0) })
  await store.insert('dispatches', [dispatch])
  dispatch.recipients.agents.length = 0
  dispatch.createdAt.setFullYear(1999)
  t.same(idsOf(await find(store, 'dispatches', [{ 'recipients.agents': a.agent(1)._id }])), ['dispatch1-a'])
  const found = await store.dangerouslyFind('dispatches', 'dispatch1-a')
  t.same(found?.createdAt, new Date(0))
})

t.test('A query cannot change stored documents', async (t) => {
  const store = await filled()
  const queries = [
    recordQuery(dispatches as never, { organisation: A }, 'dispatch1-a'),
    listQuery(resources.projects, { organisation: A }, page),
    query('dispatches', [], { $set: { 'recipients.agents': [], name: { $literal: 'Changed' }, form: '$nothing' } }),
  ]
  const stored = await Promise.all([
    store.dangerouslyFind('dispatches', 'dispatch1-a'),
    store.dangerouslyFind('projects', 'project1-a'),
    store.dangerouslyFind('users', 'user-a'),
  ])
  for (const each of queries) {
    const before = objectsOf(await store.aggregate(each))
    t.same(objectsOf(await store.aggregate(each)), before)
  }
  const found = await store.dangerouslyFind('dispatches', 'dispatch1-a')
  found?.recipients.agents.push('nobody')
  t.same(
    await Promise.all([
      store.dangerouslyFind('dispatches', 'dispatch1-a'),
      store.dangerouslyFind('projects', 'project1-a'),
      store.dangerouslyFind('users', 'user-a'),
    ]),
    stored,
  )
})

t.test('The next query sees an update: by id, by condition, in its order and in joins', async (t) => {
  const store = await filled()
  const entries = query('entries', [{ status: 'rejected' }], { $sort: { createdAt: 1, _id: 1 } })
  t.same(idsOf(objectsOf(await store.aggregate(entries))), ['entry2-a'])
  t.equal(await store.update('entries', 'entry1-a', { status: 'rejected', createdAt: new Date() }), true)
  t.same(idsOf(objectsOf(await store.aggregate(entries))), ['entry2-a', 'entry1-a'])
  t.equal(await store.count(entries), 2)

  await store.update('users', a.user._id, { firstName: 'Zainab' })
  t.match(await store.dangerouslyFind('users', a.user._id), { ...a.user, firstName: 'Zainab' })
  const join = { $lookup: { from: 'users', localField: 'createdBy', foreignField: '_id', as: 'creators' } } as const
  t.match((await find(store, 'projects', [], join))[0], { creators: [{ firstName: 'Zainab' }] })

  const condition = { firstName: 'Zainab', missing: null }
  t.equal(await store.update('users', a.user._id, { firstName: 'Ada' }, condition), true)
  t.equal(await store.update('users', a.user._id, { firstName: 'Zainab' }, condition), false)
  t.match(await store.dangerouslyFind('users', a.user._id), { firstName: 'Ada' })
  t.equal(await store.update('users', 'nobody', { firstName: 'Zainab' }), false)
  t.equal(await store.dangerouslyFind('users', 'nobody'), undefined)
})

t.test('No condition finds documents of another organisation', async (t) => {
  const store = await filled()
  t.same(await find(store, 'entries', [{ organisation: B }]), [])
  t.same(await find(store, 'entries', [{ _id: b.entry(1)._id }]), [])
  t.same(await find(store, 'entries', [{ $or: [{ organisation: B }, { _id: b.entry(1)._id }] }]), [])
})

t.test('Conditions match as they do in MongoDB', async (t) => {
  const store = embeddedStore()
  const values: Document = {
    a: { duration: 5, agent: 'Zebra' },
    b: { duration: 10, agent: '\uff5e' },
    c: { duration: '7', agent: '🙏' },
    d: { duration: null, agent: null },
    e: { createdAt: new Date(0) },
  }
  const bare = { organisation: A, status: 'accepted', answers: [], createdAt: new Date(1), updatedAt: new Date(1) }
  const stored = Object.entries(values).map(([_id, value]) => ({ _id, ...bare, ...(value as Document) }))
  await store.insert('entries', stored as never)

  const cases: [Condition, string][] = [
    [{}, 'abcde'],
    [{ duration: 5 }, 'a'],
    [{ duration: '7' }, 'c'],
    [{ duration: null }, 'de'],
    [{ duration: { $gt: 5 } }, 'b'],
    [{ duration: { $gte: 5 } }, 'ab'],
    [{ duration: { $lt: 10 } }, 'a'],
    [{ duration: { $lte: 10, $gt: 5 } }, 'b'],
    [{ duration: { $gt: '' } }, 'c'],
    [{ duration: { $exists: false } }, 'e'],
    [{ duration: { $not: { $gt: 5 } } }, 'acde'],
    [{ createdAt: { $lt: new Date(1) } }, 'e'],
    [{ createdAt: new Date(0) }, 'e'],
    [{ agent: 'Zebra' }, 'a'],
    [{ agent: { $gt: '\uff5e' } }, 'c'],
    [{ agent: { $lt: '🙏' } }, 'ab'],
    [{ _id: { $gt: 'b', $lte: 'd' } }, 'cd'],
    [{ _id: { $in: ['e', 'a', 'z'] } }, 'ae'],
    [{ $or: [{ duration: 5 }, { agent: '🙏' }] }, 'ac'],
    [{ status: 'accepted', agent: '🙏', duration: '7' }, 'c'],
    [{ status: 'accepted', agent: '🙏', duration: 5 }, ''],
  ]
  for (const [condition, expected] of cases) {
    const found = await find(store, 'entries', [condition], byId)
    t.equal(idsOf(found).join(''), expected, BSON.EJSON.stringify(condition))
    t.equal(await store.count(query('entries', [condition])), expected.length)
  }
})

t.test('Documents are sorted as in MongoDB, in both directions', async (t) => {
  const store = embeddedStore()
  const names = ['', '10', '9', 'Zebra', 'zebra', 'Ärzte', '\uff5e', '𐐀', '🙏']
  const shuffled = names.map((_, i) => names[(i * 5 + 2) % names.length] as string)
  await store.insert(
    'projects',
    shuffled.map((name) => ({ ...a.project(0), _id: name, name })),
  )
  for (const field of ['name', '_id']) {
    for (const direction of [1, -1] as const) {
      const sort = { $sort: { [field]: direction, _id: direction } }
      t.same(idsOf(await find(store, 'projects', [], sort)), direction === 1 ? names : names.toReversed())
    }
  }
})

t.test('A list is in the order of its sort and then of its ids, and a page is a part of it', async (t) => {
  const store = await filled()
  const all = ['entry1-a', 'entry2-a', 'entry3-a', 'entry9-a']
  for (const [stages, expected] of [
    [[], all],
    [[{ $sort: { updatedAt: 1, _id: 1 } }], ['entry1-a', 'entry3-a', 'entry9-a', 'entry2-a']],
    [[{ $sort: { updatedAt: -1, _id: -1 } }], ['entry2-a', 'entry9-a', 'entry3-a', 'entry1-a']],
    [[byId, { $skip: 1 }, { $limit: 2 }], all.slice(1, 3)],
    [[byId, { $skip: 3 }], all.slice(3)],
    [[byId, { $limit: 1 }], all.slice(0, 1)],
    [[byId, { $skip: Number.MAX_SAFE_INTEGER }, { $limit: 1000 }], []],
  ] as [Stage[], string[]][]) {
    t.same(idsOf(await find(store, 'entries', [], ...stages)), expected, JSON.stringify(stages))
  }
})

t.test('$sortArray sorts strings by their UTF-8 bytes', async (t) => {
  const store = await filled()
  const items = ['🙏', 'b', '\uff5e', ''].map((key) => ({ key }))
  const stage = { $set: { sorted: { $sortArray: { input: { $literal: items }, sortBy: { key: 1 } } } } }
  const sorted = (await find(store, 'dispatches', [], stage))[0]?.sorted as typeof items
  t.same(
    sorted.map(({ key }) => key),
    ['', 'b', '\uff5e', '🙏'],
  )
})

t.test('$type looks at a value and, if that is an array, at its items', async (t) => {
  const store = embeddedStore()
  const values = { text: 'one', id: new BSON.ObjectId(), texts: ['one'], ids: [new BSON.ObjectId()], numbers: [1] }
  for (const [id, status] of Object.entries(values))
    await store.insert('users', [{ ...a.user, _id: id, status } as never])
  for (const [type, expected] of [
    ['string', ['text', 'texts']],
    ['objectId', ['id', 'ids']],
    ['array', ['ids', 'numbers', 'texts']],
  ] as const) {
    t.same(idsOf(await find(store, 'users', [{ status: { $type: type } }], byId)), expected, type)
  }
})
