// Reads single values of a document: the few that the service itself needs. The serializer writes all others.
import { Bson, DamagedBson, type Element, elements } from './reader.js'

/** The element with this name, in the document that begins at `start`. */
export const fieldOf = (bytes: Buffer, start: number, name: string): Element | undefined => {
  for (const element of elements(bytes, start)) if (element.name === name) return element
  return undefined
}

/** A date in milliseconds, or undefined if the element is missing or not a date. */
export const dateOf = (bytes: Buffer, element: Element | undefined): number | undefined =>
  element?.type === Bson.date ? Number(bytes.readBigInt64LE(element.at)) : undefined

/** A string, or undefined if the element is missing or not a string. */
export const stringOf = (bytes: Buffer, element: Element | undefined): string | undefined =>
  element?.type === Bson.string ? bytes.toString('utf8', element.at + 4, element.next - 1) : undefined

/** A whole number, however the database stores it. */
export const integerOf = (bytes: Buffer, { type, at }: Element): bigint => {
  if (type === Bson.int32) return BigInt(bytes.readInt32LE(at))
  if (type === Bson.int64) return bytes.readBigInt64LE(at)
  if (type === Bson.double) return BigInt(bytes.readDoubleLE(at))
  throw new DamagedBson('not a number', at)
}
