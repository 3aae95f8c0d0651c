// From BSON bytes to the values of columns. It makes no object of a row: only an item of a list of objects becomes one,
// because the Parquet writer takes lists of objects.
import { Bson, type Bytes, cstringEnd, documentEnd, elements, valueEnd } from '../bson/reader.js'
import type { Field, Shape } from './parquet-columns.js'
import { decode } from './parquet-texts.js'

/** A column, with the values of the rows that were added. A missing value is null. */
export interface Column {
  readonly name: string
  readonly shape: Exclude<Shape, { kind: 'object' }>
  values: unknown[]
}

/** Reads the value of a type that begins at a place. */
type Read = (input: Bytes, type: number, at: number) => unknown

/** Stands for the place of a value that is missing. */
const MISSING = -1

/**
 * The columns of rows with these fields. The fields of an object in a row become columns.
 * @returns `add` adds the row whose document begins at a place. The document fits its schema
 */
export const columnsOf = (
  fields: readonly Field[],
): { columns: readonly Column[]; add: (input: Bytes, at: number) => void } => {
  const columns: Column[] = []
  const add = adder(fields, '', columns)
  return { columns, add: (input, at) => add(input, Bson.document, at) }
}

const adder = (fields: readonly Field[], prefix: string, columns: Column[]) => {
  const places = new Places(fields)
  const adds = fields.map(({ name, shape }): ((input: Bytes, type: number, at: number) => void) => {
    if (shape.kind === 'object') return adder(shape.fields, `${prefix}${name}.`, columns)
    const column: Column = { name: prefix + name, shape, values: [] }
    columns.push(column)
    const read = reader(shape)
    return (input, type, at) => {
      column.values.push(at === MISSING ? null : read(input, type, at))
    }
  })
  return (input: Bytes, _type: number, at: number): void => {
    places.find(input, at)
    for (let i = 0; i < adds.length; i++) adds[i]?.(input, places.types[i] as number, places.at[i] as number)
  }
}

/** Finds the fields of one object after another. Its arrays are those of the last one. */
class Places {
  /** The stored names, each with the zero byte behind it. */
  readonly #keys: readonly Buffer[]
  /** Where the value of each field begins, or MISSING. */
  readonly at: Int32Array
  /** The BSON type of each. */
  readonly types: Uint8Array

  constructor(fields: readonly Field[]) {
    this.#keys = fields.map(({ stored }) => Buffer.from(`${stored}\0`))
    this.at = new Int32Array(fields.length)
    this.types = new Uint8Array(fields.length)
  }

  /** Finds the fields of the object that begins at `start`. If several have the same name, the last one counts. */
  find({ bytes }: Bytes, start: number): void {
    this.at.fill(MISSING)
    if (start === MISSING) return
    const last = documentEnd(bytes, start) - 1
    let next = 0
    for (let from = start + 4; from < last; ) {
      const type = bytes[from] as number
      const index = this.#indexOf(bytes, from + 1, next)
      const key = this.#keys[index]
      const place = key === undefined ? cstringEnd(bytes, from + 1, last) : from + 1 + key.length
      if (key !== undefined) {
        this.at[index] = type === Bson.null || type === Bson.undefined ? MISSING : place
        this.types[index] = type
        next = index + 1
      }
      from = valueEnd(bytes, type, place, last)
    }
  }

  /** The index of the field whose name is at a place, or -1. Fields often are in their order, so it begins at the next. */
  #indexOf(bytes: Buffer, place: number, next: number): number {
    for (let i = next; i < this.#keys.length; i++) if (isAt(bytes, place, this.#keys[i] as Buffer)) return i
    for (let i = 0; i < next; i++) if (isAt(bytes, place, this.#keys[i] as Buffer)) return i
    return -1
  }
}

const isAt = (bytes: Buffer, place: number, key: Buffer): boolean => {
  for (let i = 0; i < key.length; i++) if (bytes[place + i] !== key[i]) return false
  return true
}

const reader = (shape: Shape): Read => {
  if (shape.kind === 'list') return listReader(reader(shape.item))
  return shape.kind === 'object' ? objectReader(shape.fields) : scalars[shape.kind]
}

const listReader = (read: Read): Read => {
  return (input, type, at) => {
    if (type !== Bson.array) return [read(input, type, at)]
    const { bytes } = input
    const items: unknown[] = []
    const last = documentEnd(bytes, at) - 1
    for (let from = at + 4; from < last; ) {
      const itemType = bytes[from] as number
      const place = cstringEnd(bytes, from + 1, last)
      items.push(read(input, itemType, place))
      from = valueEnd(bytes, itemType, place, last)
    }
    return items
  }
}

const objectReader = (fields: readonly Field[]): Read => {
  const places = new Places(fields)
  const reads = fields.map(({ name, shape }) => ({ name, read: reader(shape) }))
  return (input, _type, start) => {
    places.find(input, start)
    const object: Record<string, unknown> = {}
    for (let i = 0; i < reads.length; i++) {
      const { name, read } = reads[i] as (typeof reads)[number]
      const at = places.at[i] as number
      object[name] = at === MISSING ? null : read(input, places.types[i] as number, at)
    }
    return object
  }
}

/** A string, an ObjectId as its hexadecimal digits, or a number as the text that JSON has for it. */
const text = (input: Bytes, type: number, at: number): string => {
  const { bytes, view } = input
  if (type === Bson.string) return decode(bytes, at + 4, at + 3 + view.getInt32(at, true))
  if (type === Bson.objectId) return bytes.toString('hex', at, at + 12)
  return String(type === Bson.int64 ? view.getBigInt64(at, true) : number(input, type, at))
}

const number = ({ view }: Bytes, type: number, at: number): number => {
  if (type === Bson.double) return view.getFloat64(at, true)
  return type === Bson.int32 ? view.getInt32(at, true) : Number(view.getBigInt64(at, true))
}

/** Any value as JSON, with all members of its objects in their stored order. The serializer has checked how deep it is. */
const json = (input: Bytes, type: number, at: number): string => {
  const { bytes, view } = input
  switch (type) {
    case Bson.document: {
      const members = new Map(Array.from(elements(bytes, at), (element) => [element.name, element]))
      const texts = Array.from(
        members.values(),
        (each) => `${JSON.stringify(each.name)}:${json(input, each.type, each.at)}`,
      )
      return `{${texts.join(',')}}`
    }
    case Bson.array:
      return `[${Array.from(elements(bytes, at), (item) => json(input, item.type, item.at)).join(',')}]`
    case Bson.null:
      return 'null'
    case Bson.boolean:
      return String(bytes[at] !== 0)
    case Bson.date:
      return JSON.stringify(new Date(Number(view.getBigInt64(at, true))))
    case Bson.string:
    case Bson.objectId:
      return JSON.stringify(text(input, type, at))
    default:
      return text(input, type, at)
  }
}

const scalars = {
  text,
  number,
  json,
  boolean: ({ bytes }: Bytes, _type: number, at: number): boolean => bytes[at] !== 0,
  /** Milliseconds since 1970. */
  time: ({ view }: Bytes, _type: number, at: number): bigint => view.getBigInt64(at, true),
}
