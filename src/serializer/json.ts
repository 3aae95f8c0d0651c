// JSON, as pages have it and as lines, and the responses that are no records.
import type { TSchema } from '@sinclair/typebox'
import type { FastifySerializerCompiler } from 'fastify'
import { namedSchemas } from '../../schemas/index.js'
import type { BsonDocument } from '../bson/reader.js'
import type { ColumnFormat } from './columns.js'
import type { RowFormat } from './rows.js'
import { scalars } from './scalars.js'
import type { DocumentWriter } from './writer.js'

export const jsonArray = <T extends BsonDocument>(write: RowFormat<T>['write']): RowFormat<T> => ({
  begin: '[',
  between: ',',
  end: ']',
  write,
})

/** Newline-delimited JSON: each line is a record. */
export const ndjson = (write: DocumentWriter): RowFormat => ({
  begin: '',
  between: '',
  end: '',
  write(record, out) {
    write(record, out)
    out.text('\n')
  },
})

/** Objects without nested ones, whose names are paths. */
export const jsonColumns: ColumnFormat = {
  label: (path, isFirst) => `${isFirst ? '{' : ','}${JSON.stringify(path)}:`,
  missing: '',
  writerOf: (schema, generator) => generator.writerOf(schema),
  functions: {},
  text: scalars.text.write,
  end: '}',
}

/** Fastify's serializer compiler: it writes the properties of the schema. A response with records is written by its route. */
export const serializerCompiler = (({ schema }: { schema: TSchema }) => {
  const { properties = {} } = namedSchemas.get(schema.$ref) ?? schema
  const names = Object.keys(properties)
  return (payload: Readonly<Record<string, unknown>>) =>
    JSON.stringify(Object.fromEntries(names.map((name) => [name, payload[name]])))
}) as unknown as FastifySerializerCompiler<unknown>
