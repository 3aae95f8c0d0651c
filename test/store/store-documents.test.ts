// Stored documents as objects.
import { BSON } from 'mongodb'
import t from 'tap'
import { storedOf } from '../../src/store/store.js'

t.test('a document is read also if its text is not UTF-8, and damaged bytes give the reason', async (t) => {
  const bytes = BSON.serialize({ _id: 'x', name: 'y' })
  t.same(storedOf(bytes), { document: { _id: 'x', name: 'y' } })
  t.match(storedOf(bytes.subarray(1)), { error: /\w/ })
  bytes[bytes.length - 3] = 0xff
  t.same(storedOf(bytes), { document: { _id: 'x', name: '\ufffd' } })
})
