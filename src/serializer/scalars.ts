// How each scalar of BSON stands in JSON. A writer puts the value that begins at a place of the input at a place of the
// output, where there is room for it (see ROOM), and gives the place behind what it wrote.
import { Bson, Bytes } from '../bson/reader.js'

/** A value that its schema does not take; `at` is its place in the bytes. */
export class WrongValue extends Error {
  constructor(
    fault: string,
    readonly at: number,
    /** The field that is missing in the document at that place. */
    readonly missing?: string,
  ) {
    super(fault)
  }
}

/** Writes a value of one of its BSON types. */
export type Write = (input: Bytes, type: number, at: number, output: Bytes, to: number) => number

/**
 * How many bytes of JSON one byte of BSON may become: a control character is written in six. No other value takes more,
 * its type and name counted.
 */
export const ROOM = 6
/** Words of four bytes may be written beyond the end of what is meant. */
export const OVERHANG = 4

const quote = 0x22
const zero = 0x30
const minus = 0x2d
const point = 0x2e
const colon = 0x3a
const DAY = 86_400_000
const MAX_TIME = 8_640_000_000_000_000

/** What JSON writes for a byte that no string may hold as it is: all of them are ASCII. */
const escapes = Array.from({ length: 0x80 }, (_, byte) =>
  Buffer.from(JSON.stringify(String.fromCharCode(byte)).slice(1, -1)),
)

/** Whether none of the four bytes of a word is one that JSON escapes: a control character, a quote, a backslash. */
const isPlain = (word: number): boolean => {
  const quotes = word ^ 0x2222_2222
  const backslashes = word ^ 0x5c5c_5c5c
  // Each term has the highest bit of a byte set where that byte is too small, or has become zero.
  const escaped =
    ((word - 0x2020_2020) & ~word) | ((quotes - 0x0101_0101) & ~quotes) | ((backslashes - 0x0101_0101) & ~backslashes)
  return (escaped & 0x8080_8080) === 0
}

/** The UTF-8 bytes from start to end, copied as they are but for what must be escaped. */
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
    if (byte >= 0x20 && byte !== quote && byte !== 0x5c) target[to++] = byte
    else for (const escaped of escapes[byte] as Buffer) target[to++] = escaped
  }
  target[to++] = quote
  return to
}

/** Text that is JSON already, and ASCII: short as it is, it is sooner written here than by Node. */
const ascii = (json: string, { bytes }: Bytes, begin: number): number => {
  let to = begin
  for (let i = 0; i < json.length; i++) bytes[to++] = json.charCodeAt(i)
  return to
}

const hex = Buffer.from('0123456789abcdef')

const objectId = (input: Bytes, at: number, { bytes }: Bytes, begin: number): number => {
  let to = begin
  bytes[to++] = quote
  for (let i = 0; i < 12; i++) {
    const byte = input.bytes[at + i] as number
    bytes[to++] = hex[byte >> 4] as number
    bytes[to++] = hex[byte & 15] as number
  }
  bytes[to++] = quote
  return to
}

/** The largest number of so many digits. */
const MOST = [0, 9, 99, 999, 9999, 99_999, 999_999, 9_999_999, 99_999_999]

/** The decimal digits of a whole number from 0 to 2^31 - 1, at least so many. */
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

/** How many decimal places are written without asking V8 for the digits, and up to which number. */
const PLACES = 8
const SCALE = 10 ** PLACES
const LARGEST_SCALED = 1e7

/** A finite number as JSON.stringify has it. */
const double = (value: number, at: number, output: Bytes, begin: number): number => {
  const size = Math.abs(value)
  const scaled = Math.round(size * SCALE)
  // No two decimals of at most 15 digits are the same double, so if these digits are the number they are its shortest.
  if (size >= LARGEST_SCALED || scaled / SCALE !== size || (size < 1e-6 && size !== 0)) {
    if (!Number.isFinite(value)) throw new WrongValue(`is ${value}, which JSON cannot say`, at)
    return ascii(String(value), output, begin)
  }
  let to = begin
  if (value < 0) output.bytes[to++] = minus
  const whole = Math.trunc(size)
  to = decimals(whole, 1, output, to)
  let fraction = scaled - whole * SCALE
  if (fraction === 0) return to
  let places = PLACES
  for (; fraction % 10 === 0; fraction /= 10) places -= 1
  output.bytes[to++] = point
  return decimals(fraction, places, output, to)
}

const int32 = (value: number, output: Bytes, to: number): number => {
  if (value >= 0) return decimals(value, 1, output, to)
  if (value === -0x8000_0000) return ascii(String(value), output, to)
  output.bytes[to] = minus
  return decimals(-value, 1, output, to + 1)
}

/** `"YYYY-MM-DDT` of days that were written lately, each at the place that its number leaves modulo the count. */
const DAYS = 1024
const DAY_BYTES = 12
const days = { numbers: new Float64Array(DAYS).fill(Number.NaN), json: new Bytes(Buffer.alloc(DAYS * DAY_BYTES)) }

/** A date in ISO 8601, UTC with milliseconds, as Date.toISOString has it. */
const date = ({ view }: Bytes, at: number, output: Bytes, to: number): number => {
  const time = view.getInt32(at + 4, true) * 0x1_0000_0000 + view.getUint32(at, true)
  if (time < -MAX_TIME || time > MAX_TIME) throw new WrongValue('is a date beyond all calendars', at)
  const day = Math.floor(time / DAY)
  const slot = day & (DAYS - 1)
  const from = slot * DAY_BYTES
  if (days.numbers[slot] !== day) {
    const iso = new Date(time).toISOString()
    // Years before 0 and after 9999 are longer.
    if (iso.length !== 24) return ascii(`"${iso}"`, output, to)
    days.json.bytes.write(`"${iso}`, from, DAY_BYTES, 'latin1')
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
  return to + 26
}

/** Writes the values of one schema. */
export interface Writer {
  /** The name of its function in compiled code. */
  name: string
  /** What the schema expects, in the words of an error. */
  expected: string
  /** The BSON types that it writes. The caller has checked the type. */
  bsonTypes: readonly number[]
}

export type ScalarWriter = Writer & { write: Write }

/** A string; an ObjectId comes out as its hexadecimal digits. */
const string: ScalarWriter = {
  name: 'writeString',
  expected: 'a string',
  bsonTypes: [Bson.string, Bson.objectId],
  write: (input, type, at, output, to) =>
    type === Bson.string
      ? text(input, at + 4, at + 3 + input.view.getInt32(at, true), output, to)
      : objectId(input, at, output, to),
}

const instant: ScalarWriter = {
  name: 'writeInstant',
  expected: 'a date',
  bsonTypes: [Bson.date],
  write: (input, _type, at, output, to) => date(input, at, output, to),
}

/** A number. NaN and the infinities have no JSON form and are an error; an int64 comes out with all its digits. */
const number: ScalarWriter = {
  name: 'writeNumber',
  expected: 'a number',
  bsonTypes: [Bson.double, Bson.int32, Bson.int64],
  write: ({ view }, type, at, output, to) => {
    if (type === Bson.double) return double(view.getFloat64(at, true), at, output, to)
    if (type === Bson.int32) return int32(view.getInt32(at, true), output, to)
    return ascii(String(view.getBigInt64(at, true)), output, to)
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

/** The writers of the scalars, by the schema's type. */
export const scalars = { string, instant, number, integer, boolean, null: nothing }
