// Stored documents as objects.
import { BSON } from 'mongodb'
import t from 'tap'
import { storedOf } from '../../../src/core/store/store.js'

t.test('a document is read also if its text is not UTF-8, and damaged bytes give the reason', async (t) => {
  const bytes = BSON.serialize({ _id: 'x', name: 'y' })
  t.same(storedOf(bytes), { document: { _id: 'x', name: 'y' } })
  t.match(storedOf(bytes.subarray(1)), { error: /\w/ })
  bytes[bytes.length - 3] = 0xff
  t.strictSame(storedOf(bytes), { document: { _id: 'x', name: '\ufffd' } })
  bytes[bytes.indexOf(0x78)] = 0x80
  t.strictSame(storedOf(bytes), { document: { _id: '\ufffd', name: '\ufffd' }, isIdBroken: true })
  const binary = BSON.serialize({ _id: Buffer.of(0x80) })
  t.notOk('isIdBroken' in storedOf(binary), 'an id that is no string is another fault')
})
