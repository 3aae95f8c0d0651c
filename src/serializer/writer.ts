// Compiles a response schema into a writer from BSON bytes to JSON bytes. The schema decides what comes out: its fields
// alone, in its order, `_id` as `id`. No document becomes an object on the way. docs/serializer.md says how each BSON
// type is written.
import { isUtf8 } from 'node:buffer'
import type { TSchema } from '@sinclair/typebox'
import {
  Bson,
  type BsonDocument,
  type BsonList,
  DamagedBson,
  documentEnd,
  type Element,
  elements,
  valueEnd,
} from './bson.js'
import { Output } from './output.js'

/** A document that does not fit its response schema. It is the server's fault: the caller sees a plain 500. */
export class UnwritableDocument extends Error {
  constructor(
    readonly collection: string,
    readonly id: string,
    readonly field: string,
    fault: string,
  ) {
    super(`${collection} ${id}: ${field === '' ? 'the document' : field} ${fault}`)
    this.name = 'UnwritableDocument'
  }
}

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
  /** Writes the value at a place; the caller has asked takes(). */
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
      finish(
        () => writeRoot(writer, bytes),
        (error) => unwritable(error, collection, false),
      ),
    /** The JSON array of all documents. */
    list: ({ collection, batches }: BsonList): Buffer =>
      finish(
        () => writeBatches(writer, batches),
        (error) => unwritable(error, collection, true),
      ),
  }
}

/** Runs a write, again with repair if it made no valid UTF-8, and takes what it wrote. */
const finish = (write: () => void, explain: (error: unknown) => unknown): Buffer => {
  try {
    out.reset()
    write()
    if (!isUtf8(out.view)) {
      repairing = true
      out.reset()
      write()
    }
    return Buffer.from(out.view)
  } catch (error) {
    throw explain(error)
  } finally {
    repairing = false
  }
}

const writeRoot = (writer: Writer, bytes: Buffer): void => {
  input = bytes
  documentEnd(bytes, 0, bytes.length)
  writer.write(Bson.document, 0)
}

const writeBatches = (writer: Writer, batches: readonly Buffer[]): void => {
  out.byte(openArray)
  let first = true
  for (const bytes of batches) {
    input = bytes
    first = writeItems(writer, 0, documentEnd(bytes, 0, bytes.length), first)
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
    at += 1
    while (input[at] !== 0) at += 1 // the item's number; the array's closing zero byte ends the search at the latest
    at += 1
    const next = valueEnd(input, type, at, last)
    if (!first) out.byte(comma)
    first = false
    if (!writer.takes(type)) throw new WrongValue(`is ${typeName(type)}, not ${writer.wants}`, at)
    writer.write(type, at)
    at = next
  }
  return first
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
  name: string
  /** The stored name with its closing zero byte. */
  key: Buffer
  /** The name in JSON with its colon. */
  label: Buffer
  required: boolean
  writer: Writer
}

const objectWriter = (schema: TSchema, named: ReadonlyMap<string, TSchema>): Writer => {
  const required = new Set<string>(schema.required ?? [])
  const fields = Object.entries<TSchema>(schema.properties).map(
    ([name, property]): Field => ({
      name,
      key: Buffer.from(`${name === 'id' ? '_id' : name}\0`),
      label: Buffer.from(`${JSON.stringify(name)}:`),
      required: required.has(name),
      writer: compile(property, named),
    }),
  )
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
      at += 1
      const index = fieldAt(at, expected)
      while (input[at] !== 0) at += 1
      at += 1
      const next = valueEnd(input, type, at, last)
      if (index !== -1) {
        places[index] = at
        types[index] = type
        expected = index + 1
      }
      at = next
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
        if (!writer.takes(type)) throw new WrongValue(`is ${typeName(type)}, not ${writer.wants}`, place)
        out.byte(separator)
        separator = comma
        out.raw(label)
        writer.write(type, place)
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

const unionWriter = (branches: readonly Writer[]): Writer => ({
  wants: branches.map((branch) => branch.wants).join(' or '),
  takes: (type) => branches.some((branch) => branch.takes(type)),
  write(type, at) {
    branches.find((branch) => branch.takes(type))?.write(type, at)
  },
})

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
    out.text(String(value))
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

/** A value of no declared shape: whatever JSON can say of it. */
const anyWriter: Writer = {
  wants: 'a value that JSON can say',
  takes: (type) => type === Bson.document || type === Bson.array || scalarWriters.some((writer) => writer.takes(type)),
  write: (type, at) => writeAny(type, at, 0),
}

const scalarWriters = [stringWriter, numberWriter, booleanWriter, instantWriter, nullWriter]

const writeAny = (type: number, at: number, depth: number): void => {
  if (type !== Bson.document && type !== Bson.array) {
    const scalar = scalarWriters.find((writer) => writer.takes(type))
    if (scalar === undefined) throw new WrongValue(`is ${typeName(type)}, not ${anyWriter.wants}`, at)
    scalar.write(type, at)
    return
  }
  if (depth === MAX_DEPTH) throw new WrongValue(`nests deeper than ${MAX_DEPTH} levels`, at)
  const isArray = type === Bson.array
  out.byte(isArray ? openArray : openObject)
  let first = true
  for (const element of elements(input, at)) {
    if (!first) out.byte(comma)
    first = false
    if (!isArray) out.text(`${JSON.stringify(element.name)}:`)
    writeAny(element.type, element.at, depth + 1)
  }
  out.byte(isArray ? closeArray : closeObject)
}

const typeNames = new Map<number, string>(Object.entries(Bson).map(([name, type]) => [type, name]))

const typeName = (type: number): string => {
  const name = typeNames.get(type)
  if (name === undefined) return `of the unknown type ${type}`
  return `${/^[aiou]/.test(name) ? 'an' : 'a'} ${name}`
}

/** The error with the collection, the id and the field that it is about, found by walking the bytes once more. */
const unwritable = (error: unknown, collection: string, isList: boolean): unknown => {
  if (error instanceof DamagedBson)
    return new UnwritableDocument(collection, '?', '', `cannot be read: ${error.message}`)
  if (!(error instanceof WrongValue)) return error
  const path = pathTo(error.at, 0)
  const document = isList ? path.shift() : undefined
  if (error.missing !== undefined) path.push({ name: error.missing, type: Bson.undefined, at: 0, next: 0 })
  return new UnwritableDocument(
    collection,
    idOf(document?.at ?? 0),
    path.map((element) => element.name).join('.'),
    error.message,
  )
}

/** The elements that lead from the document at a place to the value at another. */
const pathTo = (place: number, start: number): Element[] => {
  for (const element of elements(input, start)) {
    if (place === element.at) return [element]
    if (place < element.next) return [element, ...pathTo(place, element.at)]
  }
  return []
}

/** The id of the document at a place, as far as it has one. */
const idOf = (start: number): string => {
  for (const { name, type, at, next } of elements(input, start)) {
    if (name === '_id' && type === Bson.string) return input.toString('utf8', at + 4, next - 1)
    if (name === '_id' && type === Bson.objectId) return input.toString('hex', at, next)
  }
  return '?'
}
