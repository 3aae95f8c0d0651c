// Fastify's serializer compiler for this service. Its responses are objects whose documents are still BSON.
import type { TSchema } from '@sinclair/typebox'
import type { FastifySerializerCompiler } from 'fastify'
import { viewOf, type Without } from '../../schemas/views.js'
import { BsonDocument, BsonList } from '../bson/reader.js'
import { atOnce, inTurns } from '../limits/work.js'
import { compileFeedItems, type FeedItem } from './feed.js'
import { attempt, type Skipped, writeEach } from './items.js'
import { Output } from './output.js'
import { compileDocuments } from './writer.js'

type Envelope = Readonly<Record<string, unknown>>

/** How many bytes of BSON are written before other work gets its turn: some tenths of a millisecond. */
const STEP_BYTES = 64 * 1024

/** Records that do not fit their schema fail the response, unless it skips them. */
export interface ResponseSerializer {
  /** @param skipped gets the records that are left out. The payload may hold its list behind the data */
  (payload: Envelope, skipped?: Skipped): Buffer
  /** Serializes a large response. Other requests have their turn meanwhile. The signal ends it. */
  inSteps(payload: Envelope, signal?: AbortSignal, skipped?: Skipped): Promise<Buffer>
}

type Named = ReadonlyMap<string, TSchema>

/** The serializers that were compiled, by what a `$ref` means. Many responses have the same schema, such as errors. */
const compiled = new Map<Named, WeakMap<TSchema, ResponseSerializer>>()

/**
 * Compiles the schema of a response, unless it was compiled before. The serializer writes only the properties of the schema,
 * in its order: documents through a writer that is compiled from their schema, other values through JSON.stringify.
 * @param answers how the answers of entries are written: as they are stored, or each as a list
 * @param without what the caller does not see
 */
export const compileResponse = (unresolved: TSchema, answers?: 'list', without?: Without): ResponseSerializer => {
  const named = viewOf(without).named(answers)
  const known = compiled.get(named) ?? new WeakMap<TSchema, ResponseSerializer>()
  compiled.set(named, known)
  const schema = unresolved.$ref === undefined ? unresolved : (named.get(unresolved.$ref) as TSchema)
  const serializer = known.get(schema) ?? compile(schema, named)
  known.set(schema, serializer)
  return serializer
}

const compile = ({ properties = {} }: TSchema, named: Named): ResponseSerializer => {
  const parts = Object.entries<TSchema>(properties).map(([name, property]) => ({
    name,
    label: `${JSON.stringify(name)}:`,
    write: partWriter(property, named),
  }))
  function* steps(payload: Envelope, size: number, out: Output, skipped?: Skipped): Generator<void> {
    let separator = '{'
    for (const { name, label, write } of parts) {
      if (payload[name] === undefined) continue
      out.text(separator + label)
      yield* write(payload[name], size, out, skipped)
      separator = ','
    }
    out.text(separator === '{' ? '{}' : '}')
  }

  const serialize = (payload: Envelope, skipped?: Skipped): Buffer => {
    const out = new Output()
    atOnce(steps(payload, Number.POSITIVE_INFINITY, out, skipped))
    return out.take()
  }
  const inSteps = async (payload: Envelope, signal?: AbortSignal, skipped?: Skipped): Promise<Buffer> => {
    const out = new Output()
    await inTurns(steps(payload, STEP_BYTES, out, skipped), signal)
    return out.take()
  }
  return Object.assign(serialize, { inSteps })
}

/** Fastify's type requires a string here, but it also sends a Buffer as it is. */
export const serializerCompiler = (({ schema }: { schema: TSchema }) =>
  compileResponse(schema)) as unknown as FastifySerializerCompiler<unknown>

type PartWriter = (value: unknown, size: number, out: Output, skipped?: Skipped) => Generator<void>

const partWriter = (schema: TSchema, named: Named): PartWriter => {
  if (schema.items?.anyOf !== undefined) {
    const write = compileFeedItems(schema.items.anyOf, named)
    return (value, size, out, skipped) => write(value as readonly FeedItem[], size, out, skipped)
  }
  const documents = compileDocuments(schema.type === 'array' ? schema.items : schema, named)
  /** Writes a document, unless it is to be skipped. */
  const writeOrSkip = (document: BsonDocument, out: Output, skipped: Skipped): boolean => {
    const unreadable = attempt(document, () => documents.document(document, out))
    if (unreadable !== undefined) skipped.add(unreadable)
    return unreadable === undefined
  }
  return function* (value, size, out, skipped) {
    if (value instanceof BsonList && skipped !== undefined) {
      const items = value.documents.map((bytes) => ({ document: new BsonDocument(value.collection, bytes) }))
      yield* writeEach(items, size, out, ({ document }) => writeOrSkip(document, out, skipped))
    } else if (value instanceof BsonList) yield* documents.list(value, size, out)
    else if (value instanceof BsonDocument) documents.document(value, out)
    else out.text(JSON.stringify(value))
  }
}
