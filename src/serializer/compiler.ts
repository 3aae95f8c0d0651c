// Fastify's serializer compiler for this service. Its responses are objects whose documents are still BSON.
import type { TSchema } from '@sinclair/typebox'
import type { FastifySerializerCompiler } from 'fastify'
import { namedSchemas } from '../../schemas/index.js'
import { BsonDocument, BsonList } from '../bson/reader.js'
import { Output } from './output.js'
import { compileDocuments } from './writer.js'

type Envelope = Readonly<Record<string, unknown>>

/** All responses share one output, because each is written synchronously. */
const out = new Output()

/**
 * Compiles the schema of a response. The serializer writes only the properties of the schema, in its order: documents
 * through a writer that is compiled from their schema, other values through JSON.stringify.
 */
export const compileResponse = (schema: TSchema): ((payload: Envelope) => Buffer) => {
  const { properties = {} } = resolve(schema)
  const parts = Object.entries<TSchema>(properties).map(([name, property]) => ({
    name,
    label: `${JSON.stringify(name)}:`,
    write: partWriter(property),
  }))
  return (payload) => {
    out.reset()
    let separator = '{'
    for (const { name, label, write } of parts) {
      if (payload[name] === undefined) continue
      out.text(separator + label)
      write(payload[name])
      separator = ','
    }
    out.text(separator === '{' ? '{}' : '}')
    return out.take()
  }
}

/** Fastify's type requires a string here, but it also sends a Buffer as it is. */
export const serializerCompiler = (({ schema }: { schema: TSchema }) =>
  compileResponse(schema)) as unknown as FastifySerializerCompiler<unknown>

const partWriter = (schema: TSchema): ((value: unknown) => void) => {
  const documents = compileDocuments(schema.type === 'array' ? schema.items : schema, namedSchemas)
  return (value) => {
    if (value instanceof BsonList) documents.list(value, out)
    else if (value instanceof BsonDocument) documents.document(value, out)
    else out.text(JSON.stringify(value))
  }
}

const resolve = (schema: TSchema): TSchema =>
  schema.$ref === undefined ? schema : (namedSchemas.get(schema.$ref) as TSchema)
