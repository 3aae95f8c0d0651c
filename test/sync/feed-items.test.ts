// Feed items as JSON: records, deletions, and what stands for a record that does not fit.
import { Type } from '@sinclair/typebox'
import { BSON } from 'mongodb'
import t from 'tap'
import { Output } from '../../src/core/write/output.js'
import { writeAll } from '../../src/core/write/rows.js'
import { Skipped } from '../../src/core/write/unreadable.js'
import { compileDocuments } from '../../src/core/write/writer.js'
import { FeedItem, feedItems, writeUnreadable } from '../../src/sync/feed-items.js'
import { documentOf, plain, stored } from '../support/stored.js'

const Author = Type.Object({ id: Type.String(), name: Type.String() })
const Thing = Type.Object({ id: Type.String(), size: Type.Number(), createdBy: Type.Optional(Author) })
const format = feedItems(compileDocuments({ schema: Thing, named: new Map() }))

const stamp = Date.UTC(2025, 2, 14, 9, 26, 53, 589)
const shown = '2025-03-14T09:26:53.589Z'

const record = (fields: object, at?: number, collection = 'things') =>
  new FeedItem(collection, documentOf(plain(fields)).bytes, false, at)
const deletion = (fields: object, at?: number) =>
  new FeedItem('things', documentOf(plain({ deletedAt: new Date(stamp), deleted: true, ...fields })).bytes, true, at)

/** The items as JSON. */
const written = (items: readonly FeedItem[], onFailure = writeUnreadable) => {
  const out = new Output()
  for (const _ of writeAll(items, format, out, onFailure));
  return JSON.parse(out.take().toString())
}

t.test('an item shows its fields, and its stamp as changedAt, whatever is stored under that name', async (t) => {
  for (const [item, wanted] of [
    [record({ _id: 'a', size: 1 }), { id: 'a', size: 1 }],
    [record({ _id: 'a', size: 1 }, -1), { id: 'a', size: 1, changedAt: '1969-12-31T23:59:59.999Z' }],
    [record({ _id: 'a', size: 1, changedAt: new Date(0) }, stamp), { id: 'a', size: 1, changedAt: shown }],
    [record({ _id: 'a', size: 1, changedAt: 'yesterday' }), { id: 'a', size: 1 }],
    // Before the year 1, which RFC 3339 cannot express.
    [record({ _id: 'a', size: 1 }, -1e14), { id: 'a', size: 1 }],
    [deletion({ _id: 'b', size: 1 }), { id: 'b', deleted: true, deletedAt: shown }],
    [deletion({ _id: 'b', changedAt: 7 }, stamp), { id: 'b', deleted: true, deletedAt: shown, changedAt: shown }],
    [record({ _id: 'c' }, stamp), { id: 'c', unreadable: true, message: 'size is missing', changedAt: shown }],
  ] as const) {
    t.strictSame(written([item]), [wanted])
  }
})

t.test('a record that does not fit is named with its error, between the others', async (t) => {
  const fitting = record({ _id: 'a', size: 1 })
  const createdBy = stored.document(plain({ _id: 'u', name: 5 }))
  const broken = record({ _id: stored.string([0x78, 0x80]), size: 1 })
  const objectId = record({ _id: new BSON.ObjectId('0123456789abcdef01234567'), size: 1 })
  const noText = '_id is not a string of valid UTF-8'
  const cases: [FeedItem, id: string, message: string][] = [
    [record({ _id: 'b', size: 'large' }), 'b', 'size is BSON string, not a number'],
    [record({ size: 1 }), '?', '_id is missing'],
    [record({ _id: 'c', size: 1, createdBy }, undefined, 'projects'), 'c', 'users/u: name is BSON int32, not a string'],
    [broken, 'x\ufffd', noText],
    [objectId, '0123456789abcdef01234567', noText],
  ]
  t.strictSame(written([fitting, ...cases.map(([item]) => item), fitting]), [
    { id: 'a', size: 1 },
    ...cases.map(([, id, message]) => ({ id, unreadable: true, message })),
    { id: 'a', size: 1 },
  ])
})

t.test('a record that does not fit may be left out instead', async (t) => {
  const skipped = new Skipped()
  const items = ['b', 'a', 'c', 'a'].map((_id) => record({ _id, ...(_id === 'a' && { size: 1 }) }))
  t.strictSame(written(items, skipped.add), Array(2).fill({ id: 'a', size: 1 }))
  t.strictSame(
    skipped.records,
    ['b', 'c'].map((id) => ({ id, message: 'size is missing' })),
  )
})
