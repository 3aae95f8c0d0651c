// Generates the code that walks through a BSON document by a schema and writes what it finds. It is generated, so that
// every field name in it is a constant. `CodeGenerator` writes JSON; a format with columns walks in the same way (columns.ts).
import type { TSchema } from '@sinclair/typebox'
import { annotationOf, isJoined, joined, storedBranches } from '../../../schemas/kit.js'
import { Bson } from '../bson/reader.js'
import { any, closeArray, closeObject, comma, openArray, openObject } from './any.js'
import { scalars, type Writer } from './scalars.js'

/** The first line of each generated function. */
const DESTRUCTURE_BUFFERS = 'const { bytes } = input, { bytes: json, view } = output'

export interface Field {
  /** The stored name. */
  name: string
  /** The name in a response. */
  property: string
  required: boolean
  writer: Writer
}

/**
 * Generates the code of a schema. For `Type.Object({ size: Type.Optional(Type.Number()) })` it is:
 *
 * function write0(input, type, at, output, to) {
 *   const { bytes } = input, { bytes: json, view } = output
 *   const start = to
 *   const last = at + input.view.getInt32(at, true) - 1
 *   let place0 = 0  // where the value of size begins; 0 if it was not found
 *   for (let from = at + 4; from < last; ) {
 *     const before = from
 *     if (from + 6 <= last && input.view.getInt32(from + 1, true) === 1702521203 && bytes[from + 5] === 0) {  // "size\0"
 *       place0 = from + 6
 *       from = valueEnd(bytes, bytes[from], place0, last)
 *     }
 *     if (from === before) from = valueEnd(bytes, bytes[from], cstringEnd(bytes, from + 1, last), last)
 *   }
 *   if (place0 !== 0 && (type = bytes[place0 - 6]) !== 6 && type !== 10) {  // neither undefined nor null
 *     view.setInt32(to + 0, 1769153068, true)  // ,"si
 *     view.setInt32(to + 4, 975332730, true)  // ze":
 *     if (to === start) json[to] = 123  // the first field begins with { instead of a comma
 *     if (type !== 1 && type !== 16 && type !== 18) wrongType(type, place0, "a number")
 *     to = writeNumber(input, type, place0, output, to + 8)
 *   }
 *   if (to === start) json[to++] = 123
 *   json[to++] = 125
 *   return to
 * }
 */
export class CodeGenerator {
  /** The functions that were generated. Each stands before its callers. */
  readonly code: string[] = []

  constructor(readonly named: ReadonlyMap<string, TSchema>) {}

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
    if (schema.anyOf !== undefined) return this.#union(storedBranches(schema).map((branch) => this.writerOf(branch)))
    if (annotationOf(schema).listed) return this.#listed()
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
        throw new Error(`The writer does not know the schema type ${schema.type}`)
    }
  }

  /** Adds a function with a body that returns the place after its output. Returns the function's name. */
  function(body: string): string {
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
      name: this.function(`switch (type) {\n${cases.join('\n')}\n}`),
      expected: branches.map((branch) => branch.expected).join(' or '),
      bsonTypes,
    }
  }

  /** A function that writes an array of texts, also for a single value. */
  #listed(): Writer {
    const item = scalars.text
    const array = this.#array(item)
    const name = this.function(`
      if (type === ${Bson.array}) return ${array.name}(input, type, at, output, to)
      output.bytes[to++] = ${openArray}
      to = ${item.name}(input, type, at, output, to)
      output.bytes[to++] = ${closeArray}
      return to`)
    return { name, expected: 'a string, a number or an array', bsonTypes: [Bson.array, ...item.bsonTypes] }
  }

  #array(item: Writer): Writer {
    const name = this.function(`
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
    const fields = this.fieldsOf(schema, (property) => this.writerOf(property))
    return this.walk(
      fields,
      `${fields.map(writeField).join('\n')}
      if (to === start) json[to++] = ${openObject}
      json[to++] = ${closeObject}`,
    )
  }

  /** The fields of an object in the order of its schema. */
  fieldsOf({ properties, required = [] }: TSchema, writerOf: (schema: TSchema, property: string) => Writer): Field[] {
    return Object.entries<TSchema>(properties).map(([property, schema]) => ({
      name: property === 'id' ? '_id' : property,
      property,
      required: required.includes(property),
      writer: writerOf(schema, property),
    }))
  }

  /** A function that finds the fields of an object, and then writes them by the given code. */
  walk(fields: readonly Field[], writing: string): Writer {
    const name = this.function(`
      ${DESTRUCTURE_BUFFERS}
      const start = to
      const last = at + input.view.getInt32(at, true) - 1
      ${fields.map((_, i) => `let place${i} = 0`).join('\n')}
      for (let from = at + 4; from < last; ) {
        const before = from
        ${fields.map(findField).join('\n')}
        if (from === before) from = valueEnd(bytes, bytes[from], cstringEnd(bytes, from + 1, last), last)
      }
      ${writing}
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
const writeField = (field: Field, i: number, fields: readonly Field[]): string => {
  const isNeverFirst = fields.slice(0, i).some(({ required }) => required)
  const label = writeText(`,${JSON.stringify(field.property)}:`)
  const first = isNeverFirst ? '' : `if (to === start) json[to] = ${openObject}`
  return ifPresent(field, i, { ...label, code: `${label.code}\n${first}` })
}

/** Code that writes `label` and the value of a field, if the document has it, and runs `otherwise` if it does not. */
export const ifPresent = ({ name, required, writer }: Field, i: number, label: Text, otherwise = ''): string => {
  const type = `bytes[place${i} - ${2 + Buffer.byteLength(name)}]`
  const notNull = writer.bsonTypes.includes(Bson.null) ? '' : `&& type !== ${Bson.null}`
  const absent = required ? `missing(at, ${JSON.stringify(name)})` : otherwise
  return `
    if (place${i} !== 0 && (type = ${type}) !== ${Bson.undefined} ${notNull}) {
      ${label.code}
      ${check(writer, `place${i}`)}
      to = ${writer.name}(input, type, place${i}, output, to + ${label.length})
    }${absent === '' ? '' : ` else ${absent}`}`
}

/** Code that writes a text, and the length of the text in bytes. The code may write up to three bytes behind the text. */
export type Text = ReturnType<typeof writeText>

export const writeText = (text: string) => {
  const { length } = Buffer.from(text)
  const padded = Buffer.concat([Buffer.from(text), Buffer.alloc(-length & 3)])
  const code = words(padded).map(({ value, at }) => `view.setInt32(to + ${at}, ${value}, true)`)
  return { code: code.join('\n'), length }
}

/** Code that throws if the writer does not support the value's type. */
const check = ({ bsonTypes, expected, isJoined = false }: Writer, place: string): string => {
  const tests = bsonTypes.map((type) => `type !== ${type}`)
  const reason = isJoined ? `notJoined(${place}` : `wrongType(type, ${place}`
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
