// Reading BSON bytes, apart from writing them as JSON.
import { BSON } from 'mongodb'
import t from 'tap'
import { BsonDocument, BsonList, bsonDocument, elements } from '../../../src/core/bson/reader.js'

const stored = { text: 'ọ', list: [1, { a: null }], at: new Date(0), code: new BSON.Code('f()', { a: 1 }) }
const bytes = Buffer.from(BSON.serialize(stored))

t.test('the elements of a document have their names, and their bytes make the same document', async (t) => {
  const found = [...elements(bytes, 0)]
  t.same(
    found.map(({ name }) => name),
    Object.keys(stored),
  )
  const starts = [4, ...found.map(({ next }) => next)]
  t.same(bsonDocument(found.map(({ next }, i) => bytes.subarray(starts[i], next))), bytes)
  t.same(bsonDocument([]), BSON.serialize({}))
})

t.test('a list has documents of its collection, and their size', async (t) => {
  const list = new BsonList('things', [bytes, bsonDocument([])])
  t.same(list.documents, [new BsonDocument('things', bytes), new BsonDocument('things', bsonDocument([]))])
  t.equal(list.size, bytes.length + 5)
})
