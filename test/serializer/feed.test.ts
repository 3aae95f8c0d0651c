// Feed items as JSON: each by its own schema, and one that does not fit is replaced without a trace of what was written.
import { Type } from '@sinclair/typebox'
import { ObjectId } from 'mongodb'
import t from 'tap'
import type { BsonDocument } from '../../src/bson/reader.js'
import { compileFeedItems } from '../../src/serializer/feed.js'
import { Skipped } from '../../src/serializer/items.js'
import { Output } from '../../src/serializer/output.js'
import { documentOf, stored } from '../support/stored.js'

const changedAt = Type.Optional(Type.String({ format: 'date-time' }))
const Author = Type.Object({ id: Type.String(), name: Type.String() })
const Thing = Type.Object({ id: Type.String(), size: Type.Number(), createdBy: Type.Optional(Author), changedAt })
const Deleted = Type.Object({
  id: Type.String(),
  deleted: Type.Boolean(),
  deletedAt: Type.String({ format: 'date-time' }),
  changedAt,
})
const write = compileFeedItems([Thing, Deleted], new Map())

const record = (document: BsonDocument, stamp?: number) => ({ document, isDeleted: false, stamp })

/** The items as JSON, and in how many steps they were written. */
const written = (items: Parameters<typeof write>[0], size = Number.POSITIVE_INFINITY) => {
  const out = new Output()
  const steps = [...write(items, size, out)].length
  return { items: JSON.parse(out.take().toString()), steps }
}

t.test('records and deletions are written by their schemas, and nothing else of them is shown', async (t) => {
  const deletion = documentOf([
    ['_id', 'b'],
    ['deletedAt', new Date(0)],
    ['deleted', true],
  ])
  const items = [
    record(
      documentOf([
        ['_id', 'a'],
        ['size', 1],
        ['changedAt', new Date(0)],
      ]),
    ),
    { document: deletion, isDeleted: true, stamp: undefined },
  ]
  t.same(written(items).items, [
    { id: 'a', size: 1 },
    { id: 'b', deleted: true, deletedAt: '1970-01-01T00:00:00.000Z' },
  ])
  t.same(written([]).items, [])
})

t.test('each item has its stamp as changedAt, whatever is stored under that name', async (t) => {
  const thing = (...more: [string, unknown][]) => documentOf([['_id', 'a'], ['size', 1], ...more])
  const stamp = Date.UTC(2025, 2, 14, 9, 26, 53, 589)
  const shown = '2025-03-14T09:26:53.589Z'
  const deletion = documentOf([
    ['_id', 'b'],
    ['deletedAt', new Date(stamp)],
    ['deleted', true],
  ])
  t.strictSame(
    written([
      record(thing(), stamp),
      record(thing(['changedAt', new Date(0)]), stamp),
      record(thing(['changedAt', 'yesterday']), -1),
      record(thing(['changedAt', new Date(0)])),
      { document: deletion, isDeleted: true, stamp },
      record(documentOf([['_id', 'c']]), stamp),
      record(thing(), Date.UTC(0, 0) - 1e14),
    ]).items,
    [
      { id: 'a', size: 1, changedAt: shown },
      { id: 'a', size: 1, changedAt: shown },
      { id: 'a', size: 1, changedAt: '1969-12-31T23:59:59.999Z' },
      { id: 'a', size: 1 },
      { id: 'b', deleted: true, deletedAt: shown, changedAt: shown },
      { id: 'c', unreadable: true, message: 'size is missing', changedAt: shown },
      { id: 'a', size: 1 },
    ],
    'the last one is before the year 1, which RFC 3339 cannot express',
  )
})

t.test('a record that does not fit is named with its error, between the others', async (t) => {
  const fitting = record(
    documentOf([
      ['_id', 'a'],
      ['size', 1],
    ]),
  )
  const author = stored.document([
    ['_id', 'u'],
    ['name', 5],
  ])
  const items = [
    fitting,
    record(
      documentOf([
        ['_id', 'b'],
        ['size', 'large'],
      ]),
    ),
    record(documentOf([['size', 1]])),
    record(
      documentOf(
        [
          ['_id', 'c'],
          ['size', 1],
          ['createdBy', author],
        ],
        'projects',
      ),
    ),
    record(documentOf([['_id', 'd']])),
    fitting,
  ]
  t.same(written(items).items, [
    { id: 'a', size: 1 },
    { id: 'b', unreadable: true, message: 'size is BSON string, not a number' },
    { id: '?', unreadable: true, message: '_id is missing' },
    { id: 'c', unreadable: true, message: 'users/u: name is BSON int32, not a string' },
    { id: 'd', unreadable: true, message: 'size is missing' },
    { id: 'a', size: 1 },
  ])
})

t.test('a record whose id is no text is unreadable, because no other operation finds it', async (t) => {
  const broken = documentOf([
    ['_id', 'x#'],
    ['size', 1],
  ])
  broken.bytes[broken.bytes.indexOf('x#') + 1] = 0x80
  const items = [
    record(broken),
    record(
      documentOf([
        ['_id', new ObjectId('0123456789abcdef01234567')],
        ['size', 1],
      ]),
    ),
  ]
  const message = '_id is not a string of valid UTF-8'
  t.same(written(items).items, [
    { id: 'x\ufffd', unreadable: true, message },
    { id: '0123456789abcdef01234567', unreadable: true, message },
  ])
})

t.test('a record that does not fit may be left out instead', async (t) => {
  const bad = (id: string) => record(documentOf([['_id', id]]), 0)
  const good = record(
    documentOf([
      ['_id', 'a'],
      ['size', 1],
    ]),
    0,
  )
  const skipped = new Skipped()
  const out = new Output()
  for (const _ of write([bad('b'), good, bad('c'), good], 1, out, skipped));
  const shown = { id: 'a', size: 1, changedAt: '1970-01-01T00:00:00.000Z' }
  t.same(JSON.parse(out.take().toString()), [shown, shown])
  t.same(
    skipped.records,
    ['b', 'c'].map((id) => ({ id, message: 'size is missing' })),
  )
})

t.test('any other error fails the page', async (t) => {
  t.throws(() => written([record(undefined as never)]), TypeError)
})

t.test('a large page is written in steps', async (t) => {
  const items = Array.from({ length: 10 }, (_, n) =>
    record(
      documentOf([
        ['_id', `${n}`],
        ['size', n],
      ]),
    ),
  )
  const { steps, items: shown } = written(items, 60)
  t.equal(shown.length, 10)
  t.ok(steps > 2 && steps < 10)
})
