// Reading BSON bytes, apart from writing them as JSON.
import { BSON } from 'mongodb'
import t from 'tap'
import { arrayOf, BsonList, elements } from '../../src/bson/reader.js'

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

t.test('A list gives its documents, and can end with one of them without a copy', async (t) => {
  const batch = (documents: readonly object[]) => Buffer.from(BSON.serialize(Object.fromEntries(documents.entries())))
  const numbered = Array.from({ length: 14 }, (_, n) => ({ n }))
  const parts = [numbered.slice(0, 11), [], numbered.slice(11, 12), numbered.slice(12)]
  for (const [i, last] of numbered.entries()) {
    const list = new BsonList('things', parts.map(batch))
    t.strictSame(
      list.documents.map((bytes) => BSON.deserialize(bytes)),
      numbered,
    )
    const ended = list.upTo(list.documents[i] as Buffer)
    t.strictSame(
      ended.documents.map((bytes) => BSON.deserialize(bytes)),
      numbered.slice(0, i + 1),
      `up to ${last.n}`,
    )
    const values = ended.batches.flatMap((bytes) => Object.values(BSON.deserialize(bytes)))
    t.strictSame(values, numbered.slice(0, i + 1), 'each batch is a whole array')
    for (const [j, { buffer }] of ended.batches.entries()) t.equal(buffer, list.batches[j]?.buffer)
  }
})

t.test('A list whose bytes are not documents is an error that names its collection', async (t) => {
  const list = new BsonList('things', [Buffer.from(BSON.serialize({ 0: 1 }))])
  t.throws(() => list.documents, { name: 'UnwritableDocument', collection: 'things' })
})
