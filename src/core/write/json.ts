// JSON, as pages have it and as lines, and the responses that are no records.
import type { TSchema } from '@sinclair/typebox'
import type { FastifySerializerCompiler } from 'fastify'
import { namedSchemas } from '../../../schemas/index.js'
import type { BsonDocument } from '../bson/reader.js'
import type { ColumnFormat } from './columns.js'
import type { Output } from './output.js'
import type { RowFormat } from './rows.js'
import { json, scalars, unquoted } from './scalars.js'
import type { DocumentWriter } from './writer.js'

const quote = 0x22

export { json }

export const jsonArray = <T = BsonDocument>(write: RowFormat<T>['write']): RowFormat<T> => ({
  begin: '[',
  between: ',',
  end: ']',
  write,
})

/** How many characters are written before other work goes on. */
const SLICE = 64 * 1024

/** Writes a value, in slices where it has lists or objects in it. */
export function* writeValue(value: unknown, out: Output): Generator<void> {
  let written = out.length
  const isNested = (each: unknown) => typeof each === 'object' && each !== null
  function* write(value: unknown): Generator<void> {
    if (!isNested(value) || !Object.values(value as object).some(isNested)) out.text(json(value))
    else {
      const isList = Array.isArray(value)
      let before = isList ? '[' : '{'
      for (const [name, each] of Object.entries(value as object)) {
        if (each === undefined) continue
        out.text(isList ? before : `${before}${json(name)}:`)
        yield* write(each)
        before = ','
      }
      out.text(isList ? ']' : '}')
    }
    if (out.length - written < SLICE) return
    written = out.length
    yield
  }
  yield* write(value)
}

/** Newline-delimited JSON: each line is a record. */
export const ndjson = (write: DocumentWriter): RowFormat => ({
  write(record, out) {
    write(record, out)
    out.text('\n')
  },
})

/** Objects without nested ones, whose names are paths. */
export const jsonColumns: ColumnFormat = {
  header: () => '',
  label: (name, isFirst) => `${isFirst ? '{' : ','}${json(name)}:`,
  missing: '',
  writerOf: (schema, generator) => ({ writer: generator.writerOf(schema), kind: 'text' }),
  functions: {},
  raw: unquoted(scalars.text.write),
  finish: ({ bytes }, from, to) => {
    bytes.copyWithin(from + 1, from, to)
    bytes[from] = bytes[to + 1] = quote
    return to + 2
  },
  number: String,
  end: '}',
}

export const jsonLines: ColumnFormat = { ...jsonColumns, end: '}\n' }

/** Fastify's serializer compiler: it writes the properties of the schema. A response with records is written by its route. */
export const serializerCompiler = (({ schema }: { schema: TSchema }) => {
  const { properties = {} } = namedSchemas.get(schema.$ref) ?? schema
  const names = Object.keys(properties)
  return (payload: Readonly<Record<string, unknown>>) =>
    json(Object.fromEntries(names.map((name) => [name, payload[name]])))
  // The cast is necessary because Fastify passes schemas of any kind, and those of the service are TypeBox's.
}) as unknown as FastifySerializerCompiler<unknown>
