// The buffer that answers are written into: how it grows and ends, and what it writes byte by byte.
import fc from 'fast-check'
import t from 'tap'
import { MAX_ANSWER_BYTES, Output } from '../../src/serializer/output.js'
import { texts } from './oracle.js'

const DAY = 86_400_000
const comma = 0x2c

const out = new Output()

/** What a write makes, after whatever was written before. */
const written = (write: () => void): string => {
  out.reset()
  write()
  return out.view.toString()
}

t.test('What is written stands one after the other', async (t) => {
  const source = Buffer.from('"abc"')
  t.equal(
    written(() => {}),
    '',
  )
  t.equal(
    written(() => {
      out.raw(source)
      out.byte(comma)
      out.text('"é😀"')
      out.string(source, 0, 5)
      out.hex(Buffer.of(0x00, 0x9f, 0xff), 1, 3)
      out.instant(0)
    }),
    '"abc","é😀""\\"abc\\"""9fff""1970-01-01T00:00:00.000Z"',
  )
})

t.test('The buffer grows with what is written, and begins anew after a reset', async (t) => {
  for (const size of [1, 200_000, 3_000_000, 10]) {
    out.reset()
    t.equal(out.view.length, 0)
    let expected = ''
    for (let length = 0; length < size; length += 23) {
      out.text('"é"')
      out.byte(comma)
      out.string(Buffer.from('\n€"'), 0, 5)
      out.raw(Buffer.from('123'))
      out.hex(Buffer.of(0xab), 0, 1)
      expected += '"é","\\n€\\""123"ab"'
    }
    t.ok(out.view.toString() === expected, `${expected.length} characters`)
  }
})

t.test('A buffer that grew very large is given back', async (t) => {
  out.text('x'.repeat(10_000_000))
  out.reset()
  t.ok(out.view.buffer.byteLength < 1_000_000)
})

t.test('One piece may be larger than twice the buffer', async (t) => {
  const large = Buffer.alloc(3_000_000, '\n')
  t.ok(written(() => out.raw(large)) === large.toString())
  t.ok(written(() => out.text(large.toString())) === large.toString())
  t.ok(written(() => out.string(large, 0, large.length)) === JSON.stringify(large.toString()))
})

t.test('The output holds as many bytes as the limit allows and not one more', async (t) => {
  const most = 'x'.repeat(MAX_ANSWER_BYTES - 26)
  const fill = () => {
    out.reset()
    out.text(most)
  }
  const writes: Record<string, () => void> = {
    raw: () => out.raw(Buffer.alloc(26, 'y')),
    text: () => out.text('é'.repeat(13)),
    string: () => out.string(Buffer.from(`${'y'.repeat(22)}\n`), 0, 23),
    hex: () => out.hex(Buffer.alloc(12), 0, 12),
    instant: () => out.instant(0),
  }
  for (const [name, write] of Object.entries(writes)) {
    fill()
    write()
    t.equal(out.view.length, MAX_ANSWER_BYTES, name)
    const full = new RangeError(`An answer is larger than ${MAX_ANSWER_BYTES} bytes`)
    t.throws(() => out.byte(comma), full)
    fill()
    out.byte(comma)
    t.throws(write, full, `${name} beyond the limit`)
  }
  out.reset()
  out.text('1')
  t.equal(out.view.toString(), '1')
})

t.test('A string comes out as JSON.stringify writes it', async (t) => {
  for (let unit = 0; unit < 0x10000; unit++) {
    const bytes = Buffer.from(String.fromCharCode(unit))
    const json = written(() => out.string(bytes, 0, bytes.length))
    if (json !== JSON.stringify(bytes.toString())) throw new Error(`U+${unit.toString(16)} came out as ${json}`)
  }
  fc.assert(
    fc.property(texts, texts, texts, (before, text, after) => {
      const [start, end] = [Buffer.byteLength(before), Buffer.byteLength(before) + Buffer.byteLength(text)]
      const source = Buffer.concat([before, text, after].map((part) => Buffer.from(part)))
      const json = written(() => out.string(source, start, end))
      return json === JSON.stringify(source.toString('utf8', start, end))
    }),
    { numRuns: 300 },
  )
  t.pass()
})

t.test('Bytes come out as the hexadecimal digits that Buffer gives', async (t) => {
  const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
  t.equal(
    written(() => out.hex(all, 0, 256)),
    `"${all.toString('hex')}"`,
  )
  t.equal(
    written(() => out.hex(all, 9, 9)),
    '""',
  )
})

t.test('An instant comes out as Date.toISOString writes it', async (t) => {
  let compared = 0
  const compare = (time: number) => {
    out.reset()
    out.instant(time)
    compared += 1
    const expected = new Date(time).toISOString()
    if (out.view.toString('latin1') !== `"${expected}"`) throw new Error(`${expected} came out as ${out.view}`)
  }

  // Each day of three centuries, each time at another time of the day.
  for (let day = Date.UTC(1800); day < Date.UTC(2100); day += DAY) compare(day + ((compared * 7_919_317) % DAY))
  // The edges of each year with four digits, and of its February; the years around them too.
  const edges: [number, number][] = [
    [0, 1],
    [1, 28],
    [1, 29],
    [2, 1],
    [11, 31],
  ]
  for (let year = -30; year < 10_030; year++) {
    for (const edge of edges) {
      const midnight = new Date(0).setUTCFullYear(year, ...edge)
      compare(midnight)
      compare(midnight + DAY - 1)
    }
  }
  for (let ms = 0; ms < 1000; ms++) compare(Date.UTC(2025, 5, 15, 23, 59, 59, ms))
  for (let minute = 0; minute < 1440; minute++) compare(Date.UTC(2025, 5, 15, 0, minute, minute % 60))
  for (const edge of [0, 8_640_000_000_000_000, -8_640_000_000_000_000]) compare(edge)
  fc.assert(
    fc.property(fc.date({ noInvalidDate: true }), (date) => compare(date.getTime())),
    { numRuns: 5000 },
  )
  t.ok(compared > 200_000, `${compared} instants`)
})
