// Reads single values of a document: the few that the service itself needs. The writer writes all others.
import { Bson, cstringEnd, DamagedBson, documentEnd, type Element, elements, valueEnd } from './reader.js'

/** The first element with this ASCII name. Only what is found becomes an object: a feed looks into every row. */
export const fieldOf = (bytes: Buffer, start: number, name: string, isLast = false): Element | undefined => {
  const last = documentEnd(bytes, start) - 1
  let found: Element | undefined
  for (let from = start + 4; from < last; ) {
    const type = bytes[from] as number
    const at = cstringEnd(bytes, from + 1, last)
    const next = valueEnd(bytes, type, at, last)
    if (at - from - 2 === name.length && isAt(bytes, from + 1, name)) {
      found = { name, type, at, next }
      if (!isLast) break
    }
    from = next
  }
  return found
}

/** The last element with this name. Where several elements have it, the writer takes the last. */
export const lastFieldOf = (bytes: Buffer, start: number, name: string): Element | undefined =>
  fieldOf(bytes, start, name, true)

/** The element, or undefined if its value is null or undefined. */
export const present = (element: Element | undefined): Element | undefined =>
  element?.type === Bson.null || element?.type === Bson.undefined ? undefined : element

export type BareElement = Pick<Element, 'type' | 'at'>

/** The items of an array, or a single value. */
export const itemsOf = <V extends BareElement>(bytes: Buffer, value: V): Iterable<V | Element> =>
  value.type === Bson.array ? elements(bytes, value.at) : [value]

const isAt = (bytes: Buffer, place: number, text: string): boolean => {
  for (let i = 0; i < text.length; i++) if (bytes[place + i] !== text.charCodeAt(i)) return false
  return true
}

/** A date in milliseconds, or undefined if the element is missing or not a date. */
export const dateOf = (bytes: Buffer, element: Element | undefined): number | undefined =>
  element?.type === Bson.date ? Number(bytes.readBigInt64LE(element.at)) : undefined

/** Whether a time in milliseconds is in the years 0001 to 9999, which JSON Schema's date-time can express. */
export const isInstant = (time: number): boolean => time >= -62_135_596_800_000 && time <= 253_402_300_799_999

/** A date as dateOf() has it, if a response can show it. */
export const instantIn = (bytes: Buffer, element: Element | undefined): number | undefined => {
  const time = dateOf(bytes, element)
  return time !== undefined && isInstant(time) ? time : undefined
}

export const stringOf = (bytes: Buffer, element: Element | undefined): string | undefined =>
  element?.type === Bson.string ? bytes.toString('utf8', element.at + 4, element.next - 1) : undefined

/** A whole number, however the database stores it. */
export const integerOf = (bytes: Buffer, { type, at }: Element): bigint => {
  if (type === Bson.int32) return BigInt(bytes.readInt32LE(at))
  if (type === Bson.int64) return bytes.readBigInt64LE(at)
  if (type === Bson.double) return BigInt(bytes.readDoubleLE(at))
  throw new DamagedBson('not a number', at)
}

/** A number, or undefined if the element is missing or not a number that JSON has. */
export const numberOf = (bytes: Buffer, element: Element | undefined): number | undefined => {
  if (element?.type === Bson.int32 || element?.type === Bson.int64) return Number(integerOf(bytes, element))
  const number = element?.type === Bson.double ? bytes.readDoubleLE(element.at) : Number.NaN
  return Number.isFinite(number) ? number : undefined
}

/** The text of a value, or of each item of an array. A number is a text too. Undefined is what is no text. */
export function* textsOf(bytes: Buffer, value: Element): Generator<string | undefined, void> {
  for (const item of itemsOf(bytes, value) as Iterable<Element>)
    yield stringOf(bytes, item) ?? numberOf(bytes, item)?.toString()
}

const LONGEST_NUMBER = 100
/** As docs/asking.md says it. The pages and examples/second_look.py have the same. */
const NUMERAL = /^[ \t\r\n]*-?\d+(\.\d+)?(e[+-]?\d+)?[ \t\r\n]*$/i

export const numberIn = (text: string): number | undefined => {
  const number = text.length <= LONGEST_NUMBER && NUMERAL.test(text) ? Number(text) : Number.NaN
  return Number.isFinite(number) ? number : undefined
}

/** The number that an answer is, by its texts: alone or in a list of one. Empty texts, and what is no text, do not count. */
export const numberOfWords = (words: readonly (string | undefined)[]): number | undefined => {
  const [word = '', ...others] = words.filter(Boolean)
  return others.length === 0 ? numberIn(word) : undefined
}

/** The same text in memory of its own. V8's part of a text keeps the whole text, however long it is. Half of a pair becomes U+FFFD. */
export const ownText = (text: string): string => Buffer.from(text).toString()

/** About how many bytes a text takes, with what a map takes for it. */
export const memoryOf = (text: string): number => 100 + 2 * text.length

const [NUMBER, STRING, OTHER] = ['1', '2', '3']

/**
 * A text that stands for the id of a row. For strings it sorts by their UTF-8 bytes, each of which is a character of it. Other
 * ids stand before or behind all strings, as in MongoDB.
 */
export const sortKeyOfId = (bytes: Buffer): string => {
  const id = fieldOf(bytes, 0, '_id')
  if (id === undefined) return OTHER
  if (id.type === Bson.string) return STRING + bytes.toString('latin1', id.at + 4, id.next - 1)
  const isNumber = id.type === Bson.double || id.type === Bson.int32 || id.type === Bson.int64
  return (isNumber ? NUMBER : OTHER) + bytes.toString('latin1', id.at, id.next)
}
