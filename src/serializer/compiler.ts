// Fastify's serializer compiler for this service. Its responses are objects whose documents are still BSON.
import type { TSchema } from '@sinclair/typebox'
import type { FastifySerializerCompiler } from 'fastify'
import { namedSchemas } from '../../schemas/index.js'
import { BsonDocument, BsonList } from '../bson/reader.js'
import { atOnce, inTurns } from '../limits/work.js'
import { compileFeedItems, type FeedItem } from './feed.js'
import { Output } from './output.js'
import { compileDocuments } from './writer.js'

type Envelope = Readonly<Record<string, unknown>>

/** How many bytes of BSON are written before other work gets its turn: some tenths of a millisecond. */
const STEP_BYTES = 64 * 1024

export interface ResponseSerializer {
  (payload: Envelope): Buffer
  /** Serializes a large response. Other requests have their turn meanwhile. The signal ends it. */
  inSteps(payload: Envelope, signal?: AbortSignal): Promise<Buffer>
}

/** The serializers that were compiled. Many responses have the same schema, such as those of errors. */
const compiled = new WeakMap<TSchema, ResponseSerializer>()

/**
 * Compiles the schema of a response, unless it was compiled before. The serializer writes only the properties of the schema,
 * in its order: documents through a writer that is compiled from their schema, other values through JSON.stringify.
 */
export const compileResponse = (unresolved: TSchema): ResponseSerializer => {
  const schema = unresolved.$ref === undefined ? unresolved : (namedSchemas.get(unresolved.$ref) as TSchema)
  const serializer = compiled.get(schema) ?? compile(schema)
  compiled.set(schema, serializer)
  return serializer
}

const compile = ({ properties = {} }: TSchema): ResponseSerializer => {
  const parts = Object.entries<TSchema>(properties).map(([name, property]) => ({
    name,
    label: `${JSON.stringify(name)}:`,
    write: partWriter(property),
  }))
  function* steps(payload: Envelope, size: number, out: Output): Generator<void> {
    let separator = '{'
    for (const { name, label, write } of parts) {
      if (payload[name] === undefined) continue
      out.text(separator + label)
      yield* write(payload[name], size, out)
      separator = ','
    }
    out.text(separator === '{' ? '{}' : '}')
  }

  const serialize = (payload: Envelope): Buffer => {
    const out = new Output()
    atOnce(steps(payload, Number.POSITIVE_INFINITY, out))
    return out.take()
  }
  const inSteps = async (payload: Envelope, signal?: AbortSignal): Promise<Buffer> => {
    const out = new Output()
    await inTurns(steps(payload, STEP_BYTES, out), signal)
    return out.take()
  }
  return Object.assign(serialize, { inSteps })
}

/** Fastify's type requires a string here, but it also sends a Buffer as it is. */
export const serializerCompiler = (({ schema }: { schema: TSchema }) =>
  compileResponse(schema)) as unknown as FastifySerializerCompiler<unknown>

type PartWriter = (value: unknown, size: number, out: Output) => Generator<void>

const partWriter = (schema: TSchema): PartWriter => {
  if (schema.items?.anyOf !== undefined) {
    const write = compileFeedItems(schema.items.anyOf, namedSchemas)
    return (value, size, out) => write(value as readonly FeedItem[], size, out)
  }
  const documents = compileDocuments(schema.type === 'array' ? schema.items : schema, namedSchemas)
  return function* (value, size, out) {
    if (value instanceof BsonList) yield* documents.list(value, size, out)
    else if (value instanceof BsonDocument) documents.document(value, out)
    else out.text(JSON.stringify(value))
  }
}
