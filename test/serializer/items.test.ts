// Pages in which a record that does not fit does not fail the others.
import { BSON } from 'mongodb'
import t from 'tap'
import { BsonDocument, MAX_RESPONSE_BYTES, ResponseTooLarge, UnwritableDocument } from '../../src/bson/reader.js'
import { attempt, Skipped, writeEach } from '../../src/serializer/items.js'
import { Output } from '../../src/serializer/output.js'
import { documentOf } from '../support/stored.js'

const failing = (collection: string, id: string) => () => {
  throw new UnwritableDocument(collection, id, 'name', 'is missing')
}

t.test('what is said of a record names it, and an embedded record if that one does not fit', async (t) => {
  const record = documentOf([['_id', 'a']], 'entries')
  t.equal(
    attempt(record, () => {}),
    undefined,
  )
  t.same(attempt(record, failing('entries', 'a')), { id: 'a', message: 'name is missing' })
  t.same(attempt(record, failing('agents', 'a')), { id: 'a', message: 'agents/a: name is missing' })
  t.same(attempt(record, failing('entries', '?')), { id: 'a', message: 'name is missing' })
  t.same(attempt(documentOf([]), failing('things', '?')), { id: '?', message: 'name is missing' })
  const objectId = documentOf([['_id', new BSON.ObjectId('665f1c2ab8d4e0a1c3f20b17')]])
  t.same(attempt(objectId, failing('things', '665f1c2ab8d4e0a1c3f20b17')), {
    id: '665f1c2ab8d4e0a1c3f20b17',
    message: '_id is not a string of valid UTF-8',
  })
  const error = new Error('other')
  t.throws(
    () =>
      attempt(record, () => {
        throw error
      }),
    error,
  )
})

t.test('an item that is left out leaves no trace, wherever it stands', async (t) => {
  for (const [items, expected] of [
    ['', '[]'],
    ['aba', '[a,b,a]'],
    ['xabxxax', '[a,b,a]'],
    ['xx', '[]'],
  ] as const) {
    for (const size of [1, Number.POSITIVE_INFINITY]) {
      const out = new Output()
      const all = [...items].map((name) => ({ name, document: new BsonDocument('things', Buffer.alloc(5)) }))
      const steps = [
        ...writeEach(all, size, out, ({ name }) => {
          out.text(name)
          return name !== 'x'
        }),
      ]
      t.equal(out.take().toString(), expected, items)
      t.equal(steps.length, size === 1 ? items.length : 0)
    }
  }
})

t.test('the records that a response leaves out count for its size', async (t) => {
  const record = { id: 'é', message: '"' }
  const skipped = new Skipped(60)
  skipped.add(record)
  skipped.add(record)
  t.same(skipped.records, [record, record])
  t.throws(() => skipped.add(record), new ResponseTooLarge())
  t.equal(new Skipped().maxSize, MAX_RESPONSE_BYTES)
})
