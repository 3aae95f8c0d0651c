// The entity tag changes with the version of what the serializer writes.
import { createHash } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import { BSON } from 'mongodb'
import t from 'tap'
import { type Hidden, listed } from '../../schemas/kit.js'
import { atOnce } from '../../src/limits/work.js'
import { compileResponse } from '../../src/serializer/compiler.js'
import { etagOf, FORMAT } from '../../src/serializer/etag.js'
import { documentOf, type Elements, listOf, plain, stored } from '../support/stored.js'

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
}

const listsWritten: Record<number, string> = {
  2: '0debc3bc5b3371aa4ab80100986789162df485575fe201274cf6fd17a4475938',
}

t.test('What the serializer writes changes only together with FORMAT', async (t) => {
  const write = compileResponse(
    Type.Object({ success: Type.Boolean(), data: Type.Array(schema), rest: Type.Unknown() }),
  )
  const response = write({ success: true, data: listOf([documents, documents]), rest: { a: [1, null] } })
  const digest = createHash('sha256').update(response).digest('hex')
  t.equal(digest, written[FORMAT], 'Increase FORMAT in src/serializer/etag.ts, and add its line above')
})

t.test('What the serializer writes as lists changes only together with FORMAT', async (t) => {
  const write = compileResponse(Type.Object({ data: Type.Array(Type.Object({ text: Type.Optional(listed({})) })) }))
  const values = ['é"', ['a', 1, 1.5], 7, BSON.Long.MAX_VALUE, null, [], documents.length]
  const response = write({ data: listOf([values.map((text) => plain({ text }))]) })
  const digest = createHash('sha256').update(response).digest('hex')
  t.equal(digest, listsWritten[FORMAT], 'Increase FORMAT in src/serializer/etag.ts, and add its line above')
})

t.test(
  'The tag of a page depends on its batches and its metadata, that of a record on its bytes, both on what is hidden',
  async (t) => {
    const page = (name: string, total: number) => atOnce(etagOf(listOf([[plain({ name })]]), { total }))
    const record = (name: string) => atOnce(etagOf(documentOf(plain({ name }))))
    t.equal(page('a', 1), page('a', 1))
    t.equal(record('a'), record('a'))
    t.equal(new Set([page('a', 1), page('b', 1), page('a', 2), record('a'), record('b')]).size, 5)
    const seen = (...without: Hidden[]) => atOnce(etagOf(documentOf(plain({ name: 'a' })), undefined, without))
    t.equal(new Set([record('a'), seen('personal'), seen('places'), seen('personal', 'places')]).size, 4)
    t.match(record('a'), /^W\/"[\da-f]{8}\.[\w-]{27}"$/)
  },
)

t.test('The tag of a large record is made in steps, and depends on all of it', async (t) => {
  const tagOf = (size: number, last: string) => {
    const steps = etagOf(documentOf(plain({ text: 'x'.repeat(size) + last })))
    let count = 1
    for (let step = steps.next(); ; step = steps.next(), count++) if (step.done) return { tag: step.value, count }
  }
  t.equal(tagOf(1000, 'a').count, 1)
  t.equal(tagOf(3_000_000, 'a').count, 6)
  t.equal(tagOf(3_000_000, 'a').tag, tagOf(3_000_000, 'a').tag)
  t.not(tagOf(3_000_000, 'a').tag, tagOf(3_000_000, 'b').tag)
})
