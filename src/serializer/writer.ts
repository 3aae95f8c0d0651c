// Compiles a response schema into a writer that turns BSON bytes into JSON bytes. The writer outputs only the fields of the
// schema, in the schema's order, with `_id` as `id`. It creates no JavaScript objects for documents. docs/serializer.md
// lists how each BSON type is written.
import type { TSchema } from '@sinclair/typebox'
import {
  Bson,
  type BsonDocument,
  type BsonList,
  Bytes,
  cstringEnd,
  documentEnd,
  type Element,
  elements,
  FIRST_ELEMENT,
  reading,
  UnwritableDocument,
  valueEnd,
} from '../bson/reader.js'
import { type CollectionName, references } from '../documents/collections.js'
import { any, members, wrong } from './any.js'
import { CodeGenerator } from './generator.js'
import type { Output } from './output.js'
import { OVERHANG, ROOM, scalars, type Write, type Writer, WrongValue } from './scalars.js'

const comma = 0x2c

/**
 * Compiles a writer for the documents of a schema. `named` are the schemas that a `$ref` may name.
 * @param replaced the writers of scalars that it has in place of the usual ones, by their names
 */
export const compileDocuments = (
  schema: TSchema,
  named: ReadonlyMap<string, TSchema>,
  replaced: Readonly<Record<string, Write>> = {},
) => {
  const generator = new CodeGenerator(named)
  const writer = generator.writerOf(schema)
  const { bsonTypes, expected } = writer
  const write = runnable(generator, writer, replaced)

  /** Writes the value from `at` to `end`. */
  const writeRoot = (input: Bytes, type: number, at: number, end: number, out: Output): void => {
    if (!bsonTypes.includes(type)) wrong(type, at, expected)
    out.reserve(ROOM * (end - at) + OVERHANG)
    out.length = write(input, type, at, out.target, out.length)
  }

  /** Writes the items of a batch from `start` on, about `size` bytes of BSON. Returns where the next item begins. */
  const writeItems = (input: Bytes, start: number, size: number, out: Output, isFirst: boolean): number => {
    const { bytes } = input
    const last = documentEnd(bytes, 0) - 1
    let at = start
    while (at < last && at < start + size) {
      if (at > start || !isFirst) out.byte(comma)
      const type = bytes[at] as number
      const value = cstringEnd(bytes, at + 1, last) // skips the item's index, which BSON stores as its name
      at = valueEnd(bytes, type, value, last)
      writeRoot(input, type, value, at, out)
    }
    return at
  }

  return {
    /** Writes one document as a JSON object. */
    document: ({ collection, bytes }: BsonDocument, out: Output): void =>
      writing(collection, bytes, false, () =>
        writeRoot(new Bytes(bytes), Bson.document, 0, documentEnd(bytes, 0), out),
      ),
    /** Writes all documents of a list as a JSON array, in steps of about `size` bytes of BSON. */
    *list({ collection, batches }: BsonList, size: number, out: Output): Generator<void> {
      out.text('[')
      let isFirst = true
      for (const batch of batches) {
        const input = new Bytes(batch)
        let at = FIRST_ELEMENT
        for (;;) {
          const next = writing(collection, batch, true, () => writeItems(input, at, size, out, isFirst))
          if (next === at) break
          at = next
          isFirst = false
          yield
        }
      }
      out.text(']')
    },
  }
}

/** Runs a write, and adds the place in the documents to its error. */
export const writing = <T>(collection: string, bytes: Buffer, isList: boolean, write: () => T): T =>
  reading(collection, () => {
    try {
      return write()
    } catch (error) {
      throw error instanceof WrongValue ? located(error, collection, bytes, isList) : error
    }
  })

/**
 * The function of a writer, from the code that was generated for it.
 * @param more functions that the code calls, by their names
 */
export const runnable = (
  { code }: CodeGenerator,
  { name }: Writer,
  more: Readonly<Record<string, unknown>> = {},
): Write => {
  const writers = [...Object.values(scalars), any].map(({ name, write }): [string, Write] => [name, write])
  const known = { ...Object.fromEntries(writers), ...more, wrong, notJoined, missing, cstringEnd, valueEnd }
  const make = new Function('known', `const { ${Object.keys(known)} } = known\n${code.join('\n')}\nreturn ${name}`)
  return make(known)
}

/** What stands there was stored in place of an id. Its type is not known: a join leaves another value behind. */
const notJoined = (at: number, expected: string): never => {
  throw new WrongValue(`is not ${expected}`, at)
}

const missing = (at: number, name: string): never => {
  throw new WrongValue('is missing', at, name)
}

/** The error with collection, id and field, of an embedded record if the value is in one. Reads the bytes again. */
const located = (error: WrongValue, collection: string, bytes: Buffer, isList: boolean): UnwritableDocument => {
  const path = pathTo(bytes, error.at, 0)
  let place: Place = { collection, record: isList ? (path.shift() as Element) : ROOT, names: [] }
  for (const element of path) {
    const isWrong = element.at === error.at && error.missing === undefined
    place = placeOf(bytes, element, place, isWrong)
  }
  if (error.missing !== undefined) place.names.push(error.missing)
  return new UnwritableDocument(place.collection, idOf(bytes, place.record), place.names.join('.'), error.message)
}

interface Place {
  collection: string
  record: Pick<Element, 'type' | 'at'>
  /** The names on the way from the record. */
  names: string[]
}

const ROOT = { type: Bson.document, at: 0 }

/**
 * The place of an element, given the place of what it is in. The wrong element belongs to the record that it is in, and so
 * does what stands in place of another record but has no id.
 */
const placeOf = (bytes: Buffer, element: Element, { collection, record, names }: Place, isWrong: boolean): Place => {
  const fields: Readonly<Record<string, string>> = references[collection as CollectionName] ?? {}
  // An item of an array has its index for a name.
  const target = fields[[...names, element.name].join('.')] ?? fields[names.join('.')]
  if (target === undefined || isWrong || idOf(bytes, element) === NO_ID) {
    return { collection, record, names: [...names, element.name] }
  }
  return { collection: target, record: element, names: [] }
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

const NO_ID = '?'

/** The id of a document, or NO_ID if it has none that is a string or an ObjectId. */
const idOf = (bytes: Buffer, { type, at }: Pick<Element, 'type' | 'at'>): string => {
  const id = type === Bson.document ? [...members(bytes, at)].find(({ name }) => name === '_id') : undefined
  if (id?.type === Bson.string) return bytes.toString('utf8', id.at + 4, id.next - 1)
  if (id?.type === Bson.objectId) return bytes.toString('hex', id.at, id.next)
  return NO_ID
}
