// Rows without a sort value, of a server that puts all rows of one kind before those of the other.
import { BSON, ObjectId } from 'mongodb'
import t from 'tap'
import { BsonDocument } from '../../src/bson/reader.js'
import { inOrderOfIds } from '../../src/reading/empty-values.js'

type Row = { _id?: unknown; x?: null }

const missing = (_id: unknown): Row => ({ _id })
const empty = (_id: unknown): Row => ({ _id, x: null })
const stored = (row: Row) => new BsonDocument('things', Buffer.from(BSON.serialize(row)))
const idsOf = (rows: readonly BsonDocument[]) => rows.map(({ bytes }) => BSON.deserialize(bytes)._id)

/** The ids in order, and what was read besides the rows: of which kind, and of which ids. */
const order = async (rows: Row[], direction: 1 | -1, more?: Row[], ids?: object) => {
  const read: unknown[] = []
  const how = { field: 'x', direction, isWhole: more === undefined, ids }
  const found = await inOrderOfIds(rows.map(stored), how, async (value, ids) => {
    read.push([value, ids])
    return (more as Row[]).map(stored)
  })
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
  const [isNull, isMissing] = [{ $type: 'null' }, { $exists: false }]
  for (const [rows, direction, more, ids, read] of [
    [[missing('b'), missing('d')], 1, [empty('a'), empty('c')], ['a', 'b'], [isNull, { $lte: 'd' }]],
    [[empty('c'), empty('b')], -1, [missing('d')], ['d', 'c'], [isMissing, { $gte: 'b' }]],
    [[missing('c'), empty('a')], 1, [empty('a'), empty('b')], ['a', 'b'], [isNull, { $lte: 'c' }]],
    [[empty('a'), missing('b')], 1, [missing('b')], ['a', 'b'], [isMissing, { $lte: 'b' }]],
  ] as const) {
    t.same(await order([...rows], direction, [...more]), { ids, read: [read] })
  }
  const after = { $gt: '@' }
  t.same((await order([missing('a')], 1, [], after)).read, [[isNull, { $gt: '@', $lte: 'a' }]])
})

t.test('ids of other types stand where MongoDB has them, and bound nothing', async (t) => {
  const id = new ObjectId('0'.repeat(24))
  t.same((await order([missing(id), missing('a'), missing(5)], 1)).ids, [5, 'a', id])
  t.same((await order([missing('a'), missing(id)], 1, [])).read, [[{ $type: 'null' }, undefined]])
  t.same((await order([{ x: null }, missing('a')], 1)).ids, ['a', undefined], 'a row without an id')
})
