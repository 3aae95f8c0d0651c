// Writes a Parquet file piece by piece. This takes 50 to 250 ms for each group of rows, so it belongs in a worker.
import type { SchemaElement } from 'hyparquet'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import { Bytes } from '../bson/reader.js'
import type { Field, Shape } from './parquet-columns.js'
import { GEOMETRY, Points } from './parquet-geometry.js'
import { type Column, columnsOf } from './parquet-values.js'

/** What a file is to hold. It can be sent to a worker. */
export interface Description {
  readonly fields: readonly Field[]
  /** Whether it has a column of points. */
  readonly geometry: boolean
}

/** A group of rows is held in memory until it is written. It ends at whichever comes first: rows, or bytes of BSON. */
const GROUP_ROWS = 2000
const GROUP_BYTES = 8 * 1024 * 1024

export class ParquetEncoder {
  readonly #columns: readonly Column[]
  readonly #add: (input: Bytes, at: number) => void
  readonly #points: Points | undefined
  readonly #output = new ByteWriter()
  readonly #writer: ParquetWriter
  /** The rows of the group, and their size. */
  #rows = 0
  #size = 0

  constructor({ fields, geometry }: Description) {
    const { columns, add } = columnsOf(fields)
    this.#columns = columns
    this.#add = add
    this.#points = geometry ? new Points(columns) : undefined
    const elements = columns.flatMap(({ name, shape }) => elementsOf(name, shape))
    if (geometry) elements.push({ name: GEOMETRY, type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL' })
    const root = { name: 'root', num_children: columns.length + (geometry ? 1 : 0) }
    this.#writer = new ParquetWriter({ writer: this.#output, schema: [root, ...elements] })
  }

  /** Adds the rows of documents that follow each other. Returns the bytes of the file that are ready. */
  write(documents: ArrayBuffer): ArrayBuffer {
    const input = new Bytes(Buffer.from(documents))
    for (let at = 0, size: number; at < documents.byteLength; at += size) {
      size = input.view.getInt32(at, true)
      this.#add(input, at)
      this.#rows += 1
      this.#size += size
      if (this.#rows === GROUP_ROWS || this.#size >= GROUP_BYTES) this.#writeGroup()
    }
    return this.#take()
  }

  /** Returns the rest of the file. */
  end(): ArrayBuffer {
    if (this.#rows > 0) this.#writeGroup()
    if (this.#points !== undefined) this.#writer.kvMetadata = [this.#points.metadata()]
    this.#writer.finish()
    return this.#take()
  }

  #writeGroup(): void {
    // The least and largest values let a reader skip groups. Those of texts hardly do, and are held until the end.
    const columnData = this.#columns.map(({ name, shape, values }) => ({
      name,
      data: values,
      statistics: shape.kind === 'number' || shape.kind === 'time',
    }))
    if (this.#points !== undefined) columnData.push({ name: GEOMETRY, data: this.#points.take(), statistics: false })
    this.#writer.write({ columnData, rowGroupSize: this.#rows })
    for (const column of this.#columns) column.values = []
    this.#rows = 0
    this.#size = 0
  }

  #take(): ArrayBuffer {
    const bytes = this.#output.getBuffer()
    this.#output.index = 0
    return bytes
  }
}

const scalars = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  json: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  number: { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
  time: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
  },
} as const satisfies Record<string, Partial<SchemaElement>>

/** How Parquet describes a value: the element of the value itself, then those of what it holds. */
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
