// What a schema becomes in a Parquet file.
import { type TSchema, Type } from '@sinclair/typebox'
import { parquetMetadata } from 'hyparquet'
import t from 'tap'
import { Agent } from '../../schemas/agents.js'
import { joined, listed, refTo, whole } from '../../schemas/kit.js'
import { ParquetEncoder } from '../../src/exports/parquet.js'

/** The types of a column, and of what is in it. */
const typesOf = (schema: TSchema): unknown[] => {
  const { buffer } = Uint8Array.from(new ParquetEncoder([{ name: 'value', schema }], new Map([['Agent', Agent]])).end())
  const [, ...elements] = parquetMetadata(buffer).schema
  return elements.map(({ name, type, converted_type }) => [name, converted_type ?? type])
}

const lists = (type: string) => [
  ['value', 'LIST'],
  ['list', undefined],
  ['element', type],
]

t.test('every kind of schema has a type', async (t) => {
  t.strictSame(typesOf(Type.String()), [['value', 'UTF8']])
  t.strictSame(typesOf(Type.String({ format: 'date-time' })), [['value', 'TIMESTAMP_MILLIS']])
  t.strictSame(typesOf(Type.Number()), [['value', 'DOUBLE']])
  for (const schema of [Type.Integer(), whole(Type.Number())]) t.strictSame(typesOf(schema), [['value', 'INT64']])
  t.strictSame(typesOf(Type.Boolean()), [['value', 'BOOLEAN']])
  t.strictSame(typesOf(Type.Unknown()), [['value', 'UTF8']])
  t.strictSame(typesOf(Type.Array(Type.Number())), lists('DOUBLE'))
  t.strictSame(typesOf(listed({})), lists('UTF8'))
  t.strictSame(typesOf(refTo(Agent)).slice(0, 2), [
    ['value', undefined],
    ['id', 'UTF8'],
  ])
  t.strictSame(typesOf(Type.Union([Type.String(), joined(refTo(Agent))])), [['value', 'UTF8']])
  t.strictSame(typesOf(Type.Union([Type.String(), Type.Array(Type.String())])), lists('UTF8'))
})

t.test('a schema without a column is an error', async (t) => {
  t.throws(() => typesOf(Type.Null()), { message: 'A Parquet file has no column for the schema type null' })
  t.throws(() => typesOf(Type.Union([Type.String(), Type.Number()])), {
    message: /^A Parquet file has no column for a union of .*BYTE_ARRAY.* and .*DOUBLE/,
  })
})
