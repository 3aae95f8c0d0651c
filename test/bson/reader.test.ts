// Reading BSON bytes, apart from writing them as JSON.
import { BSON } from 'mongodb'
import t from 'tap'
import { arrayOf, elements } from '../../src/bson/reader.js'

t.test('Documents that are the whole content of an array give that array without a copy', async (t) => {
  for (const count of [1, 2, 12, 120]) {
    const documents = Array.from({ length: count }, (_, n) => ({ n, text: 'x'.repeat(n) }))
    const reply = Buffer.from(BSON.serialize({ before: 1, batch: documents, after: 'more' }))
    const batch = [...elements(reply, 0)].find(({ name }) => name === 'batch')
    const array = reply.subarray(batch?.at, batch?.next)
    const cut = BSON.deserialize(reply, { fieldsAsRaw: { batch: true } }).batch as Buffer[]
    const found = arrayOf(cut)
    t.strictSame(found, array, `${count} documents`)
    t.equal(found.buffer, reply.buffer)
    t.equal(found.byteOffset, array.byteOffset)

    for (const other of [cut.map((bytes) => Buffer.from(bytes)), cut.slice(1), cut.slice(0, -1)]) {
      const values = Object.values(BSON.deserialize(arrayOf(other)))
      t.strictSame(
        values,
        other.map((bytes) => BSON.deserialize(bytes)),
        'as one, whatever lies between them',
      )
    }
  }
})
