// What is said of records that do not fit their schema.
import { BSON } from 'mongodb'
import t from 'tap'
import { ResponseTooLarge, UnreadableDocument } from '../../../src/core/write/errors.js'
import { describe, Skipped } from '../../../src/core/write/unreadable.js'
import { documentOf, plain, stored } from '../../support/stored.js'

const failing = (collection: string, id: string) => new UnreadableDocument(collection, id, 'name', 'is missing')
const described = (fields: object, error: UnreadableDocument) => describe(documentOf(plain(fields), 'entries'), error)

t.test('what is said of a record names it, and an embedded record if that one does not fit', async (t) => {
  const objectId = new BSON.ObjectId('665f1c2ab8d4e0a1c3f20b17')
  for (const [_id, error, id, message] of [
    ['a', failing('entries', 'a'), 'a', 'name is missing'],
    ['a', failing('agents', 'a'), 'a', 'agents/a: name is missing'],
    ['a', failing('entries', 'b'), 'a', 'entries/b: name is missing'],
    ['a', failing('entries', '?'), 'a', 'name is missing'],
    [objectId, failing('entries', String(objectId)), String(objectId), 'name is missing'],
    [7, failing('entries', '?'), '?', 'name is missing'],
    [stored.string([0xff]), failing('entries', '\ufffd'), '\ufffd', 'name is missing'],
  ] as const) {
    t.strictSame(described({ _id }, error), { id, message })
  }
  t.strictSame(described({}, failing('entries', '?')), { id: '?', message: 'name is missing' })
})

t.test('the records that a response leaves out count for its size', async (t) => {
  const record = documentOf(plain({ _id: 'é' }))
  const { length } = JSON.stringify({ id: 'é', message: 'name is missing' })
  const skipped = new Skipped(2 * length)
  const add = () => skipped.add(record, failing('things', 'é'), undefined as never)
  add()
  add()
  t.throws(add, new ResponseTooLarge())
  t.equal(skipped.records.length, 2)
})
