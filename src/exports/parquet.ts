// Makes Parquet of lines of JSON. A group of rows takes it 50 to 250 ms.
import type { TSchema } from '@sinclair/typebox'
import type { SchemaElement } from 'hyparquet'
import { ByteWriter, geojsonToWkb, ParquetWriter } from 'hyparquet-writer'
import { isOnEarth } from '../../schemas/earth.js'
import { annotationOf, storedBranches } from '../../schemas/kit.js'
import type { Column as Shown } from '../core/write/columns.js'
import type { FileEncoder } from './job.js'

/** A group of rows is held in memory until it is written. It ends at whichever comes first: rows, or bytes of JSON. */
const GROUP_ROWS = 2000
const GROUP_BYTES = 8 * 1024 * 1024
const NEWLINE = 0x0a

const GEOMETRY = 'geometry'
/** The columns of a place, as the contract spells them. */
const PLACE = ['location.coordinates.longitude', 'location.coordinates.lattitude'] as const

type Row = Readonly<Record<string, unknown>>

/** A column, with the values of the rows that were added. A missing one is undefined. */
interface Column {
  readonly name: string
  readonly elements: readonly SchemaElement[]
  /** Whether a group tells the least and the largest value. */
  readonly statistics: boolean
  readonly valueIn: (row: Row) => unknown
  data: unknown[]
}

export class ParquetEncoder implements FileEncoder {
  readonly #columns: readonly Column[]
  /** West, south, east and north of all points so far. */
  #bounds: [number, number, number, number] | undefined
  readonly #output = new ByteWriter()
  readonly #writer: ParquetWriter
  #rows = 0

  /** @param named the schemas that a `$ref` may name */
  constructor(shown: readonly Shown[], named: Named) {
    const columns = shown.map((column) => columnOf(column, named))
    const hasPlaces = PLACE.every((place) => shown.some(({ name }) => name === place))
    this.#columns = hasPlaces ? [...columns, this.#geometry()] : columns
    const elements = this.#columns.flatMap(({ elements }) => elements)
    const schema = [{ name: 'root', num_children: this.#columns.length }, ...elements]
    this.#writer = new ParquetWriter({ writer: this.#output, schema })
  }

  /** Adds rows. Returns the bytes of the file that are ready. Nothing of the rows is held any more. */
  write(lines: Buffer): Uint8Array {
    let group = 0
    for (let start = 0; start < lines.length; ) {
      const end = lines.indexOf(NEWLINE, start)
      const row: Row = JSON.parse(lines.toString('utf8', start, end))
      for (const { valueIn, data } of this.#columns) data.push(valueIn(row))
      this.#rows += 1
      start = end + 1
      if (this.#rows < GROUP_ROWS && start - group < GROUP_BYTES) continue
      this.#writeGroup()
      group = start
    }
    this.#writeGroup()
    return this.#take()
  }

  /** Returns the rest of the file. A file with places is a map layer by the metadata of GeoParquet 1.1. */
  end(): Uint8Array {
    if (this.#columns.at(-1)?.name === GEOMETRY) {
      // Without a coordinate system it is longitude and latitude, CRS84.
      const column = { encoding: 'WKB', geometry_types: ['Point'], bbox: this.#bounds }
      const value = { version: '1.1.0', primary_column: GEOMETRY, columns: { [GEOMETRY]: column } }
      this.#writer.kvMetadata = [{ key: 'geo', value: JSON.stringify(value) }]
    }
    this.#writer.finish()
    return this.#take()
  }

  /** The column of points: one for each row that has a place on the earth. */
  #geometry(): Column {
    const valueIn = (row: Row): Uint8Array | undefined => {
      const [x, y] = PLACE.map((place) => row[place])
      if (typeof x !== 'number' || typeof y !== 'number' || !isOnEarth(x, y)) return undefined
      const [west, south, east, north] = this.#bounds ?? [x, y, x, y]
      this.#bounds = [Math.min(west, x), Math.min(south, y), Math.max(east, x), Math.max(north, y)]
      return geojsonToWkb({ type: 'Point', coordinates: [x, y] })
    }
    const element = { name: GEOMETRY, type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL' } as const
    return { name: GEOMETRY, elements: [element], statistics: false, valueIn, data: [] }
  }

  #writeGroup(): void {
    if (this.#rows === 0) return
    const columnData = this.#columns.map(({ name, data, statistics }) => ({ name, data, statistics }))
    this.#writer.write({ columnData, rowGroupSize: this.#rows })
    for (const column of this.#columns) column.data = []
    this.#rows = 0
  }

  #take(): Uint8Array {
    const bytes = new Uint8Array(this.#output.getBuffer())
    this.#output.index = 0
    return bytes
  }
}

const columnOf = ({ name, schema }: Shown, named: Named): Column => {
  const { elements, convert } = encodingOf(name, schema, named)
  return {
    name,
    elements,
    // They let a reader skip groups. Those of texts hardly do, and are held until the end.
    statistics: ['DOUBLE', 'INT64'].includes(String(elements[0]?.type)),
    valueIn(row) {
      // A question may be called like a member of every object.
      const value = Object.hasOwn(row, name) ? row[name] : undefined
      return value === undefined || convert === undefined ? value : convert(value)
    },
    data: [],
  }
}

type Named = ReadonlyMap<string, TSchema>

interface Encoding {
  /** The element of the value itself, and then the elements of the values in it. */
  readonly elements: readonly SchemaElement[]
  /** Turns what JSON has for the value into what the Parquet writer takes, in place; undefined if these are the same. */
  readonly convert?: ((value: unknown) => unknown) | undefined
  /** The same value as an item of a list, if it is a list. */
  readonly item?: Encoding
}

const encodingOf = (name: string, schema: TSchema, named: Named): Encoding => {
  const element = { name, repetition_type: 'OPTIONAL' } as const
  const { whole } = annotationOf(schema)
  if (schema.$ref !== undefined) return encodingOf(name, named.get(schema.$ref) as TSchema, named)
  if (schema.anyOf !== undefined) return unionOf(name, storedBranches(schema), named)
  // A single stored value is a list of one.
  if (schema.type === 'array') return listOf(name, schema.items, named)
  if (schema.type === 'object') {
    const properties = Object.entries<TSchema>(schema.properties)
    const members = properties.map(([name, property]) => ({ name, ...encodingOf(name, property, named) }))
    return {
      elements: [{ ...element, num_children: members.length }, ...members.flatMap(({ elements }) => elements)],
      convert(value) {
        const object = value as Record<string, unknown>
        for (const { name, convert } of members)
          if (convert !== undefined && object[name] !== undefined) object[name] = convert(object[name])
        return object
      },
    }
  }
  const kind = whole ? 'integer' : schema.format === 'date-time' ? 'time' : (schema.type ?? 'any')
  const scalar = scalars[kind]
  if (scalar === undefined) throw new Error(`A Parquet file has no column for the schema type ${kind}`)
  const { convert, ...more } = scalar
  return { elements: [{ ...element, ...more }], convert }
}

const listOf = (name: string, items: TSchema, named: Named): Encoding => {
  const item = encodingOf('element', items, named)
  const { convert } = item
  return {
    item,
    elements: [
      { name, repetition_type: 'OPTIONAL', num_children: 1, converted_type: 'LIST', logical_type: { type: 'LIST' } },
      { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
      ...item.elements,
    ],
    convert(value) {
      const items = Array.isArray(value) ? value : [value]
      if (convert !== undefined) for (let i = 0; i < items.length; i++) items[i] = convert(items[i])
      return items
    },
  }
}

/** A column has one type. So a union is of equal types, or of a type and lists of it: then it is a list. */
const unionOf = (name: string, branches: readonly TSchema[], named: Named): Encoding => {
  const all = branches.map((branch) => encodingOf(name, branch, named))
  const typeOf = ({ elements: [element, ...others] }: Encoding) => JSON.stringify([{ ...element, name }, ...others])
  const types = new Set(all.map((each) => typeOf(each.item ?? each)))
  if (types.size > 1) throw new Error(`A Parquet file has no column for a union of ${[...types].join(' and ')}`)
  return all.find(({ item }) => item !== undefined) ?? (all[0] as Encoding)
}

const wholeOf = (value: unknown): bigint => {
  if (Number.isSafeInteger(value)) return BigInt(value as number)
  throw new Error(`${value} is no whole number up to 2^53, as a column wants it`)
}

const text = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } } as const
const scalars: Readonly<Record<string, Omit<SchemaElement, 'name'> & Pick<Encoding, 'convert'>>> = {
  string: text,
  any: { ...text, convert: JSON.stringify },
  number: { type: 'DOUBLE' },
  integer: { type: 'INT64', convert: wholeOf },
  boolean: { type: 'BOOLEAN' },
  time: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
    convert: (value) => Date.parse(value as string),
  },
}
