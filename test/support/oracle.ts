// The expected output of the serializer, computed in a simple way: turn the bytes into objects, pick the fields of the
// schema, and call JSON.stringify. Also generates stored documents that fit a schema, in all forms in which they may be
// stored.

import type { TSchema } from '@sinclair/typebox'
import fc from 'fast-check'
import { BSON } from 'mongodb'
import { namedSchemas } from '../../schemas/index.js'
import { annotationOf, isJoined } from '../../schemas/kit.js'
import type { BsonList } from '../../src/core/bson/reader.js'
import { objectsOf } from './bson.js'
import { type Elements, stored } from './stored.js'
import { anyText } from './texts.js'

const storedName = (property: string) => (property === 'id' ? '_id' : property)

const resolve = (schema: TSchema): TSchema =>
  schema.$ref === undefined ? schema : (namedSchemas.get(schema.$ref) as TSchema)

/** JSON in which what some programs take for the end of a line is escaped. */
export const oneLine = (json: string): string =>
  json.replaceAll('\u0085', '\\u0085').replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')

/** The JSON of all documents of a list. */
export const expectedJson = (schema: TSchema, list: BsonList): string =>
  JSON.stringify(objectsOf(list, { validation: { utf8: false } }).map((document) => pick(schema, document)))

const pick = (unresolved: TSchema, value: unknown): unknown => {
  const schema = resolve(unresolved)
  if (schema.anyOf !== undefined) {
    const branch = storedBranches(schema).find((each) => fits(each, value)) as TSchema
    return pick(branch, value)
  }
  if (annotationOf(schema).listed) return [value].flat().map((item) => (typeof item === 'number' ? String(item) : item))
  if (schema.type === 'array') return (value as unknown[]).map((item) => pick(schema.items, item))
  if (schema.type !== 'object') return value
  const document = value as Record<string, unknown>
  const fields = Object.entries<TSchema>(schema.properties)
    .filter(([name]) => Object.hasOwn(document, storedName(name)))
    .map(([name, property]) => ({ name, property, value: document[storedName(name)] }))
    .filter(({ property, value }) => value !== undefined && (value !== null || fits(property, null)))
  return Object.fromEntries(fields.map(({ name, property, value }) => [name, pick(property, value)]))
}

/** The branches of a union that a stored value may have. A joined one is only in responses that expand an id. */
const storedBranches = ({ anyOf }: TSchema): TSchema[] => anyOf.filter((branch: TSchema) => !isJoined(branch))

/** Whether a value has the type of a schema, as precisely as the branches of unions need it. */
const fits = (unresolved: TSchema, value: unknown): boolean => {
  const schema = resolve(unresolved)
  if (schema.anyOf !== undefined) return schema.anyOf.some((branch: TSchema) => fits(branch, value))
  switch (schema.type) {
    case undefined:
      return true
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'boolean':
      return typeof value === 'boolean'
    case 'number':
    case 'integer':
      return typeof value === 'number'
    case 'string':
      if (schema.format === 'date-time') return value instanceof Date
      return typeof value === 'string' || value instanceof BSON.ObjectId
    default:
      return typeof value === 'object' && value !== null && !Array.isArray(value) && !isScalar(value)
  }
}

const isScalar = (value: object) => value instanceof Date || value instanceof BSON.ObjectId

/** JavaScript strings with any code units, so also with lone surrogates. */
export const texts = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  anyText,
  fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)) }),
  fc.string({ unit: fc.constantFrom(...'\0\b\t\n\v\f\r\x1b\x1f "/\\<\x7f\x80\u2028\u2029é€😀\ud800\udfff') }),
)

const numbers = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.integer({ min: -1000, max: 1000 }).map((value) => new BSON.Double(value)),
  fc.maxSafeInteger().map((value) => BSON.Long.fromNumber(value)),
)
const integers = fc.oneof(
  fc.integer(),
  fc.maxSafeInteger(),
  fc.maxSafeInteger().map((value) => BSON.Long.fromNumber(value)),
)
const dates = fc.oneof(
  fc.date({ noInvalidDate: true, min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59.999Z') }),
  fc.integer().map((value) => new Date(1000 * value)),
)
const objectIds = fc.uint8Array({ minLength: 12, maxLength: 12 }).map((bytes) => new BSON.ObjectId(bytes))
/** Names of members. Numbers are left out, because a JavaScript object puts them first. */
export const names = texts
  .map((text) => text.replaceAll('\0', ''))
  .filter((name) => !/^[0-9$]/.test(name) && name !== '_bsontype' && name !== 'toJSON')

/** Arbitraries for strings, and for values that contain them. */
interface Wording {
  strings: fc.Arbitrary<unknown>
  /** Any value that JSON can represent. */
  anything: fc.Arbitrary<unknown>
}

const wording = (strings: Wording['strings']): Wording => ({
  strings,
  anything: fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.oneof(strings, numbers, fc.boolean(), dates, fc.constant(null)),
      fc.array(tie('value'), { maxLength: 4 }).map(stored.array),
      fc.array(fc.tuple(names, tie('value')), { maxLength: 4 }).map(stored.document),
    ),
  })).value,
})

/** Strings of valid UTF-8. */
export const wellFormed = wording(fc.oneof({ weight: 6, arbitrary: texts }, { weight: 1, arbitrary: objectIds }))
/** Strings that may be invalid UTF-8. */
export const malformed = wording(fc.oneof(texts, fc.uint8Array({ maxLength: 8 }).map(stored.string)))

/** Values that no schema allows, but that other stored fields may have. */
const oddities = fc.constantFrom<unknown>(
  new BSON.Binary(Buffer.from('bin')),
  new BSON.BSONRegExp('a', 'i'),
  new BSON.Code('f()'),
  new BSON.Code('f()', { a: 1 }),
  new BSON.Timestamp({ t: 1, i: 2 }),
  new BSON.Decimal128('1.5'),
  Number.NaN,
  stored.minKey,
  stored.maxKey,
  stored.symbol,
  stored.undefined,
)

/** Stored values that fit a schema. */
export const storedValues = (unresolved: TSchema, words: Wording): fc.Arbitrary<unknown> => {
  const schema = resolve(unresolved)
  if (schema.anyOf !== undefined)
    return fc.oneof(...storedBranches(schema).map((branch) => storedValues(branch, words)))
  if (annotationOf(schema).listed) {
    const item = fc.oneof(words.strings, numbers)
    return fc.oneof(item, fc.array(item, { maxLength: 4 }).map(stored.array))
  }
  switch (schema.type) {
    case undefined:
      return words.anything
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    case 'number':
      return annotationOf(schema).whole ? integers : numbers
    case 'integer':
      return integers
    case 'string':
      return schema.format === 'date-time' ? dates : words.strings
    case 'array':
      return fc.array(storedValues(schema.items, words), { maxLength: 4 }).map(stored.array)
    default:
      return storedDocuments(schema, words).map(stored.document)
  }
}

/**
 * Stored documents that fit the schema of an object: its fields in any order and mixed with others. Fields in front may
 * have a name that occurs again, in which case the later one counts.
 */
export const storedDocuments = (unresolved: TSchema, words: Wording): fc.Arbitrary<Elements> => {
  const schema = resolve(unresolved)
  const required = new Set<string>(schema.required)
  const properties = Object.entries<TSchema>(schema.properties)
  const taken = new Set(properties.map(([name]) => storedName(name)))
  const fields = properties.map(([name, property]) => {
    const values = storedValues(property, words)
    return fc
      .tuple(required.has(name) ? values : fc.oneof({ weight: 4, arbitrary: values }, absent(property)), fc.nat())
      .map(([value, order]) => ({ name: storedName(name), value, order }))
  })
  const others = fc.array(fc.record({ name: names, value: fc.oneof(words.anything, oddities), order: fc.nat() }), {
    maxLength: 2,
  })
  const replaced = fc.array(fc.tuple(fc.constantFrom('_id', ...taken), fc.oneof(words.anything, oddities)), {
    maxLength: 1,
  })
  return fc.tuple(fc.tuple(...fields), others, replaced).map(([own, extra, before]) => [
    ...before.filter(([name]) => own.some((field) => field.name === name && field.value !== leftOut)),
    ...[...own, ...extra.filter(({ name }) => !taken.has(Buffer.from(name).toString()))]
      .filter(({ value }) => value !== leftOut)
      .sort((a, b) => a.order - b.order)
      .map(({ name, value }) => [name, value] as const),
  ])
}

const leftOut = Symbol('left out')

/** The ways in which an optional field may be missing. */
const absent = (property: TSchema): fc.Arbitrary<unknown> =>
  fc.constantFrom<unknown>(leftOut, stored.undefined, ...(fits(property, null) ? [] : [null]))
