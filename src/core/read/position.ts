// Positions in a list: read from the bytes of a record, and carried in the payload of a token.
import { isUtf8 } from 'node:buffer'
import { Bson, type BsonDocument } from '../bson/reader.js'
import { fieldOf, numberOf } from '../bson/values.js'
import type { Position, SortValue } from '../pipelines/keyset.js'
import type { Payload } from './token.js'

export interface Start {
  readonly position: Position
  readonly isBackward: boolean
  /** Whether a record exactly at the position belongs to the page. */
  readonly isInclusive: boolean
}

/** The longest id in a token: room for 500 characters, whatever these are. */
export const MAX_ID_BYTES = 2000
/** The longest text of a sort value: room for 250. A token with both has less than 6,100 bytes: it fits into a URL. */
const MAX_VALUE_BYTES = 1000
const MAX_TIME = 8.64e15

/** The position of a record by the stored name of a sort field, which it must have kept. Undefined if it has none. */
export const positionOf = (record: BsonDocument, sortBy: string): Position | undefined => {
  // The id may be no string or a very long one, the value a very long string or of a type that no response shows.
  const id = sortValueOf(record, '_id', MAX_ID_BYTES)
  const value = sortBy === '_id' ? null : sortValueOf(record, sortBy)
  return typeof id === 'string' && value !== undefined ? { value, id } : undefined
}

/** The value of a field, null if the record has none, or undefined if it cannot be part of a position. */
const sortValueOf = ({ bytes }: BsonDocument, name: string, maxBytes = MAX_VALUE_BYTES): SortValue | undefined => {
  const element = fieldOf(bytes, 0, name)
  if (element === undefined) return null
  const { type, at, next } = element
  switch (type) {
    case Bson.null:
    case Bson.undefined:
      return null
    case Bson.string: {
      const text = bytes.subarray(at + 4, next - 1)
      return text.length <= maxBytes && isUtf8(text) ? text.toString() : undefined
    }
    case Bson.int32:
    case Bson.double:
      return numberOf(bytes, element)
    case Bson.int64: {
      const integer = bytes.readBigInt64LE(at)
      return Number.isSafeInteger(Number(integer)) ? Number(integer) : integer
    }
    case Bson.boolean:
      return bytes[at] === 1
    case Bson.date: {
      const time = Number(bytes.readBigInt64LE(at))
      return Math.abs(time) <= MAX_TIME ? new Date(time) : undefined
    }
    default:
      return undefined
  }
}

/** What a token holds of a start. A value that JSON lacks is a number or a string, followed by the name of its type. */
export const toPayload = ({ position: { value, id }, isBackward, isInclusive }: Start): Payload => {
  const start = [isBackward, isInclusive, id]
  if (value instanceof Date) return [...start, value.getTime(), 'date']
  if (typeof value === 'bigint') return [...start, value.toString(), 'int64']
  return [...start, value]
}

/** The start that a token holds, or undefined if the token was made by hand and holds none. */
export const fromPayload = ([isBackward, isInclusive, id, value, type]: Payload): Start | undefined => {
  if (typeof isBackward !== 'boolean' || typeof isInclusive !== 'boolean' || typeof id !== 'string') return undefined
  const typed = typedValue(value, type)
  return typed === undefined ? undefined : { position: { value: typed, id }, isBackward, isInclusive }
}

const typedValue = (value: Payload[number] | undefined, type: Payload[number] | undefined): SortValue | undefined => {
  if (type === undefined) return value
  if (type === 'date' && typeof value === 'number' && Math.abs(value) <= MAX_TIME) return new Date(value)
  if (type === 'int64' && typeof value === 'string' && /^-?\d{1,19}$/.test(value)) return BigInt(value)
  return undefined
}
