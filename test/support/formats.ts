// What the tests of formats have in common: documents that are hard to write, and what the writer of JSON says of them.
import type { TSchema } from '@sinclair/typebox'
import fc from 'fast-check'
import { namedSchemas } from '../../schemas/index.js'
import { type BsonDocument, type BsonList, Bytes } from '../../src/core/bson/reader.js'
import { jsonArray } from '../../src/core/write/json.js'
import { Output } from '../../src/core/write/output.js'
import { type OnFailure, type RowFormat, writeAll } from '../../src/core/write/rows.js'
import { compileDocuments } from '../../src/core/write/writer.js'
import { malformed, storedDocuments, texts, wellFormed } from './oracle.js'
import { type Elements, listOf } from './stored.js'

/** Has no more room than was asked for, so that what is written behind it is an error or is lost. */
export class TightOutput extends Output {
  override reserve(count: number): void {
    const tight = new Bytes(Buffer.alloc(this.length + count, 0xee))
    this.target.bytes.copy(tight.bytes, 0, 0, this.length)
    this.target = tight
  }
}

/** A record that does not fit, without the stack of its error. */
export interface Failure {
  readonly collection: string
  readonly id: string
  readonly field: string
  readonly message: string
}

/** The file of a list in a format, the records that it leaves out, and how often other work had its turn. */
export const fileOf = (
  format: RowFormat,
  { documents }: { documents: readonly BsonDocument[] },
  out: Output = new TightOutput(),
) => {
  const failures: Failure[] = []
  const onFailure: OnFailure = (_, { collection, id, field, message }) => {
    failures.push({ collection, id, field, message })
  }
  const { length: turns } = [...writeAll(documents, format, out, onFailure)]
  return { text: out.take().toString(), failures, turns }
}

/** Columns that are named as their questions. */
export const asColumns = (questions: readonly string[]) => questions.map((question) => ({ question, name: question }))

/** A record as JSON has it. */
export type Item = Record<string, unknown>

/** The items of a list as the writer of JSON has them, and the records that do not fit. */
export const itemsOf = (schema: TSchema, list: BsonList, named = namedSchemas) => {
  const { text, failures } = fileOf(jsonArray(compileDocuments({ schema, named })), list, new Output())
  return { items: JSON.parse(text) as Item[], failures }
}

export const resolve = (schema: TSchema, named = namedSchemas): TSchema =>
  (schema.$ref === undefined ? schema : named.get(schema.$ref)) as TSchema

/** The values of an item that are no objects of its schema, in the order of the schema, by their paths. */
export const flattened = (schema: TSchema, item: Item | undefined, prefix = ''): [path: string, value: unknown][] =>
  Object.entries<TSchema>(resolve(schema).properties).flatMap(([name, property]) =>
    resolve(property).type === 'object'
      ? flattened(property, item?.[name] as Item | undefined, `${prefix}${name}.`)
      : [[`${prefix}${name}`, item?.[name]]],
  )

/** Texts that break a careless format. */
export const hostileTexts = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'",\r\n\t=+-@&<_xA0\ufffe＝\0\u202e\u05d0\u2028\u{1f600};\' 1.e') }),
  fc.constantFrom('', '-12.5', '-1e9', '-', '-1-1', '=1+1', '\ufeff', '"', '""', ',', '\r\n', "'", '; ', 'null'),
  fc.string({ unit: fc.constant('"') }),
  texts,
)

const hostile = {
  strings: fc.oneof({ weight: 6, arbitrary: hostileTexts }, { weight: 1, arbitrary: malformed.strings }),
  anything: fc.oneof(wellFormed.anything, hostileTexts),
}

/** Documents that fit a schema. */
export const hostileDocuments = (schema: TSchema): fc.Arbitrary<Elements> => storedDocuments(schema, hostile)

/** Documents of a schema in which one field is missing or has another type, somewhere. */
export const misfits = (schema: TSchema): fc.Arbitrary<Elements> =>
  fc
    .tuple(fc.constantFrom(...pathsIn(schema)), fc.constantFrom<TSchema | undefined>(undefined, ...others))
    .chain(([path, other]) => hostileDocuments(changed(schema, path, other)))

const others: readonly TSchema[] = [
  { type: 'string' },
  { type: 'number' },
  { type: 'boolean' },
  { type: 'string', format: 'date-time' },
  { type: 'array', items: { type: 'boolean' } },
  { type: 'object', properties: { other: { type: 'number' } } },
].map((each) => each as unknown as TSchema)

/** The names on the way to each property of a schema. `items` leads into an array. */
const pathsIn = (unresolved: TSchema): string[][] => {
  const schema = resolve(unresolved)
  if (schema.type === 'array') return [['items'], ...pathsIn(schema.items).map((path) => ['items', ...path])]
  return Object.entries<TSchema>(schema.properties ?? {}).flatMap(([name, property]) => [
    [name],
    ...pathsIn(property).map((path) => [name, ...path]),
  ])
}

/** A schema with another property at a path, or without it. */
const changed = (unresolved: TSchema, [name = '', ...path]: readonly string[], other?: TSchema): TSchema => {
  const schema = resolve(unresolved)
  const change = (property: TSchema) =>
    path.length > 0 ? changed(property, path, other) : (other ?? { ...property, type: 'object', properties: {} })
  if (schema.type === 'array') return { ...schema, items: change(schema.items) }
  const { [name]: property, ...rest } = schema.properties
  const isRemoved = path.length === 0 && other === undefined
  return { ...schema, properties: isRemoved ? rest : { ...schema.properties, [name]: change(property) } }
}

/** Lists of documents, some of which do not fit. */
export const mixedLists = (schema: TSchema, collection: string): fc.Arbitrary<BsonList> =>
  fc
    .array(fc.oneof({ weight: 3, arbitrary: hostileDocuments(schema) }, { weight: 1, arbitrary: misfits(schema) }), {
      maxLength: 6,
    })
    .map((documents) => listOf(documents, collection))
