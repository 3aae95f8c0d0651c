// JSON, as pages have it and as lines, and the responses that are no records.
import type { TSchema } from '@sinclair/typebox'
import type { FastifySerializerCompiler } from 'fastify'
import { namedSchemas } from '../../../schemas/index.js'
import type { BsonDocument } from '../bson/reader.js'
import type { ColumnFormat } from './columns.js'
import type { Output } from './output.js'
import type { RowFormat } from './rows.js'
import { scalars, unquoted } from './scalars.js'
import type { DocumentWriter } from './writer.js'

const quote = 0x22

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
    if (!isNested(value) || !Object.values(value as object).some(isNested)) out.text(JSON.stringify(value))
    else {
      const isList = Array.isArray(value)
      let before = isList ? '[' : '{'
      for (const [name, each] of Object.entries(value as object)) {
        if (each === undefined) continue
        out.text(isList ? before : `${before}${JSON.stringify(name)}:`)
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

/** What JSON allows in a text, but many programs take for the end of a line; and its escape. */
const LINE_ENDS = Object.entries({ '\u0085': '\\u0085', '\u2028': '\\u2028', '\u2029': '\\u2029' })

/** JSON in which no program finds the end of a line. */
export const oneLine = (json: string): string =>
  LINE_ENDS.reduce((text, [end, escaped]) => text.replaceAll(end, escaped), json)

/** The same for rows that are lines of JSON. */
export const asLines = ({ write, ...format }: RowFormat): RowFormat => ({
  ...format,
  write(record, out) {
    const start = out.length
    write(record, out)
    const lines = out.target.bytes.subarray(start, out.length)
    if (!LINE_ENDS.some(([end]) => lines.includes(end))) return
    out.length = start
    out.text(oneLine(lines.toString()))
  },
})

/** Objects without nested ones, whose names are paths. */
export const jsonColumns: ColumnFormat = {
  header: () => '',
  label: (name, column) => `${column === 0 ? '{' : ','}${JSON.stringify(name)}:`,
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
  end: () => '}',
}

export const jsonLines: ColumnFormat = { ...jsonColumns, end: () => '}\n' }

/** Fastify's serializer compiler: it writes the properties of the schema. A response with records is written by its route. */
export const serializerCompiler = (({ schema }: { schema: TSchema }) => {
  const { properties = {} } = namedSchemas.get(schema.$ref) ?? schema
  const names = Object.keys(properties)
  return (payload: Readonly<Record<string, unknown>>) =>
    JSON.stringify(Object.fromEntries(names.map((name) => [name, payload[name]])))
  // The cast is necessary because Fastify passes schemas of any kind, and those of the service are TypeBox's.
}) as unknown as FastifySerializerCompiler<unknown>
