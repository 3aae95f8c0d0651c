// Compiles a response schema into a writer that turns BSON bytes into JSON bytes. The writer outputs only the fields of the
// schema, in the schema's order, with `_id` as `id`. It creates no JavaScript objects for documents. The code for objects
// is generated, so that every field name in it is a constant. docs/serializer.md lists how each BSON type is written.
import type { TSchema } from '@sinclair/typebox'
import { isJoined, isListed, joined } from '../../schemas/kit.js'
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
import type { Output } from './output.js'
import { OVERHANG, ROOM, type ScalarWriter, scalars, type Write, type Writer, WrongValue } from './scalars.js'

/** How deep values of Type.Unknown may nest. MongoDB stores at most 100 levels. */
const MAX_DEPTH = 100

const comma = 0x2c
const openObject = 0x7b
const closeObject = 0x7d
const openArray = 0x5b
const closeArray = 0x5d

/** Compiles a writer for the documents of a schema. `named` are the schemas that a `$ref` may name. */
export const compileDocuments = (schema: TSchema, named: ReadonlyMap<string, TSchema>) => {
  const { bsonTypes, expected, write } = compile(schema, named)

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
const writing = <T>(collection: string, bytes: Buffer, isList: boolean, write: () => T): T =>
  reading(collection, () => {
    try {
      return write()
    } catch (error) {
      throw error instanceof WrongValue ? located(error, collection, bytes, isList) : error
    }
  })

const compile = (schema: TSchema, named: ReadonlyMap<string, TSchema>): Writer & { write: Write } => {
  const { writer, code } = generate(schema, named)
  const writers = [...Object.values(scalars), any].map(({ name, write }) => [name, write])
  const known = { ...Object.fromEntries(writers), wrong, notJoined, missing, cstringEnd, valueEnd }
  const make = new Function('known', `const { ${Object.keys(known)} } = known\n${code}\nreturn ${writer.name}`)
  return { ...writer, write: make(known) }
}

/** The generated functions for a schema, and the one that writes its values. */
export const generate = (schema: TSchema, named: ReadonlyMap<string, TSchema>): { writer: Writer; code: string } => {
  const code: string[] = []
  const writer = new Compiler(named, code).writerOf(schema)
  return { writer, code: code.join('\n') }
}

const wrong = (type: number, at: number, expected: string): never => {
  throw new WrongValue(`is BSON ${typeNames.get(type)}, not ${expected}`, at)
}

/** What stands there was stored in place of an id. Its type is not known: a join leaves another value behind. */
const notJoined = (at: number, expected: string): never => {
  throw new WrongValue(`is not ${expected}`, at)
}

const missing = (at: number, name: string): never => {
  throw new WrongValue('is missing', at, name)
}

const typeNames = new Map<number, string>(Object.entries(Bson).map(([name, type]) => [type, name]))

/** The writers for the scalars of Type.Unknown, by BSON type. */
const anyScalars = new Map(
  [scalars.string, scalars.number, scalars.boolean, scalars.instant, scalars.null].flatMap(({ bsonTypes, write }) =>
    bsonTypes.map((type) => [type, write]),
  ),
)

/** The first line of each generated function. */
const DESTRUCTURE_BUFFERS = 'const { bytes } = input, { bytes: json, view } = output'

interface Field {
  /** The stored name. */
  name: string
  /** The name in JSON. */
  property: string
  required: boolean
  writer: Writer
}

/**
 * Generates the code of a schema. For `Type.Object({ id: Type.String(), size: Type.Optional(Type.Number()) })` it is:
 *
 * function write0(input, type, at, output, to) {
 *   const { bytes } = input, { bytes: json, view } = output
 *   const start = to
 *   const last = at + input.view.getInt32(at, true) - 1
 *   let place0 = 0  // where the value of _id begins; 0 if it was not found
 *   let place1 = 0  // the same for size
 *   for (let from = at + 4; from < last; ) {
 *     const before = from
 *     if (from + 5 <= last && input.view.getInt32(from + 1, true) === 6580575) {  // "_id\0" as one number
 *       place0 = from + 5
 *       from = valueEnd(bytes, bytes[from], place0, last)
 *     }
 *     if (from + 6 <= last && input.view.getInt32(from + 1, true) === 1702521203 && bytes[from + 5] === 0) {
 *       place1 = from + 6
 *       from = valueEnd(bytes, bytes[from], place1, last)
 *     }
 *     if (from === before) from = valueEnd(bytes, bytes[from], cstringEnd(bytes, from + 1, last), last)
 *   }
 *   if (place0 !== 0 && (type = bytes[place0 - 5]) !== 6 && type !== 10) {  // neither undefined nor null
 *     view.setInt32(to + 0, 1684611628, true)  // ,"id
 *     view.setInt32(to + 4, 14882, true)  // ":
 *     if (to === start) json[to] = 123  // the first field begins with { instead of a comma
 *     if (type !== 2 && type !== 7) wrong(type, place0, "a string")
 *     to = writeString(input, type, place0, output, to + 6)
 *   } else missing(at, "_id")
 *   if (place1 !== 0 && (type = bytes[place1 - 6]) !== 6 && type !== 10) {
 *     view.setInt32(to + 0, 1769153068, true)  // ,"si
 *     view.setInt32(to + 4, 975332730, true)  // ze":
 *     if (type !== 1 && type !== 16 && type !== 18) wrong(type, place1, "a number")
 *     to = writeNumber(input, type, place1, output, to + 8)
 *   }
 *   if (to === start) json[to++] = 123
 *   json[to++] = 125
 *   return to
 * }
 */
class Compiler {
  constructor(
    readonly named: ReadonlyMap<string, TSchema>,
    readonly code: string[],
  ) {}

  writerOf(schema: TSchema): Writer {
    if (!isJoined(schema)) return this.#writerOf(schema)
    const isArray = schema.type === 'array'
    const writer = isArray ? this.#array(this.writerOf(joined(schema.items))) : this.#writerOf(schema)
    return { ...writer, expected: isArray ? 'an array of ids' : 'an id', isJoined: true }
  }

  #writerOf(schema: TSchema): Writer {
    if (schema.$ref !== undefined) {
      const target = this.named.get(schema.$ref)
      if (target === undefined) throw new Error(`No schema is named ${schema.$ref}`)
      return this.writerOf(target)
    }
    if (schema.anyOf !== undefined) {
      // A record in place of its id is only in responses that expand it, whose schema has no union there.
      const stored: TSchema[] = schema.anyOf.filter((branch: TSchema) => !isJoined(branch))
      return this.#union(stored.map((branch) => this.writerOf(branch)))
    }
    if (isListed(schema)) return this.#listed()
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

  /** Adds a function with a body that returns the place after its output. Returns the function's name. */
  #function(body: string): string {
    const name = `write${this.code.length}`
    this.code.push(`function ${name}(input, type, at, output, to) {\n${body}\n}`)
    return name
  }

  /** A function that lets the first branch with the value's BSON type write it. */
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

  /** A function that writes an array of texts, also for a single value. */
  #listed(): Writer {
    const item = scalars.text
    const array = this.#array(item)
    const name = this.#function(`
      if (type === ${Bson.array}) return ${array.name}(input, type, at, output, to)
      output.bytes[to++] = ${openArray}
      to = ${item.name}(input, type, at, output, to)
      output.bytes[to++] = ${closeArray}
      return to`)
    return { name, expected: 'a string, a number or an array', bsonTypes: [Bson.array, ...item.bsonTypes] }
  }

  #array(item: Writer): Writer {
    const name = this.#function(`
      ${DESTRUCTURE_BUFFERS}
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
      ${DESTRUCTURE_BUFFERS}
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

/** Code that checks whether the element at `from` is the field. If so, it stores the value's place and moves past it. */
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

/** Code that writes the name and the value of a field, if the document has it. */
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

/** Code that throws if the writer does not support the value's type. */
const check = ({ bsonTypes, expected, isJoined = false }: Writer, place: string): string => {
  const tests = bsonTypes.map((type) => `type !== ${type}`)
  const reason = isJoined ? `notJoined(${place}` : `wrong(type, ${place}`
  return `if (${tests.join(' && ')}) ${reason}, ${JSON.stringify(expected)})`
}

/** Bytes as numbers: words of four bytes as long as possible, then single bytes. */
const words = (bytes: Buffer): { value: number; size: 1 | 4; at: number }[] => {
  const whole = bytes.length & ~3
  const found = []
  for (let at = 0; at < whole; at += 4) found.push({ value: bytes.readInt32LE(at), size: 4 as const, at })
  for (let at = whole; at < bytes.length; at++) found.push({ value: bytes[at] as number, size: 1 as const, at })
  return found
}

/** Writes a value of Type.Unknown. */
const any: ScalarWriter = {
  name: 'writeAny',
  expected: 'a value that JSON can represent',
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

/** The elements of the document at a place. If several have the same name, only the last is one of them. */
const members = (bytes: Buffer, at: number): Iterable<Element> =>
  new Map(Array.from(elements(bytes, at), (element) => [element.name, element])).values()

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
