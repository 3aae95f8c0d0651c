// Rows one behind the other, where some documents do not fit and some have no rows.
import t from 'tap'
import { type BsonDocument, UnwritableDocument } from '../../src/bson/reader.js'
import { fieldOf, stringOf } from '../../src/bson/values.js'
import { Output } from '../../src/serializer/output.js'
import { type RowFormat, writeRows } from '../../src/serializer/rows.js'
import { type Elements, listOf, plain } from '../support/stored.js'

const idOf = ({ bytes }: BsonDocument) => String(stringOf(bytes, fieldOf(bytes, 0, '_id')))

/** Writes the ids. A document `bad` fails after a part of it, and one `none` has no row. */
const format: RowFormat = {
  ...{ begin: '', between: ', ', end: '' },
  write(document, out) {
    const id = idOf(document)
    out.text(id === 'none' ? '' : id)
    if (id === 'bad') throw new UnwritableDocument('things', id, 'name', 'is missing')
  },
}

const write = (ids: readonly string[], isFirst: boolean, others: Elements = []) => {
  const out = new Output()
  const failed: string[] = []
  const rows = writeRows(
    listOf([ids.map((_id) => [...plain({ _id }), ...others])]),
    format,
    out,
    isFirst,
    (document, error) => failed.push(`${idOf(document)}: ${error.field}`),
  )
  for (let steps = 0; ; steps++) {
    const { done, value } = rows.next()
    if (done) return { text: out.take().toString(), isStillFirst: value, failed, steps }
  }
}

t.test('what stands between rows stands only there', async (t) => {
  for (const [ids, behind, isStillFirst] of [
    ['a b', 'a, b', false],
    ['bad a none bad b bad', 'a, b', false],
    ['bad none', '', true],
    ['', '', true],
  ] as const) {
    const all = ids === '' ? [] : ids.split(' ')
    const failed = all.filter((id) => id === 'bad').map(() => 'bad: name')
    t.match(write(all, true), { text: behind, isStillFirst, failed })
    t.match(write(all, false), { text: behind === '' ? '' : `, ${behind}`, isStillFirst: false, failed })
  }
})

t.test('other work gets its turn after 64 KiB', async (t) => {
  const others = plain({ name: 'x'.repeat(16 * 1024) })
  t.equal(write(['a', 'b', 'c'], true, others).steps, 0)
  t.equal(write(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'], true, others).steps, 2)
})

t.test('any other error ends it', async (t) => {
  const error = new Error('other')
  const broken: RowFormat = {
    ...format,
    write() {
      throw error
    },
  }
  const rows = writeRows(listOf([[plain({ _id: 'a' })]]), broken, new Output(), true, () => {})
  t.throws(() => rows.next(), error)
})
