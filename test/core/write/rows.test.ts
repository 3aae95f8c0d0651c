// Rows one behind the other, where some records do not fit and some have no row.
import t from 'tap'
import { BsonDocument } from '../../../src/core/bson/reader.js'
import { MAX_RESPONSE_BYTES, ResponseTooLarge, UnreadableDocument } from '../../../src/core/write/errors.js'
import { Output } from '../../../src/core/write/output.js'
import { fail, type RowFormat, rowsWriter, writeAll } from '../../../src/core/write/rows.js'
import { idOf } from '../../../src/core/write/unreadable.js'
import { fileOf } from '../../support/formats.js'
import { type Elements, listOf, plain, stored } from '../../support/stored.js'
import { leftToGate } from '../../support/thorough.js'

/** Writes the ids. A document `bad` fails after a part of it, and one `none` has no row. */
const format: RowFormat = {
  ...{ begin: '<', between: ', ', end: '>' },
  write({ bytes }, out) {
    const id = idOf(bytes)
    if (id === 'none') return
    out.text(id)
    if (id === 'bad') throw new UnreadableDocument('things', id, 'name', 'is missing')
  },
}

const listWith = (ids: string, more: Elements = []) =>
  listOf(ids.split(' ').flatMap((_id) => (_id === '' ? [] : [[...plain({ _id }), ...more]])))

t.test('what stands between rows stands only there, and a row that fails leaves nothing behind', async (t) => {
  for (const [ids, text] of [
    ['', '<>'],
    ['a b', '<a, b>'],
    ['bad a none bad b bad', '<a, b>'],
    ['bad none', '<>'],
  ] as const) {
    const found = fileOf(format, listWith(ids))
    t.equal(found.text, text)
    t.equal(found.failures.length, ids.split('bad').length - 1)
  }
})

t.test('a row may stand for a record that does not fit', async (t) => {
  const out = new Output()
  for (const _ of writeAll(listWith('bad a bad').documents, format, out, (_, { field }, out) => out.text(field)));
  t.equal(out.take().toString(), '<name, a, name>')
})

t.test('parts that are written one by one make the same rows, and stop at their size', async (t) => {
  const write = rowsWriter(format, () => {})
  const records = listWith('aaa bad bbb none ccc ddd bad').documents.values()
  const parts: unknown[] = []
  for (let isOver = false; !isOver; ) {
    const out = new Output()
    isOver = !write(records, out, 4)
    parts.push(out.take().toString())
  }
  t.strictSame(parts, ['aaa, bbb', ', ccc', ', ddd', ''])
})

t.test('other work gets its turn after 64 KiB of records', async (t) => {
  const more = plain({ name: 'x'.repeat(16 * 1024) })
  t.equal(fileOf(format, listWith('a b c', more)).turns, 0)
  t.equal(fileOf(format, listWith('a b c d e f g h i', more)).turns, 2)
})

t.test('only copies require an id that is a text', async (t) => {
  const documents = [7, stored.string([0xff]), 'a'].map((_id) => listOf([[['_id', _id]]]).documents[0] as BsonDocument)
  const { text, failures } = fileOf(format, { documents })
  t.equal(text, '<a>')
  t.strictSame(
    failures.map(({ field, message }) => [field, message]),
    Array(2).fill(['_id', 'things ?: _id is not a string of valid UTF-8']),
  )
  const out = new Output()
  for (const _ of writeAll(documents, format, out));
  t.equal(out.take().toString(), '<?, \ufffd, a>')
  const damaged = fileOf(format, { documents: [new BsonDocument('things', Buffer.alloc(9, 1))] })
  t.match(damaged.failures, [{ id: '?', field: '', message: /cannot be read/ }])
})

t.test(
  'a record that is too large is left out, unless records before it have taken the room',
  { skip: leftToGate },
  async (t) => {
    const half = 'x'.repeat(MAX_RESPONSE_BYTES / 2)
    const large: RowFormat = {
      ...format,
      write({ bytes }, out) {
        for (const _ of idOf(bytes)) out.text(half)
      },
    }
    const { text, failures } = fileOf(large, listWith('xxx'), new Output())
    t.equal(text, '<>')
    t.match(failures, [
      { id: 'xxx', field: '', message: `things xxx: the document becomes more than ${MAX_RESPONSE_BYTES / 2} bytes` },
    ])
    t.throws(() => fileOf(large, listWith('x xx'), new Output()), new ResponseTooLarge())
    t.throws(() => [...writeAll(listWith('xxx').documents, large, new Output())], new ResponseTooLarge())
  },
)

t.test('an error ends the work if nothing is to be left out, and any other error always does', async (t) => {
  const error = new Error('other')
  const broken: RowFormat = {
    ...format,
    write() {
      throw error
    },
  }
  const run = (format: RowFormat, onFailure?: typeof fail) => () =>
    writeAll(listWith('bad').documents, format, new Output(), onFailure).next()
  t.throws(run(format), { name: 'UnreadableDocument', id: 'bad' })
  t.throws(run(format, fail), { name: 'UnreadableDocument', id: 'bad' })
  t.throws(run(broken), error)
  t.throws(
    run(broken, () => {}),
    error,
  )
})
