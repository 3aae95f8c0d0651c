// Rows without a sort value, of a server that puts all rows of one kind before those of the other.
import { BSON, ObjectId } from 'mongodb'
import t, { type Test } from 'tap'
import { BsonList } from '../../../src/core/bson/reader.js'
import { entries } from '../../../src/core/pipelines/entries.js'
import { Query, type Stage } from '../../../src/core/pipelines/stages.js'
import { inOrderOfIds } from '../../../src/core/store/empty-values.js'
import { mongoStore } from '../../../src/core/store/mongo.js'
import { listQuery } from '../../support/queries.js'
import { mongoSettings } from '../../support/store.js'
import { A, a } from '../../support/tenants.js'
import { WireServer } from '../../support/wire-server.js'

type Row = { _id?: unknown; x?: unknown }

const missing = (_id: unknown): Row => ({ _id })
const empty = (_id: unknown): Row => ({ _id, x: null })
const valued = (_id: unknown): Row => ({ _id, x: 5 })
const listOf = (rows: readonly Row[]) =>
  new BsonList(
    'entries',
    rows.map((row) => Buffer.from(BSON.serialize(row))),
  )

/** A page of two fields' order, and a stage behind it. */
const stagesOf = (direction: 1 | -1, limit: number): Stage[] => [
  { $sort: { x: direction, _id: direction } },
  { $limit: limit },
  { $project: { x: 1 } },
]
const queryOf = (stages: Stage[]) => Query.in({ organisation: A }, 'entries', [{ x: null }], stages)

/** The ids of a page in order, and what was read besides it: of which kind, and how many. */
const order = async (rows: Row[], direction: 1 | -1, more?: Row[], stages?: Stage[]) => {
  const read: unknown[] = []
  const query = queryOf(stages ?? stagesOf(direction, rows.length + Number(more === undefined)))
  const list = await inOrderOfIds(
    query,
    async ({ match, stages }) => {
      if (match === query.match) return listOf(rows)
      const [found, kind] = match.$and as [unknown, { x: unknown }]
      read.push([kind.x, stages[1]?.$limit])
      t.equal(found, query.match, 'it is within the page’s conditions')
      t.same([stages[0], ...stages.slice(2)], [query.stages[0], ...query.stages.slice(2)])
      return listOf(more as Row[])
    },
    async () => true,
  )
  return { ids: list.documents.map(({ bytes }) => BSON.deserialize(bytes)._id), read }
}

t.test('all rows are put in the order of the bytes of their ids, and nothing more is read', async (t) => {
  const rows = [missing('b'), missing('\uffee'), missing('\u{1f30d}'), empty('a'), empty('ab')]
  const ids = ['a', 'ab', 'b', '\uffee', '\u{1f30d}']
  t.same(await order([...rows, valued('0')], 1), { ids: [...ids, '0'], read: [] })
  t.same(await order([valued('z'), ...rows], -1), { ids: ['z', ...ids.toReversed()], read: [] })
  t.same(await order([], 1), { ids: [], read: [] })
})

t.test('if there are more rows, the first ones of the kind that comes last are read', async (t) => {
  const [isNull, isMissing] = [{ $type: 'null' }, { $exists: false }]
  for (const [rows, direction, more, ids, read] of [
    [[missing('b'), missing('d')], 1, [empty('a'), empty('c')], ['a', 'b'], [isNull, 2]],
    [[empty('c'), empty('b')], -1, [missing('d')], ['d', 'c'], [isMissing, 2]],
    [[missing('c'), empty('a')], 1, [empty('a'), empty('b')], ['a', 'b'], [isNull, 2]],
    [[empty('a'), missing('b')], 1, [missing('b')], ['a', 'b'], [isMissing, 2]],
    [[valued('z'), missing('b')], -1, [empty('c')], ['z', 'c'], [isNull, 1]],
  ] as const) {
    t.same(await order([...rows], direction, [...more]), { ids, read: [read] })
  }
})

t.test('ids of other types stand where MongoDB has them', async (t) => {
  const id = new ObjectId('0'.repeat(24))
  t.same((await order([missing(id), missing('a'), missing(5)], 1)).ids, [5, 'a', id])
  t.same((await order([{ x: null }, missing('a')], 1)).ids, ['a', undefined], 'a row without an id')
})

t.test(
  'rows stay as the server gives them where none lacks a value, behind skipped ones, and without a limit',
  async (t) => {
    const rows = [missing('b'), missing('a')]
    const sort: Stage = { $sort: { x: 1, _id: 1 } }
    for (const stages of [
      [sort, { $skip: 1 }, { $limit: 2 }],
      [sort],
      [{ $sort: { _id: 1 } }, { $limit: 2 }],
    ] as Stage[][]) {
      t.same(await order(rows, 1, [], stages), { ids: ['b', 'a'], read: [] })
    }
    t.same(await order([valued('b'), valued('a')], 1, []), { ids: ['b', 'a'], read: [] })
  },
)

const pageOn = async (t: Test, isMongo: boolean) => {
  const server = await WireServer.for(t)
  server.isMongo = isMongo
  const store = mongoStore(mongoSettings(server.uri))
  t.teardown(() => store.close())
  const { duration: _, ...short } = a.entry(0)
  const records = ['a', 'b', 'c', 'd'].map((_id) => ({ ...short, _id }))
  await server.store.insert('entries', records)
  const listing = { sortBy: 'duration', sortOrder: 'asc', page: 1, perPage: 2 } as const
  for (let n = 0; n < 2; n++) {
    const { documents } = await store.aggregate(listQuery(entries, { organisation: A }, listing))
    t.same(
      documents.map(({ bytes }) => BSON.deserialize(bytes)._id),
      ['a', 'b'],
    )
  }
  return server.commands.map((command) => Object.keys(command)[0])
}

t.test('a server is asked once whether it is MongoDB, and MongoDB is asked for no further rows', async (t) => {
  t.same(await pageOn(t, true), ['aggregate', 'buildInfo', 'aggregate'])
  const two = ['aggregate', 'aggregate']
  t.same(await pageOn(t, false), ['aggregate', 'buildInfo', 'aggregate', ...two])
})
