// Writes a Parquet file of lines of JSON. This takes 50 to 250 ms for each group of rows, so it belongs in a worker.
import type { SchemaElement } from 'hyparquet'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import type { Field, Shape } from './parquet-columns.js'
import { GEOMETRY, Points } from './parquet-geometry.js'

/** A group of rows is held in memory until it is written. It ends at whichever comes first: rows, or bytes of JSON. */
const GROUP_ROWS = 2000
const GROUP_BYTES = 8 * 1024 * 1024
const NEWLINE = 0x0a

/** A column, with the values of the rows that were added. A missing one is undefined. */
export interface FilledColumn extends Field {
  readonly convert: Convert | undefined
  values: unknown[]
}

type Row = Readonly<Record<string, unknown>>

export class ParquetEncoder {
  readonly #columns: readonly FilledColumn[]
  readonly #points: Points | undefined
  readonly #output = new ByteWriter()
  readonly #writer: ParquetWriter
  #rows = 0

  constructor(columns: readonly Field[]) {
    this.#columns = columns.map((column) => ({ ...column, convert: converterOf(column.shape), values: [] }))
    this.#points = Points.of(this.#columns)
    const elements = this.#columns.flatMap(({ name, shape }) => elementsOf(name, shape))
    if (this.#points) elements.push({ name: GEOMETRY, type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL' })
    const root = { name: 'root', num_children: this.#columns.length + (this.#points ? 1 : 0) }
    this.#writer = new ParquetWriter({ writer: this.#output, schema: [root, ...elements] })
  }

  /** Adds rows. Returns the bytes of the file that are ready. Nothing of the rows is held any more. */
  write(lines: Buffer): ArrayBuffer {
    let group = 0
    for (let start = 0; start < lines.length; ) {
      const end = lines.indexOf(NEWLINE, start)
      const row: Row = JSON.parse(lines.toString('utf8', start, end))
      for (const { name, convert, values } of this.#columns) {
        // A question may be called like a member of every object.
        const value = Object.hasOwn(row, name) ? row[name] : undefined
        values.push(value === undefined || convert === undefined ? value : convert(value))
      }
      this.#rows += 1
      start = end + 1
      if (this.#rows < GROUP_ROWS && start - group < GROUP_BYTES) continue
      this.#writeGroup()
      group = start
    }
    this.#writeGroup()
    return this.#take()
  }

  /** Returns the rest of the file. */
  end(): ArrayBuffer {
    if (this.#points !== undefined) this.#writer.kvMetadata = [this.#points.metadata()]
    this.#writer.finish()
    return this.#take()
  }

  #writeGroup(): void {
    if (this.#rows === 0) return
    // The least and largest values let a reader skip groups. Those of texts hardly do, and are held until the end.
    const columnData = this.#columns.map(({ name, shape, values }) => ({
      name,
      data: values,
      statistics: ['number', 'integer', 'time'].includes(shape.kind),
    }))
    if (this.#points !== undefined) columnData.push({ name: GEOMETRY, data: this.#points.take(), statistics: false })
    this.#writer.write({ columnData, rowGroupSize: this.#rows })
    for (const column of this.#columns) column.values = []
    this.#rows = 0
  }

  #take(): ArrayBuffer {
    const bytes = this.#output.getBuffer()
    this.#output.index = 0
    return bytes
  }
}

type Convert = (value: unknown) => unknown

/** Turns what JSON has for a value into what the Parquet writer takes, in place; undefined if these are the same. */
const converterOf = (shape: Shape): Convert | undefined => {
  switch (shape.kind) {
    case 'time':
      return (value) => BigInt(Date.parse(value as string))
    case 'integer':
      return (value) => {
        if (!Number.isSafeInteger(value))
          throw new Error(`${value} is no whole number up to 2^53, as a column wants it`)
        return BigInt(value as number)
      }
    case 'json':
      return JSON.stringify
    case 'list': {
      const convert = converterOf(shape.item)
      return (value) => {
        const items = Array.isArray(value) ? value : [value]
        if (convert !== undefined) for (let i = 0; i < items.length; i++) items[i] = convert(items[i])
        return items
      }
    }
    case 'object': {
      const converted = shape.fields.flatMap(({ name, shape }) => {
        const convert = converterOf(shape)
        return convert === undefined ? [] : [{ name, convert }]
      })
      return (value) => {
        const object = value as Record<string, unknown>
        for (const { name, convert } of converted) if (object[name] !== undefined) object[name] = convert(object[name])
        return object
      }
    }
    default:
      return undefined
  }
}

const scalars = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  json: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  number: { type: 'DOUBLE' },
  integer: { type: 'INT64' },
  boolean: { type: 'BOOLEAN' },
  time: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
  },
} as const satisfies Record<string, Partial<SchemaElement>>

/** How Parquet describes a value: the element of the value itself, then the elements of the values in it. */
const elementsOf = (name: string, shape: Shape): SchemaElement[] => {
  const element = { name, repetition_type: 'OPTIONAL' } as const
  if (shape.kind === 'list') {
    return [
      { ...element, converted_type: 'LIST', logical_type: { type: 'LIST' }, num_children: 1 },
      { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
      ...elementsOf('element', shape.item),
    ]
  }
  if (shape.kind === 'object') {
    const children = shape.fields.flatMap((field) => elementsOf(field.name, field.shape))
    return [{ ...element, num_children: shape.fields.length }, ...children]
  }
  return [{ ...element, ...scalars[shape.kind] }]
}
