// What a schema becomes in a Parquet file.
import { Type } from '@sinclair/typebox'
import t from 'tap'
import { Agent } from '../../schemas/agents.js'
import { joined, listed, refTo, whole } from '../../schemas/kit.js'
import { shapesOf } from '../../src/exports/parquet.js'

const shapeOf = (schema: Parameters<typeof joined>[0]) =>
  shapesOf([{ name: 'value', schema }], new Map([['Agent', Agent]]))[0]?.shape

t.test('every kind of schema has a shape', async (t) => {
  const text = { kind: 'text' }
  t.strictSame(shapeOf(Type.String()), text)
  t.strictSame(shapeOf(Type.String({ format: 'date-time' })), { kind: 'time' })
  t.strictSame(shapeOf(Type.Number()), { kind: 'number' })
  t.strictSame(shapeOf(Type.Integer()), { kind: 'integer' })
  t.strictSame(shapeOf(whole(Type.Number())), { kind: 'integer' })
  t.strictSame(shapeOf(Type.Boolean()), { kind: 'boolean' })
  t.strictSame(shapeOf(Type.Unknown()), { kind: 'json' })
  t.strictSame(shapeOf(Type.Array(Type.Number())), { kind: 'list', item: { kind: 'number' } })
  t.strictSame(shapeOf(listed({})), { kind: 'list', item: text })
  t.match(shapeOf(refTo(Agent)), { kind: 'object', fields: [{ name: 'id', shape: text }] })
  t.strictSame(shapeOf(Type.Union([Type.String(), joined(refTo(Agent))])), text)
  t.strictSame(shapeOf(Type.Union([Type.String(), Type.Array(Type.String())])), { kind: 'list', item: text })
})

t.test('a schema without a column is an error', async (t) => {
  t.throws(() => shapeOf(Type.Null()), { message: 'A Parquet file has no column for the schema type null' })
  t.throws(() => shapeOf(Type.Union([Type.String(), Type.Number()])), {
    message: 'A Parquet file has no column for a union of {"kind":"text"} and {"kind":"number"}',
  })
})
