// Each scalar, compared byte by byte with the output of JSON.stringify and Date.
import fc from 'fast-check'
import { BSON } from 'mongodb'
import t from 'tap'
import { Bson, Bytes } from '../../../src/core/bson/reader.js'
import { ROOM, scalars, type Write } from '../../../src/core/write/scalars.js'
import { texts } from '../../support/oracle.js'
import { stored } from '../../support/stored.js'
import { isThorough, runs } from '../../support/thorough.js'

const DAY = 86_400_000
const BEFORE = 7
const output = new Bytes(Buffer.alloc(1_000_000))

/** The output of a writer for bytes in the middle of others, at an odd place of the output. */
const written = (write: Write, type: number, bytes: Uint8Array): string => {
  const input = new Bytes(Buffer.concat([Buffer.alloc(BEFORE, 'x'), bytes, Buffer.alloc(9, 'y')]))
  output.bytes.fill('#', 0, BEFORE)
  const end = write(input, type, BEFORE, output, BEFORE)
  if (output.bytes.toString('latin1', 0, BEFORE) !== '#'.repeat(BEFORE)) throw new Error('Wrote before its place')
  return output.bytes.toString('utf8', BEFORE, end)
}

const writtenText = (text: string): string =>
  written(scalars.string.write, Bson.string, stored.string(Buffer.from(text)).bytes)

t.test('A string is written as JSON.stringify does', async (t) => {
  const compare = (text: string) => {
    const json = JSON.stringify(Buffer.from(text).toString())
    if (writtenText(text) !== json) throw new Error(`${json} came out as ${writtenText(text)}`)
  }
  // All that are one or two bytes in UTF-8. Of those with three bytes the daily run has some.
  for (let unit = 0; unit < 0x10000; unit += unit < 0x800 ? 1 : runs(7, 1)) compare(String.fromCharCode(unit))
  // Each escaped byte and its neighbours, at each place in a word of four bytes and in the rest.
  for (const special of ['"', '\\', '\0', '\x1f', ' ', '!', '#', '[', ']', '\x7f', 'é', '€']) {
    for (let length = 0; length < 14; length++) {
      for (let at = 0; at <= length; at++) compare(`${'a'.repeat(at)}${special}${'a'.repeat(length - at)}`)
      compare(special.repeat(length))
    }
  }
  fc.assert(fc.property(texts, compare), { numRuns: runs(300, 1000) })
  t.pass()
})

t.test('An ObjectId is written as its hexadecimal digits', async (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 12, maxLength: 12 }), (id) => {
      const json = written(scalars.string.write, Bson.objectId, id)
      return json === `"${new BSON.ObjectId(id).toHexString()}"`
    }),
  )
  t.pass()
})

/** How many random doubles of each kind are tried. */
const RUNS = runs(2000, 20_000)

t.test('A double is written as JSON.stringify does', async (t) => {
  let compared = 0
  const compare = (value: number) => {
    const bytes = Buffer.alloc(8)
    bytes.writeDoubleLE(value)
    const json = written(scalars.number.write, Bson.double, bytes)
    if (json !== JSON.stringify(value)) throw new Error(`${value} came out as ${json}`)
    compared += 1
  }
  for (const value of [0, -0, 1, -1, 0.1, 1e-6, 1e-7, 1e-8, 1.5e-6, 123e-8, 5e-324, 1e21, 1e22, 0.3, 0.1 + 0.2]) {
    compare(value)
    compare(-value)
  }
  // Decimals with every number of places, around every power of ten.
  for (let places = 0; places < 12; places++) {
    for (let whole = 1; whole < 1e9; whole *= 10) {
      for (const digits of [whole - 1, whole, whole + 1, 3 * whole, 7 * whole + 5]) compare(digits / 10 ** places)
    }
  }
  fc.assert(
    fc.property(fc.integer(), fc.nat(10), (digits, places) => compare(digits / 10 ** places)),
    { numRuns: RUNS },
  )
  fc.assert(fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), compare), { numRuns: RUNS })
  t.ok(compared > 2 * RUNS, `${compared} doubles`)
})

t.test('An int32 is written with all its digits', async (t) => {
  const compare = (value: number) => {
    const bytes = Buffer.alloc(4)
    bytes.writeInt32LE(value)
    const json = written(scalars.integer.write, Bson.int32, bytes)
    if (json !== String(value)) throw new Error(`${value} came out as ${json}`)
  }
  for (const value of [0, 0x7fff_ffff, -0x7fff_ffff, -0x8000_0000]) compare(value)
  for (let power = 1; power < 1e10; power *= 10) for (const n of [power - 1, power]) compare(Math.min(n, 0x7fff_ffff))
  fc.assert(fc.property(fc.integer(), compare), { numRuns: runs(1000, 5000) })
  t.pass()
})

t.test('A date is written as Date.toISOString does', async (t) => {
  let compared = 0
  const FIRST = Date.parse('0001-01-01T00:00:00Z')
  const compare = (time: number) => {
    const bytes = stored.date(BigInt(time)).bytes
    const expected = `"${new Date(time).toISOString()}"`
    const json = written(scalars.instant.write, Bson.date, bytes)
    if (json !== expected) throw new Error(`${expected} came out as ${json}`)
    compared += 1
  }

  // Every day of three centuries, or every third one, each at a different time.
  for (let day = Date.UTC(1800); day < Date.UTC(2100); day += runs(3, 1) * DAY)
    compare(day + ((compared * 7_919_317) % DAY))
  // The first and last days of years with four digits and of their Februaries.
  const edges: [number, number][] = [
    [0, 1],
    [1, 28],
    [1, 29],
    [2, 1],
    [11, 31],
  ]
  for (let year = 1; year < 10_000; year += isThorough ? 1 : 7) {
    for (const edge of edges) {
      const midnight = new Date(0).setUTCFullYear(year, ...edge)
      compare(midnight)
      compare(midnight + DAY - 1)
    }
  }
  for (let ms = 0; ms < 1000; ms++) compare(Date.UTC(2025, 5, 15, 23, 59, 59, ms))
  for (let minute = 0; minute < 1440; minute++) compare(Date.UTC(2025, 5, 15, 0, minute, minute % 60))
  for (const edge of [0, Date.UTC(9999, 11, 31, 23, 59, 59, 999), FIRST]) compare(edge)
  fc.assert(
    fc.property(fc.date({ noInvalidDate: true, min: new Date(FIRST), max: new Date(Date.UTC(9999, 11, 31)) }), (date) =>
      compare(date.getTime()),
    ),
    { numRuns: runs(1000, 5000) },
  )
  t.ok(compared > (isThorough ? 200_000 : 50_000), `${compared} instants`)
})

t.test('No scalar needs more room than ROOM allows', async (t) => {
  // The type and the shortest name take two bytes of BSON. In JSON they take a comma, or two quotes, a colon and a comma.
  const cases: [Write, number, Uint8Array][] = [
    [scalars.string.write, Bson.string, stored.string(Buffer.alloc(1000)).bytes],
    [scalars.string.write, Bson.string, stored.string([]).bytes],
    [scalars.string.write, Bson.objectId, Buffer.alloc(12)],
    [scalars.instant.write, Bson.date, stored.date(-62_135_596_800_000n).bytes],
    [scalars.number.write, Bson.int64, stored.int64(-(2n ** 63n)).bytes],
    [scalars.number.write, Bson.double, BSON.serialize({ a: -2.2250738585072014e-308 }).subarray(7, 15)],
    [scalars.number.write, Bson.int32, Buffer.of(0, 0, 0, 0x80)],
    [scalars.boolean.write, Bson.boolean, Buffer.of(0)],
    [scalars.null.write, Bson.null, Buffer.alloc(0)],
  ]
  for (const [write, type, bytes] of cases) {
    const json = written(write, type, bytes)
    t.ok(Buffer.byteLength(json) + '"":,'.length <= ROOM * (2 + bytes.length), json.slice(0, 40))
  }
})
