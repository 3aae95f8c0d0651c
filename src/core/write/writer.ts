// Compiles a response schema into a writer from BSON bytes to JSON bytes, without objects for documents. It writes the fields
// of the schema alone, in its order, with `_id` as `id`. docs/serializer.md lists how each BSON type is written.
import { compileFunction } from 'node:vm'
import type { TSchema } from '@sinclair/typebox'
import { JOINED_SUFFIX } from '../../../schemas/kit.js'
import {
  Bson,
  type BsonDocument,
  Bytes,
  cstringEnd,
  documentEnd,
  type Element,
  elements,
  valueEnd,
} from '../bson/reader.js'
import { type CollectionName, references } from '../documents/collections.js'
import { any, wrongType } from './any.js'
import { UnfitForFormat, UnreadableDocument, withBsonErrors } from './errors.js'
import { CodeGenerator } from './generator.js'
import type { Output } from './output.js'
import { OVERHANG, ROOM, scalars, type Write, type Writer, WrongForFormat, WrongValue } from './scalars.js'
import { idOf, NO_ID } from './unreadable.js'

/** Writes a document. Nothing counts as written if it does not fit its schema. */
export type DocumentWriter = (document: BsonDocument, out: Output) => void

export interface Shown {
  readonly schema: TSchema
  /** The schemas that a `$ref` in it may name. */
  readonly named: ReadonlyMap<string, TSchema>
}

/** Compiles a writer for documents, each of which becomes a JSON object. */
export const compileDocuments = ({ schema, named }: Shown): DocumentWriter => {
  const generator = new CodeGenerator(named)
  return documentWriter(runnable(generator, generator.writerOf(schema)))
}

export const writeValue = (write: Write, input: Bytes, { type, at, next }: Element, out: Output): void => {
  out.reserve(ROOM * (next - at) + OVERHANG)
  out.length = write(input, type, at, out.target, out.length)
}

/** A writer for documents. @param extra room for what it writes of each besides its values, in bytes */
export const documentWriter =
  (write: Write, extra = OVERHANG): DocumentWriter =>
  (document, out) =>
    locatingErrors(document, () => {
      const { bytes } = document
      out.reserve(ROOM * documentEnd(bytes, 0) + extra)
      out.length = write(new Bytes(bytes), Bson.document, 0, out.target, out.length)
    })

/** Runs a write, and says in its error which value is wrong. */
export const locatingErrors = ({ collection, bytes }: BsonDocument, write: () => void): void =>
  withBsonErrors(collection, () => {
    try {
      write()
    } catch (error) {
      throw error instanceof WrongValue ? located(error, collection, bytes) : error
    }
  })

/** The function of a writer, of the code generated for it. @param more functions that the code calls, by their names */
export const runnable = ({ code }: CodeGenerator, { name }: Writer, more: object = {}): Write => {
  const writers = [...Object.values(scalars), any].map(({ name, write }): [string, Write] => [name, write])
  const known = { ...Object.fromEntries(writers), ...more, wrongType, notJoined, missing, cstringEnd, valueEnd }
  const body = `const { ${Object.keys(known)} } = known\n${code.join('\n')}\nreturn ${name}`
  // V8 remembers the code of `new Function` for long, which made the memory of many choices of fields grow.
  return compileFunction(body, ['known'])(known)
}

/** What stands there was stored in place of an id. Its type is not known: a join leaves another value behind. */
const notJoined = (at: number, expected: string): never => {
  throw new WrongValue(`is not ${expected}`, at)
}

const missing = (at: number, name: string): never => {
  throw new WrongValue('is missing', at, name)
}

/**
 * The error with collection, id and field, of an embedded record if the value is in one. The wrong value itself belongs to the
 * record that it is in, and so does what stands instead of another record but has no id. Reads the bytes again.
 */
const located = (error: WrongValue, collection: string, bytes: Buffer): Error => {
  let record = { collection, at: 0 }
  /** The names on the way from the beginning of the record. */
  let names: string[] = []
  for (const { name, type, at } of pathTo(bytes, error.at, 0)) {
    const fields: Readonly<Record<string, string>> = references[record.collection as CollectionName] ?? {}
    // An item of an array has its index for a name.
    const target = fields[[...names, name].join('.')] ?? fields[names.join('.')]
    const isWrong = at === error.at && error.missing === undefined
    if (target === undefined || isWrong || type !== Bson.document || idOf(bytes, at) === NO_ID) names.push(name)
    else {
      record = { collection: target, at }
      names = []
    }
  }
  if (error.missing !== undefined) names.push(error.missing)
  // A name beside an id is asked for by the id.
  const field = names.join('.').replace(JOINED_SUFFIX, '')
  const found = new UnreadableDocument(record.collection, idOf(bytes, record.at), field, error.message)
  return error instanceof WrongForFormat ? new UnfitForFormat(found.message) : found
}

/** The elements on the way from the document or array at `start` to the value at `place`. */
const pathTo = (bytes: Buffer, place: number, start: number): Element[] => {
  let found: Element | undefined
  for (const element of place === start ? [] : elements(bytes, start)) {
    found = element
    if (place <= element.next) break
  }
  return found === undefined ? [] : [found, ...pathTo(bytes, place, found.at)]
}
