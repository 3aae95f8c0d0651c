// The entity tag changes with the version of what the serializer writes.
import { createHash } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import { BSON } from 'mongodb'
import t from 'tap'
import { listed } from '../../../schemas/kit.js'
import type { Without } from '../../../schemas/views.js'
import { BsonDocument, sizeOf } from '../../../src/core/bson/reader.js'
import { etagOf, FORMAT } from '../../../src/core/write/etag.js'
import { documentOf, type Elements, listOf, plain, stored, writerOf } from '../../support/stored.js'

const instant = Type.String({ format: 'date-time' })

/** A schema of every kind that the serializer knows. */
const schema = Type.Object({
  id: Type.String(),
  text: Type.Optional(Type.String()),
  instant: Type.Optional(instant),
  number: Type.Optional(Type.Number()),
  integer: Type.Optional(Type.Integer()),
  boolean: Type.Optional(Type.Boolean()),
  nothing: Type.Optional(Type.Null()),
  either: Type.Optional(Type.Union([Type.Array(Type.String()), instant, Type.Null()])),
  object: Type.Optional(Type.Object({ id: Type.String(), 'é"': Type.Optional(Type.Number()) })),
  unknown: Type.Optional(Type.Unknown()),
})

/** Documents with values of every BSON type that has a JSON form, and others that are left out. */
const documents: readonly Elements[] = [
  plain({ _id: 'plain', organisation: 'o', text: 'é"\\\n\u0001/<😀', instant: new Date(0), number: 1.5, integer: 3 }),
  plain({ _id: 'line\u0085ends', text: 'a\u2028b\u2029c' }),
  plain({ _id: new BSON.ObjectId('665f1c2ab8d4e0a1c3f20b17'), boolean: true, nothing: null, either: ['a', 'b'] }),
  plain({ either: new Date(1_741_944_413_589), _id: 'order', object: { 'é"': -0, x: 1, _id: 'inner' }, text: null }),
  plain({ _id: 'numbers', number: new BSON.Int32(-7), integer: BSON.Long.MAX_VALUE, either: null, boolean: false }),
  plain({ _id: 'small', number: 1e-7, unknown: [1e21, 0.1, { _id: 1, date: new Date(-1), none: null }, [], {}] }),
  [
    ['_id', 'first'],
    ['text', stored.string([0xff])],
    ['instant', stored.date(253_402_300_799_999n)],
    ['object', stored.undefined],
    ['_id', 'twice'],
  ],
]

/** The SHA-256 of these documents as a response, by the format. Never change a line: add one when FORMAT changes. */
const written: Record<number, string> = {
  1: 'bf2fc3ae715f9ca6c254cc4f183bccb395e2f2ef42a4b2027e459250dfec3744',
  2: 'c47807c3f002603b06c3426c18cf06e53698711d32b44b7ba23e8c0840f9baea',
  3: '97b3673c9550093cd93c4dff871bf40dbe3f6e797dcfa06ff1c7c24fe025510d',
  4: '746e86ce3457470737002f2eb4aa152eda90638b0155ce89f2b27897f1295756',
}

const listsWritten: Record<number, string> = {
  2: '0debc3bc5b3371aa4ab80100986789162df485575fe201274cf6fd17a4475938',
  3: '53296ec593c90be0163053c0374d5be12f04d2c77fb44af2b5f8d4580d87d245',
  4: '53296ec593c90be0163053c0374d5be12f04d2c77fb44af2b5f8d4580d87d245',
}

t.test('What the serializer writes changes only together with FORMAT', async (t) => {
  const data = writerOf(schema).list(listOf([...documents, ...documents]))
  const response = `{"success":true,"data":${data},"rest":{"a":[1,null]}}`
  const digest = createHash('sha256').update(response).digest('hex')
  t.equal(digest, written[FORMAT], 'Increase FORMAT in src/core/write/etag.ts, and add its line above')
})

t.test('What the serializer writes as lists changes only together with FORMAT', async (t) => {
  const write = writerOf(Type.Object({ text: Type.Optional(listed({})) }))
  const values = ['é"', ['a', 1, 1.5], 7, BSON.Long.MAX_VALUE, null, [], documents.length]
  const response = `{"data":${write.list(listOf(values.map((text) => plain({ text }))))}}`
  const digest = createHash('sha256').update(response).digest('hex')
  t.equal(digest, listsWritten[FORMAT], 'Increase FORMAT in src/core/write/etag.ts, and add its line above')
})

/** The tag of documents, and in how many steps it was made. */
const tagged = (documents: readonly BsonDocument[], metadata?: object, without?: Without) => {
  const steps = etagOf(documents, metadata, without)
  for (let count = 1; ; count++) {
    const { done, value } = steps.next()
    if (done) return { tag: value, count }
  }
}
const named = (...names: string[]) => listOf(names.map((name) => plain({ name }))).documents

t.test('The tag depends on the documents, on what else a page has, and on what is hidden', async (t) => {
  const sets: Parameters<typeof tagged>[] = [
    ...([[[]], [named('a')], [named('b')], [named('a', 'b')], [named('b', 'a')]] as [readonly BsonDocument[]][]),
    ...([
      [[], { total: 1 }],
      [named('a'), { total: 1 }],
      [named('a'), { total: 2 }],
    ] as [BsonDocument[], object][]),
    ...([['personal'], ['places'], ['personal', 'places']] as unknown as Without[]).map(
      (without): Parameters<typeof tagged> => [named('a'), undefined, without],
    ),
  ]
  const tags = sets.map((set) => tagged(...set).tag)
  t.equal(new Set(tags).size, sets.length)
  t.same(
    tags,
    sets.map((set) => tagged(...set).tag),
  )
  for (const tag of tags) t.match(tag, /^W\/"[\da-f]{8}\.[\w-]{27}"$/)
})

t.test('The tag is made in steps, depends on all bytes, and does not on where they are in memory', async (t) => {
  for (const [sizes, steps] of [
    [[1000], 1],
    [[3_000_000], 6],
    [Array<number>(3000).fill(1000), 6],
    [[500_000, 3_000_000, 100], 6],
  ] as const) {
    const documents = (last: string) => sizes.map((size) => documentOf(plain({ text: 'x'.repeat(size) + last })))
    const { tag, count } = tagged(documents('a'))
    t.equal(count, steps, `${sizes.length} documents`)
    const bytes = Buffer.concat(documents('a').map(({ bytes }) => bytes))
    const ends = documents('a').map((_, i, all) => sizeOf(all.slice(0, i + 1)))
    const neighbours = ends.map((end, i) => new BsonDocument('things', bytes.subarray(ends[i - 1] ?? 0, end)))
    t.equal(tagged(neighbours).tag, tag)
    t.not(tagged([...documents('a').slice(0, -1), ...documents('b').slice(-1)]).tag, tag)
  }
})
