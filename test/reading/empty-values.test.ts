// Rows without a sort value, of a server that puts all rows of one kind before those of the other.
import { BSON, ObjectId } from 'mongodb'
import t from 'tap'
import { BsonDocument } from '../../src/bson/reader.js'
import { inOrderOfIds, type RowsWithoutValue } from '../../src/reading/empty-values.js'

type Row = { _id?: unknown; x?: null }

const missing = (_id: unknown): Row => ({ _id })
const empty = (_id: unknown): Row => ({ _id, x: null })
const stored = (row: Row) => new BsonDocument('things', Buffer.from(BSON.serialize(row)))
const idsOf = (rows: readonly BsonDocument[]) => rows.map(({ bytes }) => BSON.deserialize(bytes)._id)

/** The ids in order, and what was read besides the rows. */
const order = async (rows: Row[], direction: 1 | -1, more?: Row[]) => {
  const read: RowsWithoutValue[] = []
  const found = await inOrderOfIds(
    rows.map(stored),
    { field: 'x', direction, isWhole: more === undefined },
    async (kind) => {
      read.push(kind)
      return (more as Row[]).map(stored)
    },
  )
  return { ids: idsOf(found), read }
}

t.test('all rows are put in the order of the bytes of their ids, and nothing more is read', async (t) => {
  const rows = [missing('b'), missing('\uffee'), missing('\u{1f30d}'), empty('a'), empty('ab')]
  const ids = ['a', 'ab', 'b', '\uffee', '\u{1f30d}']
  t.same(await order(rows, 1), { ids, read: [] })
  t.same(await order(rows, -1), { ids: ids.toReversed(), read: [] })
  t.same(await order([], 1), { ids: [], read: [] })
})

t.test('if there are more rows, those of the kind that comes last are read up to the last id', async (t) => {
  const isNull: RowsWithoutValue['value'] = { $type: 'null' }
  const isMissing: RowsWithoutValue['value'] = { $exists: false }
  t.same(await order([missing('b'), missing('d')], 1, [empty('a'), empty('c')]), {
    ids: ['a', 'b'],
    read: [{ value: isNull, lastId: 'd' }],
  })
  t.same(await order([empty('c'), empty('b')], -1, [missing('d')]), {
    ids: ['d', 'c'],
    read: [{ value: isMissing, lastId: 'b' }],
  })
  t.same(await order([missing('c'), empty('a')], 1, [empty('a'), empty('b')]), {
    ids: ['a', 'b'],
    read: [{ value: isNull, lastId: 'c' }],
  })
  t.same(await order([empty('a'), missing('b')], 1, [missing('b')]), {
    ids: ['a', 'b'],
    read: [{ value: isMissing, lastId: 'b' }],
  })
})

t.test('ids of other types stand where MongoDB has them, and bound nothing', async (t) => {
  const id = new ObjectId('0'.repeat(24))
  t.same((await order([missing(id), missing('a'), missing(5)], 1)).ids, [5, 'a', id])
  t.same((await order([missing('a'), missing(id)], 1, [])).read, [{ value: { $type: 'null' }, lastId: undefined }])
  t.same((await order([{ x: null }, missing('a')], 1)).ids, ['a', undefined], 'a row without an id')
})
