// Compiles a response schema into a writer from BSON bytes to JSON bytes. The schema decides what comes out: its fields
// alone, in its order, `_id` as `id`. No document becomes an object on the way. docs/serializer.md says how each BSON
// type is written.
import { isUtf8 } from 'node:buffer'
import type { TSchema } from '@sinclair/typebox'
import {
  Bson,
  type BsonDocument,
  type BsonList,
  cstringEnd,
  documentEnd,
  type Element,
  elements,
  reading,
  UnwritableDocument,
  valueEnd,
} from './bson.js'
import { Output } from './output.js'

/** A value that its schema does not take; `at` is its place in the bytes. */
class WrongValue extends Error {
  constructor(
    fault: string,
    readonly at: number,
    /** The field that is missing in the document at that place. */
    readonly missing?: string,
  ) {
    super(fault)
  }
}

/** Writes values of one schema. */
interface Writer {
  /** What the schema wants, for errors. */
  readonly wants: string
  takes(type: number): boolean
  /** Writes the value at a place, which is within the bytes; the caller has asked takes(). */
  write(type: number, at: number): void
}

/** How deep values of no declared shape may nest: MongoDB stores 100 levels. */
const MAX_DEPTH = 100
const MAX_TIME = 8_640_000_000_000_000

const comma = 0x2c
const openObject = 0x7b
const closeObject = 0x7d
const openArray = 0x5b
const closeArray = 0x5d
const NULL = Buffer.from('null')
const TRUE = Buffer.from('true')
const FALSE = Buffer.from('false')

const out = new Output()
/** The bytes that are being read. */
let input: Buffer = Buffer.alloc(0)
/** Whether strings are decoded and encoded again, because the bytes hold invalid UTF-8. */
let repairing = false

/**
 * Compiles a writer for the documents of a schema.
 * @param named the schemas that a `$ref` names
 */
export const compileDocuments = (schema: TSchema, named: ReadonlyMap<string, TSchema>) => {
  const writer = compile(schema, named)
  return {
    /** The JSON object of one document. */
    document: ({ collection, bytes }: BsonDocument): Buffer =>
      finish(collection, false, () => writeRoot(writer, bytes)),
    /** The JSON array of all documents. */
    list: ({ collection, batches }: BsonList): Buffer => finish(collection, true, () => writeBatches(writer, batches)),
  }
}

/** Runs a write, again with repair if it made no valid UTF-8, and takes what it wrote. */
const finish = (collection: string, isList: boolean, write: () => void): Buffer =>
  reading(collection, () => {
    const run = (repair: boolean): Buffer => {
      repairing = repair
      out.reset()
      write()
      return out.view
    }
    try {
      const written = run(false)
      return Buffer.from(isUtf8(written) ? written : run(true))
    } catch (error) {
      throw error instanceof WrongValue ? located(error, collection, isList) : error
    }
  })

const writeRoot = (writer: Writer, bytes: Buffer): void => {
  input = bytes
  documentEnd(bytes, 0)
  writeValue(writer, Bson.document, 0)
}

const writeBatches = (writer: Writer, batches: readonly Buffer[]): void => {
  out.byte(openArray)
  let first = true
  for (const bytes of batches) {
    input = bytes
    first = writeItems(writer, 0, documentEnd(bytes, 0), first)
  }
  out.byte(closeArray)
}

/** Writes the items of the array at a place, without brackets; says whether the next item is the first. */
const writeItems = (writer: Writer, start: number, end: number, isFirst: boolean): boolean => {
  let first = isFirst
  const last = end - 1
  let at = start + 4
  while (at < last) {
    const type = input[at] as number
    at = cstringEnd(input, at + 1, last) // the item's number
    const next = valueEnd(input, type, at, last)
    if (!first) out.byte(comma)
    first = false
    writeValue(writer, type, at)
    at = next
  }
  return first
}

const writeValue = (writer: Writer, type: number, at: number): void => {
  if (!writer.takes(type)) throw new WrongValue(`is BSON ${typeNames.get(type)}, not ${writer.wants}`, at)
  writer.write(type, at)
}

const compile = (schema: TSchema, named: ReadonlyMap<string, TSchema>): Writer => {
  if (schema.$ref !== undefined) {
    const target = named.get(schema.$ref)
    if (target === undefined) throw new Error(`No schema is named ${schema.$ref}`)
    return compile(target, named)
  }
  if (schema.anyOf !== undefined) return unionWriter(schema.anyOf.map((branch: TSchema) => compile(branch, named)))
  switch (schema.type) {
    case 'object':
      return objectWriter(schema, named)
    case 'array':
      return arrayWriter(compile(schema.items, named))
    case 'string':
      return schema.format === 'date-time' ? instantWriter : stringWriter
    case 'number':
      return numberWriter
    case 'integer':
      return integerWriter
    case 'boolean':
      return booleanWriter
    case 'null':
      return nullWriter
    case undefined:
      return anyWriter
    default:
      throw new Error(`The serializer does not know the schema type ${schema.type}`)
  }
}

interface Field {
  /** The stored name. */
  name: string
  /** The same with its closing zero byte. */
  key: Buffer
  /** The name in JSON with its colon. */
  label: Buffer
  required: boolean
  writer: Writer
}

const objectWriter = (schema: TSchema, named: ReadonlyMap<string, TSchema>): Writer => {
  const required = new Set<string>(schema.required ?? [])
  const fields = Object.entries<TSchema>(schema.properties).map(([property, propertySchema]): Field => {
    const name = property === 'id' ? '_id' : property
    return {
      name,
      key: Buffer.from(`${name}\0`),
      label: Buffer.from(`${JSON.stringify(property)}:`),
      required: required.has(property),
      writer: compile(propertySchema, named),
    }
  })
  // The places and types of the fields of the document being written. No schema holds itself, so one set is enough.
  const places = new Int32Array(fields.length)
  const types = new Uint8Array(fields.length)

  /** The field whose stored name stands at a place, looked for first where the schema's order has it; -1 for none. */
  const fieldAt = (at: number, expected: number): number => {
    for (let i = 0; i < fields.length; i++) {
      const index = (expected + i) % fields.length
      const { key } = fields[index] as Field
      let n = 0
      while (n < key.length && input[at + n] === key[n]) n += 1
      if (n === key.length) return index
    }
    return -1
  }

  const find = (start: number): void => {
    places.fill(0)
    const last = start + input.readInt32LE(start) - 1
    let expected = 0
    let at = start + 4
    while (at < last) {
      const type = input[at] as number
      const index = fieldAt(at + 1, expected)
      if (index === -1) {
        at = cstringEnd(input, at + 1, last)
      } else {
        at += 1 + (fields[index] as Field).key.length
        places[index] = at
        types[index] = type
        expected = index + 1
      }
      at = valueEnd(input, type, at, last)
    }
  }

  return {
    wants: 'an object',
    takes: (type) => type === Bson.document,
    write(_type, start) {
      find(start)
      // Where nothing was written before, `{` stands for the comma.
      let separator = openObject
      for (let i = 0; i < fields.length; i++) {
        const { name, label, required, writer } = fields[i] as Field
        const place = places[i] as number
        const type = types[i] as number
        const empty = place === 0 || type === Bson.undefined || (type === Bson.null && !writer.takes(Bson.null))
        if (empty) {
          if (required) throw new WrongValue('is missing', start, name)
          continue
        }
        out.byte(separator)
        separator = comma
        out.raw(label)
        writeValue(writer, type, place)
      }
      if (separator === openObject) out.byte(openObject)
      out.byte(closeObject)
    },
  }
}

const arrayWriter = (item: Writer): Writer => ({
  wants: 'an array',
  takes: (type) => type === Bson.array,
  write(_type, at) {
    out.byte(openArray)
    writeItems(item, at, at + input.readInt32LE(at), true)
    out.byte(closeArray)
  },
})

const unionWriter = (branches: readonly Writer[]): Writer => {
  const byType = Array.from({ length: 256 }, (_, type) => branches.find((branch) => branch.takes(type)))
  return {
    wants: branches.map((branch) => branch.wants).join(' or '),
    takes: (type) => byType[type] !== undefined,
    write: (type, at) => (byType[type] as Writer).write(type, at),
  }
}

/** A string; an ObjectId comes out as its hexadecimal digits, so that ids of either kind are served. */
const stringWriter: Writer = {
  wants: 'a string',
  takes: (type) => type === Bson.string || type === Bson.objectId,
  write(type, at) {
    if (type === Bson.objectId) out.hex(input, at, at + 12)
    else writeText(at + 4, at + 3 + input.readInt32LE(at))
  },
}

const writeText = (start: number, end: number): void => {
  if (repairing) out.text(JSON.stringify(input.toString('utf8', start, end)))
  else out.string(input, start, end)
}

const instantWriter: Writer = {
  wants: 'a date',
  takes: (type) => type === Bson.date,
  write(_type, at) {
    const time = input.readInt32LE(at + 4) * 0x1_0000_0000 + input.readUInt32LE(at)
    if (time < -MAX_TIME || time > MAX_TIME) throw new WrongValue('is a date beyond all calendars', at)
    out.instant(time)
  },
}

/** A number. NaN and the infinities have no JSON form and are an error; an int64 comes out with all its digits. */
const numberWriter: Writer = {
  wants: 'a number',
  takes: (type) => type === Bson.double || type === Bson.int32 || type === Bson.int64,
  write(type, at) {
    const value =
      type === Bson.int32
        ? input.readInt32LE(at)
        : type === Bson.int64
          ? input.readBigInt64LE(at)
          : finite(input.readDoubleLE(at), at)
    out.ascii(String(value))
  },
}

const finite = (value: number, at: number): number => {
  if (!Number.isFinite(value)) throw new WrongValue(`is ${value}, which JSON cannot say`, at)
  return value
}

const integerWriter: Writer = {
  ...numberWriter,
  wants: 'an integer',
  write(type, at) {
    if (type === Bson.double && !Number.isInteger(input.readDoubleLE(at))) {
      throw new WrongValue(`is ${input.readDoubleLE(at)}, not an integer`, at)
    }
    numberWriter.write(type, at)
  },
}

const booleanWriter: Writer = {
  wants: 'a boolean',
  takes: (type) => type === Bson.boolean,
  write: (_type, at) => out.raw(input[at] === 0 ? FALSE : TRUE),
}

const nullWriter: Writer = {
  wants: 'null',
  takes: (type) => type === Bson.null,
  write: () => out.raw(NULL),
}

const scalarWriter: Writer = {
  ...unionWriter([stringWriter, numberWriter, booleanWriter, instantWriter, nullWriter]),
  wants: 'a value that JSON can say',
}

/** A value of no declared shape: whatever JSON can say of it. */
const anyWriter: Writer = {
  wants: scalarWriter.wants,
  takes: (type) => type === Bson.document || type === Bson.array || scalarWriter.takes(type),
  write: (type, at) => writeAny(type, at, 0),
}

const writeAny = (type: number, at: number, depth: number): void => {
  if (type !== Bson.document && type !== Bson.array) {
    writeValue(scalarWriter, type, at)
    return
  }
  if (depth === MAX_DEPTH) throw new WrongValue(`nests deeper than ${MAX_DEPTH} levels`, at)
  const isArray = type === Bson.array
  out.byte(isArray ? openArray : openObject)
  let first = true
  for (const element of isArray ? elements(input, at) : members(at)) {
    if (!first) out.byte(comma)
    first = false
    if (!isArray) out.text(`${JSON.stringify(element.name)}:`)
    writeAny(element.type, element.at, depth + 1)
  }
  out.byte(isArray ? closeArray : closeObject)
}

/** The elements of the document at a place, of those with one name the last. */
const members = (at: number): Iterable<Element> =>
  new Map(Array.from(elements(input, at), (element) => [element.name, element])).values()

const typeNames = new Map<number, string>(Object.entries(Bson).map(([name, type]) => [type, name]))

/** The error with the collection, the id and the field that it is about, found by walking the bytes once more. */
const located = (error: WrongValue, collection: string, isList: boolean): UnwritableDocument => {
  const path = pathTo(error.at, 0)
  const id = isList ? idOf(path.shift() as Element) : idOf({ type: Bson.document, at: 0 })
  const names = path.map((element) => element.name)
  if (error.missing !== undefined) names.push(error.missing)
  return new UnwritableDocument(collection, id, names.join('.'), error.message)
}

/** The elements that lead from the document or array at a place to the value at another. */
const pathTo = (place: number, start: number): Element[] => {
  let found: Element | undefined
  for (const element of place === start ? [] : elements(input, start)) {
    found = element
    if (place <= element.next) break
  }
  return found === undefined ? [] : [found, ...pathTo(place, found.at)]
}

/** The id of a document, as far as it has one. */
const idOf = ({ type, at }: Pick<Element, 'type' | 'at'>): string => {
  const id = type === Bson.document ? [...members(at)].find(({ name }) => name === '_id') : undefined
  if (id?.type === Bson.string) return input.toString('utf8', id.at + 4, id.next - 1)
  if (id?.type === Bson.objectId) return input.toString('hex', id.at, id.next)
  return '?'
}
