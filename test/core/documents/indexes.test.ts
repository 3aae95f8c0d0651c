// The indexes of each collection, and which of them serves a list.
import t from 'tap'
import { type CollectionName, collections, recordCollections } from '../../../src/core/documents/collections.js'
import { hasIndex, type IndexNeed, indexesOf, isServed, servingIndex } from '../../../src/core/documents/indexes.js'

const names = Object.keys(collections) as CollectionName[]
const fieldsOf = (indexes: ReturnType<typeof indexesOf>) => indexes.map((index) => index.join())

t.test('A collection has at most 16 indexes, with that of `_id` and the two of tombstones', async (t) => {
  for (const name of names) t.ok(indexesOf(name).length + 3 <= 16, name)
  t.equal(indexesOf('entries').length + 3, 14)
})

t.test('Every index is of an organisation, ends in the order of ids, and is there once', async (t) => {
  for (const name of names) {
    const indexes = fieldsOf(indexesOf(name))
    t.same(indexes, [...new Set(indexes)], name)
    for (const index of indexes) t.match(index, /^organisation,(_id,updatedAt|_id|.*,_id)$/, name)
  }
})

t.test('Records have the orders of lists and of the feed, and no others have them', async (t) => {
  for (const name of recordCollections) {
    for (const field of ['updatedAt', 'createdAt', 'changedAt']) {
      t.ok(hasIndex(indexesOf(name), ['organisation', field, '_id']), `${name} by ${field}`)
    }
  }
  t.same(indexesOf('apiKeys'), [['organisation', '_id']])
  for (const name of ['organisations', 'seeds'] as const) t.same(indexesOf(name), [])
})

t.test('A list is served by an index that has its order, and nothing else in between', async (t) => {
  const none: IndexNeed = { equal: [], ranges: [], sort: '_id' }
  const added = ['organisation', 'form', 'status', 'duration', '_id']
  for (const [changes, serving, served] of [
    [{}, '_id', true],
    [{ ranges: ['_id'] }, '_id', true],
    [{ sort: 'updatedAt' }, 'updatedAt,_id', true],
    [{ sort: 'updatedAt', ranges: ['updatedAt'] }, 'updatedAt,_id', true],
    [{ ranges: ['updatedAt'] }, 'updatedAt,_id', false],
    [{ sort: 'createdAt', ranges: ['updatedAt'] }, 'updatedAt,_id', false],
    [{ sort: 'createdAt', ranges: ['createdAt', '_id'] }, 'createdAt,_id', false],
    [{ equal: ['form'] }, 'form,_id', true],
    [{ equal: ['form'], sort: 'form' }, 'form,_id', true],
    [{ equal: ['form'], sort: 'createdAt' }, 'form,createdAt,_id', false],
    [{ equal: ['form', 'status'] }, 'form,status,_id', false],
    [{ equal: ['form'], ranges: ['updatedAt'] }, 'form,updatedAt,_id', false],
    [{ sort: 'duration' }, 'duration,_id', false],
    [{ equal: ['status', 'form'], sort: 'duration' }, 'status,form,duration,_id', [added]],
    [{ equal: ['status', 'form'] }, 'status,form,_id', false],
    [{ equal: ['form'], sort: 'status' }, 'form,status,_id', false],
  ] as const) {
    const selection = { ...none, ...changes }
    t.equal(servingIndex(selection).join(), `organisation,${serving}`, JSON.stringify(changes))
    const isAdded = typeof served !== 'boolean'
    t.equal(isServed(selection, indexesOf('entries')), isAdded ? false : served, JSON.stringify(changes))
    t.equal(isServed(selection, [...indexesOf('entries'), added]), isAdded || served, JSON.stringify(changes))
  }
})

t.test('An index of another order serves no list', async (t) => {
  const selection = { equal: ['form'], ranges: [], sort: '_id' }
  t.notOk(isServed(selection, [['deletedFrom', 'form', '_id']]))
  t.notOk(isServed(selection, [['organisation', 'form', 'updatedAt', '_id']]))
})
