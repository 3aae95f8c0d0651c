// Writes BSON scalars as JSON. A writer reads the value that begins at a place of the input, writes it at a place of the
// output, and returns the place after its output. The caller has made room for it (see ROOM).
import { Bson, Bytes } from '../bson/reader.js'
import { isInstant } from '../bson/values.js'

/** A value does not fit its schema. `at` is the place of the value in the bytes. */
export class WrongValue extends Error {
  constructor(
    reason: string,
    readonly at: number,
    /** The name of the field, if the error is that the document at that place lacks it. */
    readonly missing?: string,
  ) {
    super(reason)
  }
}

/** A value fits its schema, but not the format. */
export class WrongForFormat extends WrongValue {}

/** Writes a value of a BSON type that the writer supports. */
export type Write = (input: Bytes, type: number, at: number, output: Bytes, to: number) => number

/** The most bytes for one byte of BSON: a control character becomes seven in XLSX or in the text of JSON. Nothing grows more. */
export const ROOM = 7
/** The writers copy words of four bytes, so they may write up to this many bytes past the end of their output. */
export const OVERHANG = 4

const quote = 0x22
const zero = 0x30
const point = 0x2e
const colon = 0x3a
const DAY = 86_400_000

/** The JSON escape of each byte that is a character and needs one. */
const escapes = Array.from({ length: 256 }, (_, byte) => {
  const escaped = Buffer.from(JSON.stringify(String.fromCharCode(byte)).slice(1, -1))
  return byte < 0x80 && escaped.length > 1 ? escaped : undefined
})

/** Whether none of the four bytes of a word is a control character, a quote or a backslash. Each byte that is one sets its highest bit. */
const isPlain = (word: number): boolean => {
  const quotes = word ^ 0x2222_2222
  const backslashes = word ^ 0x5c5c_5c5c
  const found =
    ((word - 0x2020_2020) & ~word) | ((quotes - 0x0101_0101) & ~quotes) | ((backslashes - 0x0101_0101) & ~backslashes)
  return (found & 0x8080_8080) === 0
}

/** Copies the UTF-8 bytes from `start` to `end` as a JSON string, with the necessary escapes. */
const text = (input: Bytes, start: number, end: number, output: Bytes, begin: number): number => {
  const { bytes: source, view } = input
  const { bytes: target, view: targetView } = output
  let at = start
  let to = begin
  target[to++] = quote
  while (at < end) {
    if (at + 4 <= end) {
      const word = view.getInt32(at, true)
      if (isPlain(word)) {
        targetView.setInt32(to, word, true)
        at += 4
        to += 4
        continue
      }
    }
    const byte = source[at++] as number
    const escaped = escapes[byte]
    if (escaped === undefined) target[to++] = byte
    else for (const each of escaped) target[to++] = each
  }
  target[to++] = quote
  return to
}

/** Writes ASCII text that is already JSON. For short text this loop is faster than Node's Buffer.write. */
const ascii = (json: string, { bytes }: Bytes, begin: number): number => {
  let to = begin
  for (let i = 0; i < json.length; i++) bytes[to++] = json.charCodeAt(i)
  return to
}

const hexOf = ({ bytes }: Bytes, at: number): string => bytes.toString('hex', at, at + 12)

/** The largest number with a given number of digits. */
const MOST = [0, 9, 99, 999, 9999, 99_999, 999_999, 9_999_999, 99_999_999]

/** Writes the decimal digits of an integer from 0 to 2^31 - 1, with zeros in front if it has fewer than `least`. */
const decimals = (value: number, least: number, { bytes }: Bytes, to: number): number => {
  let count = least
  for (let rest = value; rest > (MOST[least] as number); rest = (rest / 10) | 0) count += 1
  let rest = value
  for (let place = to + count - 1; place >= to; place--) {
    const next = (rest / 10) | 0
    bytes[place] = zero + rest - 10 * next
    rest = next
  }
  return to + count
}

/** A cache of `"YYYY-MM-DDT` for days that were written before. The slot of a day is its number modulo DAYS. */
const DAYS = 1024
const DAY_BYTES = 12
export const TIME_BYTES = 26
const days = { numbers: new Float64Array(DAYS).fill(Number.NaN), json: new Bytes(Buffer.alloc(DAYS * DAY_BYTES)) }

/** The time of a BSON date, in milliseconds since 1970. */
export const timeOf = ({ view }: Bytes, at: number): number =>
  view.getInt32(at + 4, true) * 0x1_0000_0000 + view.getUint32(at, true)

/** Writes a time that isInstant(), in milliseconds since 1970, as Date.toISOString does. It takes TIME_BYTES. */
export const writeTime = (time: number, output: Bytes, to: number): number => {
  const day = Math.floor(time / DAY)
  const slot = day & (DAYS - 1)
  const from = slot * DAY_BYTES
  if (days.numbers[slot] !== day) {
    days.json.bytes.write(`"${new Date(time).toISOString()}`, from, DAY_BYTES, 'latin1')
    days.numbers[slot] = day
  }
  for (let i = 0; i < DAY_BYTES; i += 4) output.view.setInt32(to + i, days.json.view.getInt32(from + i, true), true)
  const ms = time - day * DAY
  const { bytes } = output
  decimals(Math.floor(ms / 3_600_000), 2, output, to + 12)
  bytes[to + 14] = colon
  decimals(Math.floor(ms / 60_000) % 60, 2, output, to + 15)
  bytes[to + 17] = colon
  decimals(Math.floor(ms / 1000) % 60, 2, output, to + 18)
  bytes[to + 20] = point
  decimals(ms % 1000, 3, output, to + 21)
  bytes[to + 24] = 0x5a // Z
  bytes[to + 25] = quote
  return to + TIME_BYTES
}

/** A function that writes the values of one schema. */
export interface Writer {
  /** The name of the function in the generated code. */
  name: string
  /** What the schema expects, as error messages put it. */
  expected: string
  /** The BSON types that the function supports. The caller checks the type. */
  bsonTypes: readonly number[]
  /** Whether a join fills the value, which is an id before. */
  isJoined?: boolean
}

export type ScalarWriter = Writer & { write: Write }

/** A string. An ObjectId is written as its hexadecimal digits. */
const string: ScalarWriter = {
  name: 'writeString',
  expected: 'a string',
  bsonTypes: [Bson.string, Bson.objectId],
  write: (input, type, at, output, to) =>
    type === Bson.string
      ? text(input, at + 4, at + 3 + input.view.getInt32(at, true), output, to)
      : ascii(`"${hexOf(input, at)}"`, output, to),
}

const instant: ScalarWriter = {
  name: 'writeInstant',
  expected: 'a date',
  bsonTypes: [Bson.date],
  write: (input, _type, at, output, to) => {
    const time = timeOf(input, at)
    if (!isInstant(time)) throw new WrongValue('is a date outside the years 0001 to 9999', at)
    return writeTime(time, output, to)
  },
}

/** A number. NaN and the infinities are errors, because JSON cannot represent them. An int64 keeps all its digits. */
const number: ScalarWriter = {
  name: 'writeNumber',
  expected: 'a number',
  bsonTypes: [Bson.double, Bson.int32, Bson.int64],
  write: ({ view }, type, at, output, to) => {
    if (type === Bson.double) {
      const value = view.getFloat64(at, true)
      if (!Number.isFinite(value)) throw new WrongValue(`is ${value}, which JSON cannot represent`, at)
      return ascii(String(value), output, to)
    }
    const value = type === Bson.int32 ? view.getInt32(at, true) : view.getBigInt64(at, true)
    return value >= 0 && value < 2 ** 31 ? decimals(Number(value), 1, output, to) : ascii(String(value), output, to)
  },
}

const integer: ScalarWriter = {
  name: 'writeInteger',
  expected: 'an integer',
  bsonTypes: number.bsonTypes,
  write: (input, type, at, output, to) => {
    const value = type === Bson.double ? input.view.getFloat64(at, true) : 0
    if (!Number.isInteger(value)) throw new WrongValue(`is ${value}, not an integer`, at)
    return number.write(input, type, at, output, to)
  },
}

const boolean: ScalarWriter = {
  name: 'writeBoolean',
  expected: 'a boolean',
  bsonTypes: [Bson.boolean],
  write: (input, _type, at, output, to) => ascii(input.bytes[at] === 0 ? 'false' : 'true', output, to),
}

const nothing: ScalarWriter = {
  name: 'writeNull',
  expected: 'null',
  bsonTypes: [Bson.null],
  write: (_input, _type, _at, output, to) => ascii('null', output, to),
}

/** A string, or a number as the text that JSON has for it. */
const stringOrNumber: ScalarWriter = {
  name: 'writeText',
  expected: 'a string or a number',
  bsonTypes: [...string.bsonTypes, ...number.bsonTypes],
  write: (input, type, at, output, to) => {
    if (string.bsonTypes.includes(type)) return string.write(input, type, at, output, to)
    output.bytes[to] = quote
    const end = number.write(input, type, at, output, to + 1)
    output.bytes[end] = quote
    return end + 1
  },
}

export const unquoted =
  (write: Write): Write =>
  (input, type, at, output, to) => {
    const end = write(input, type, at, output, to)
    output.bytes.copyWithin(to, to + 1, end - 1)
    return end - 2
  }

/** Writes the bare text of a string, an ObjectId or a number. */
export const bare: Write = (input, type, at, output, to) => {
  if (type === Bson.objectId) return ascii(hexOf(input, at), output, to)
  if (type !== Bson.string) return number.write(input, type, at, output, to)
  return to + input.bytes.copy(output.bytes, to, at + 4, at + 3 + input.view.getInt32(at, true))
}

export const scalars = { string, instant, number, integer, boolean, null: nothing, text: stringOrNumber }
