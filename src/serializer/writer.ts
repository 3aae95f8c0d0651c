// Compiles a response schema into a writer from BSON bytes to JSON bytes. The schema decides what comes out: its fields
// alone, in its order, `_id` as `id`. No document becomes an object on the way. docs/serializer.md says how each BSON
// type is written. The code of a schema's objects is generated, so that every name in it is a constant.
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
  reading,
  UnwritableDocument,
  valueEnd,
} from '../bson/reader.js'
import type { Output } from './output.js'
import { OVERHANG, ROOM, type ScalarWriter, scalars, type Write, type Writer, WrongValue } from './scalars.js'

/** How deep values of no declared shape may nest: MongoDB stores 100 levels. */
const MAX_DEPTH = 100

const comma = 0x2c
const openObject = 0x7b
const closeObject = 0x7d
const openArray = 0x5b
const closeArray = 0x5d

/**
 * Compiles a writer for the documents of a schema.
 * @param named the schemas that a `$ref` names
 */
export const compileDocuments = (schema: TSchema, named: ReadonlyMap<string, TSchema>) => {
  const { bsonTypes, expected, write } = compile(schema, named)

  /** Writes the value that begins at a place and ends before another. */
  const writeRoot = (input: Bytes, type: number, at: number, end: number, out: Output): void => {
    if (!bsonTypes.includes(type)) wrong(type, at, expected)
    out.reserve(ROOM * (end - at) + OVERHANG)
    out.length = write(input, type, at, out.target, out.length)
  }

  /** Writes the items of a batch, and says whether the next one is the first of all. */
  const writeBatch = (input: Bytes, out: Output, isFirst: boolean): boolean => {
    const { bytes } = input
    const last = documentEnd(bytes, 0) - 1
    let first = isFirst
    let at = 4
    while (at < last) {
      const type = bytes[at] as number
      at = cstringEnd(bytes, at + 1, last) // the item's number
      const next = valueEnd(bytes, type, at, last)
      if (!first) out.byte(comma)
      first = false
      writeRoot(input, type, at, next, out)
      at = next
    }
    return first
  }

  return {
    /** Writes the JSON object of one document. */
    document: ({ collection, bytes }: BsonDocument, out: Output): void =>
      writing(collection, bytes, false, () =>
        writeRoot(new Bytes(bytes), Bson.document, 0, documentEnd(bytes, 0), out),
      ),
    /** Writes the JSON array of all documents. */
    list: ({ collection, batches }: BsonList, out: Output): void => {
      out.text('[')
      let first = true
      for (const batch of batches) {
        writing(collection, batch, true, () => {
          first = writeBatch(new Bytes(batch), out, first)
        })
      }
      out.text(']')
    },
  }
}

/** Runs a write of bytes of a collection, and says of an error where it is. */
const writing = (collection: string, bytes: Buffer, isList: boolean, write: () => void): void =>
  reading(collection, () => {
    try {
      write()
    } catch (error) {
      throw error instanceof WrongValue ? located(error, collection, bytes, isList) : error
    }
  })

const compile = (schema: TSchema, named: ReadonlyMap<string, TSchema>): Writer & { write: Write } => {
  const code: string[] = []
  const writer = new Compiler(named, code).writerOf(schema)
  const writers = [...Object.values(scalars), any].map(({ name, write }) => [name, write])
  const known = { ...Object.fromEntries(writers), wrong, missing, cstringEnd, valueEnd }
  const make = new Function(
    'known',
    `const { ${Object.keys(known)} } = known\n${code.join('\n')}\nreturn ${writer.name}`,
  )
  return { ...writer, write: make(known) }
}

const wrong = (type: number, at: number, expected: string): never => {
  throw new WrongValue(`is BSON ${typeNames.get(type)}, not ${expected}`, at)
}

const missing = (at: number, name: string): never => {
  throw new WrongValue('is missing', at, name)
}

const typeNames = new Map<number, string>(Object.entries(Bson).map(([name, type]) => [type, name]))

/** What JSON can say of a value of no declared shape, by its BSON type. */
const anyScalars = new Map(
  [scalars.string, scalars.number, scalars.boolean, scalars.instant, scalars.null].flatMap(({ bsonTypes, write }) =>
    bsonTypes.map((type) => [type, write]),
  ),
)

/** The head of every generated function. */
const HEAD = 'const { bytes } = input, { bytes: json, view } = output'

interface Field {
  /** The stored name. */
  name: string
  /** The name in JSON. */
  property: string
  required: boolean
  writer: Writer
}

class Compiler {
  readonly #named: ReadonlyMap<string, TSchema>
  readonly #code: string[]

  constructor(named: ReadonlyMap<string, TSchema>, code: string[]) {
    this.#named = named
    this.#code = code
  }

  writerOf(schema: TSchema): Writer {
    if (schema.$ref !== undefined) {
      const target = this.#named.get(schema.$ref)
      if (target === undefined) throw new Error(`No schema is named ${schema.$ref}`)
      return this.writerOf(target)
    }
    if (schema.anyOf !== undefined) return this.#union(schema.anyOf.map((branch: TSchema) => this.writerOf(branch)))
    switch (schema.type) {
      case 'object':
        return this.#object(schema)
      case 'array':
        return this.#array(this.writerOf(schema.items))
      case 'string':
        return schema.format === 'date-time' ? scalars.instant : scalars.string
      case 'number':
        return scalars.number
      case 'integer':
        return scalars.integer
      case 'boolean':
        return scalars.boolean
      case 'null':
        return scalars.null
      case undefined:
        return any
      default:
        throw new Error(`The serializer does not know the schema type ${schema.type}`)
    }
  }

  /** Adds a function, whose body ends by returning the place behind what it wrote. */
  #function(body: string): string {
    const name = `write${this.#code.length}`
    this.#code.push(`function ${name}(input, type, at, output, to) {\n${body}\n}`)
    return name
  }

  /** The first branch that has the value's BSON type writes it. */
  #union(branches: readonly Writer[]): Writer {
    const bsonTypes = [...new Set(branches.flatMap((branch) => branch.bsonTypes))]
    const cases = bsonTypes.map((type) => {
      const { name } = branches.find((branch) => branch.bsonTypes.includes(type)) as Writer
      return `case ${type}: return ${name}(input, type, at, output, to)`
    })
    return {
      name: this.#function(`switch (type) {\n${cases.join('\n')}\n}`),
      expected: branches.map((branch) => branch.expected).join(' or '),
      bsonTypes,
    }
  }

  #array(item: Writer): Writer {
    const name = this.#function(`
      ${HEAD}
      const last = at + input.view.getInt32(at, true) - 1
      json[to++] = ${openArray}
      for (let from = at + 4, next; from < last; from = next) {
        const type = bytes[from]
        const place = cstringEnd(bytes, from + 1, last)
        next = valueEnd(bytes, type, place, last)
        if (from > at + 4) json[to++] = ${comma}
        ${check(item, 'place')}
        to = ${item.name}(input, type, place, output, to)
      }
      json[to++] = ${closeArray}
      return to`)
    return { name, expected: 'an array', bsonTypes: [Bson.array] }
  }

  #object(schema: TSchema): Writer {
    const required = new Set<string>(schema.required ?? [])
    const fields = Object.entries<TSchema>(schema.properties).map(
      ([property, propertySchema]): Field => ({
        name: property === 'id' ? '_id' : property,
        property,
        required: required.has(property),
        writer: this.writerOf(propertySchema),
      }),
    )
    const name = this.#function(`
      ${HEAD}
      const start = to
      const last = at + input.view.getInt32(at, true) - 1
      ${fields.map((_, i) => `let place${i} = 0`).join('\n')}
      for (let from = at + 4; from < last; ) {
        const before = from
        ${fields.map(findField).join('\n')}
        if (from === before) from = valueEnd(bytes, bytes[from], cstringEnd(bytes, from + 1, last), last)
      }
      ${fields.map(writeField).join('\n')}
      if (to === start) json[to++] = ${openObject}
      json[to++] = ${closeObject}
      return to`)
    return { name, expected: 'an object', bsonTypes: [Bson.document] }
  }
}

/** Remembers the place of a field's value if the element at `from` is the field, and goes on behind it. */
const findField = ({ name }: Field, i: number): string => {
  const key = Buffer.from(`${name}\0`)
  const behind = `from + ${1 + key.length}`
  const tests = words(key).map(({ value, size, at }) =>
    size === 4 ? `input.view.getInt32(from + ${1 + at}, true) === ${value}` : `bytes[from + ${1 + at}] === ${value}`,
  )
  return `
    if (${[`${behind} <= last`, ...tests].join(' && ')}) {
      place${i} = ${behind}
      from = valueEnd(bytes, bytes[from], place${i}, last)
    }`
}

/** Writes the name and the value of a field that is there. */
const writeField = ({ name, property, required, writer }: Field, i: number, fields: readonly Field[]): string => {
  const type = `bytes[place${i} - ${2 + Buffer.byteLength(name)}]`
  const notNull = writer.bsonTypes.includes(Bson.null) ? '' : `&& type !== ${Bson.null}`
  const label = Buffer.from(`,${JSON.stringify(property)}:`)
  const padded = Buffer.concat([label, Buffer.alloc(-label.length & 3)])
  const isNeverFirst = fields.slice(0, i).some((field) => field.required)
  return `
    if (place${i} !== 0 && (type = ${type}) !== ${Bson.undefined} ${notNull}) {
      ${words(padded)
        .map(({ value, at }) => `view.setInt32(to + ${at}, ${value}, true)`)
        .join('\n')}
      ${isNeverFirst ? '' : `if (to === start) json[to] = ${openObject}`}
      ${check(writer, `place${i}`)}
      to = ${writer.name}(input, type, place${i}, output, to + ${label.length})
    }${required ? ` else missing(at, ${JSON.stringify(name)})` : ''}`
}

/** Throws unless the writer has the type. */
const check = ({ bsonTypes, expected }: Writer, place: string): string =>
  `if (${bsonTypes.map((type) => `type !== ${type}`).join(' && ')}) wrong(type, ${place}, ${JSON.stringify(expected)})`

/** Bytes as numbers: as many words of four as there are, then single bytes. */
const words = (bytes: Buffer): { value: number; size: 1 | 4; at: number }[] => {
  const whole = bytes.length & ~3
  const found = []
  for (let at = 0; at < whole; at += 4) found.push({ value: bytes.readInt32LE(at), size: 4 as const, at })
  for (let at = whole; at < bytes.length; at++) found.push({ value: bytes[at] as number, size: 1 as const, at })
  return found
}

/** Writes a value of no declared shape: whatever JSON can say of it. */
const any: ScalarWriter = {
  name: 'writeAny',
  expected: 'a value that JSON can say',
  bsonTypes: [Bson.document, Bson.array, ...anyScalars.keys()],
  write: (input, type, at, output, to) => writeNested(input, type, at, output, to, 0),
}

const writeNested = (input: Bytes, type: number, at: number, output: Bytes, begin: number, depth: number): number => {
  if (type !== Bson.document && type !== Bson.array) {
    const write = anyScalars.get(type) ?? wrong(type, at, any.expected)
    return write(input, type, at, output, begin)
  }
  if (depth === MAX_DEPTH) throw new WrongValue(`nests deeper than ${MAX_DEPTH} levels`, at)
  const isArray = type === Bson.array
  const { bytes } = output
  let to = begin
  bytes[to++] = isArray ? openArray : openObject
  for (const element of isArray ? elements(input.bytes, at) : members(input.bytes, at)) {
    if (to > begin + 1) bytes[to++] = comma
    if (!isArray) to += bytes.write(`${JSON.stringify(element.name)}:`, to)
    to = writeNested(input, element.type, element.at, output, to, depth + 1)
  }
  bytes[to++] = isArray ? closeArray : closeObject
  return to
}

/** The elements of the document at a place, of those with one name the last. */
const members = (bytes: Buffer, at: number): Iterable<Element> =>
  new Map(Array.from(elements(bytes, at), (element) => [element.name, element])).values()

/** The error with the collection, the id and the field that it is about, found by walking the bytes once more. */
const located = (error: WrongValue, collection: string, bytes: Buffer, isList: boolean): UnwritableDocument => {
  const path = pathTo(bytes, error.at, 0)
  const id = idOf(bytes, isList ? (path.shift() as Element) : { type: Bson.document, at: 0 })
  const names = path.map((element) => element.name)
  if (error.missing !== undefined) names.push(error.missing)
  return new UnwritableDocument(collection, id, names.join('.'), error.message)
}

/** The elements that lead from the document or array at a place to the value at another. */
const pathTo = (bytes: Buffer, place: number, start: number): Element[] => {
  let found: Element | undefined
  for (const element of place === start ? [] : elements(bytes, start)) {
    found = element
    if (place <= element.next) break
  }
  return found === undefined ? [] : [found, ...pathTo(bytes, place, found.at)]
}

/** The id of a document, as far as it has one. */
const idOf = (bytes: Buffer, { type, at }: Pick<Element, 'type' | 'at'>): string => {
  const id = type === Bson.document ? [...members(bytes, at)].find(({ name }) => name === '_id') : undefined
  if (id?.type === Bson.string) return bytes.toString('utf8', id.at + 4, id.next - 1)
  if (id?.type === Bson.objectId) return bytes.toString('hex', id.at, id.next)
  return '?'
}
