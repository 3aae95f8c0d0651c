// Texts are decoded as Node does it, whether they were kept or not.
import fc from 'fast-check'
import t from 'tap'
import { decode } from '../../src/exports/parquet-texts.js'
import { texts } from '../support/oracle.js'

const decoded = (bytes: Uint8Array) => decode(Buffer.concat([Buffer.of(0), bytes, Buffer.of(7)]), 1, 1 + bytes.length)

t.test('any bytes are decoded as Node does it', async (t) => {
  const any = fc.oneof(
    texts.map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 100 }),
  )
  const property = fc.property(any, (bytes) => {
    const expected = Buffer.from(bytes).toString()
    for (const time of ['first', 'second']) t.equal(decoded(bytes), expected, time)
  })
  fc.assert(property)
})

t.test('texts that share a place do not mix', async (t) => {
  // Four times as many texts as there are places, of the same length.
  const numbers = Array.from({ length: 32_768 }, (_, i) => String(100_000 + i))
  for (const round of [1, 2]) {
    t.strictSame(
      numbers.map((number) => decoded(Buffer.from(number))),
      numbers,
      `round ${round}`,
    )
  }
})

t.test('a text of any length', async (t) => {
  for (const length of [0, 1, 63, 64, 65, 1000]) {
    const text = 'ọ'.repeat(length).slice(0, length)
    t.equal(decoded(Buffer.from(text)), text)
    t.equal(decoded(Buffer.alloc(length, 'a')), 'a'.repeat(length))
  }
})
