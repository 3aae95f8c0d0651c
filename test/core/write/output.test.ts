// The buffers that responses are written into: how they grow, and how they are lent and given back.
import t from 'tap'
import { MAX_RESPONSE_BYTES, ResponseTooLarge } from '../../../src/core/write/errors.js'
import { giveBack, Output } from '../../../src/core/write/output.js'

const full = new ResponseTooLarge()

/** A response of a number of bytes. */
const responseOf = (size: number): Buffer => {
  const out = new Output()
  out.text('x'.repeat(size))
  return out.take()
}

t.test('Output is appended, and the next response starts empty', async (t) => {
  t.equal(new Output().take().length, 0)
  const out = new Output()
  out.text('"é😀"')
  out.text(',1')
  t.equal(out.length, Buffer.byteLength('"é😀",1'))
  t.equal(out.take().toString(), '"é😀",1')
  const next = new Output()
  next.text('2')
  t.equal(next.take().toString(), '2')
})

t.test('The buffer grows with the output', async (t) => {
  for (const size of [1, 200_000, 3_000_000, 10]) {
    const out = new Output()
    let expected = ''
    while (expected.length < size) {
      out.text('"é",')
      expected += '"é",'
    }
    t.ok(out.take().toString() === expected, `${expected.length} characters`)
  }
  const out = new Output()
  const large = '\n'.repeat(3_000_000)
  out.text(large)
  t.ok(out.take().toString() === large, 'one piece may be larger than twice the buffer')
})

t.test('reserve() makes as much room as requested and keeps the output', async (t) => {
  const out = new Output()
  out.text('"kept"')
  out.reserve(9_000_000)
  t.ok(out.target.bytes.length >= out.length + 9_000_000)
  t.equal(out.target.view.byteLength, out.target.bytes.length)
  out.target.bytes.fill('x', out.length, out.length + 9_000_000)
  out.length += 9_000_000
  t.ok(out.take().toString() === `"kept"${'x'.repeat(9_000_000)}`)
})

t.test('Output beyond the reserved room is an error', async (t) => {
  const out = new Output()
  const error = new RangeError('The output is longer than the reserved room')
  t.throws(() => {
    out.length = out.target.bytes.length + 1
  }, error)
})

t.test('A response may have as many bytes as the limit allows, and no more', async (t) => {
  const out = new Output()
  out.text('x'.repeat(MAX_RESPONSE_BYTES))
  t.throws(() => out.text('y'), full)
  t.throws(() => {
    out.reserve(1)
    out.length = MAX_RESPONSE_BYTES + 1
  }, full)
  t.equal(out.length, MAX_RESPONSE_BYTES)
})

t.test('Invalid UTF-8 is replaced by U+FFFD in short and in long responses', async (t) => {
  for (const size of [3, 100_000]) {
    const out = new Output()
    out.text(`"${'é'.repeat(size)}"`)
    out.target.bytes[1] = 0xff
    t.ok(out.take().toString() === `"\ufffd\ufffd${'é'.repeat(size - 1)}"`)
  }
})

t.test('A response keeps its bytes while others are written, until its buffer is given back', async (t) => {
  for (const size of [10, 100_000]) {
    const responses = ['a', 'b', 'c'].map((letter) => {
      const out = new Output()
      out.text(letter.repeat(size))
      return out.take()
    })
    t.same(
      responses.map((response) => response.toString()),
      ['a', 'b', 'c'].map((letter) => letter.repeat(size)),
    )
  }
})

t.test('A buffer that was given back is reused, and lent to only one response at a time', async (t) => {
  const first = responseOf(50_000)
  giveBack(first)
  giveBack(first)
  const [second, third, fourth] = [responseOf(60_000), responseOf(70_000), responseOf(80_000)]
  t.ok([second, third, fourth].some(({ buffer }) => buffer === first.buffer))
  t.equal(new Set([second, third, fourth].map(({ buffer }) => buffer)).size, 3)
  t.equal(third.length, 70_000)
})

t.test('Foreign buffers and those of short or very large responses are not kept', async (t) => {
  const strangers = [Buffer.alloc(300_000), responseOf(10), responseOf(20_000_000)]
  for (const stranger of strangers) giveBack(stranger)
  const lent = Array.from({ length: 40 }, () => responseOf(5000))
  t.notOk(lent.some(({ buffer }) => strangers.some((stranger) => stranger.buffer === buffer)))
})

t.test('The number of kept buffers is limited', async (t) => {
  const before = Array.from({ length: 40 }, () => responseOf(5000))
  for (const response of before) giveBack(response)
  const known = new Set(before.map(({ buffer }) => buffer))
  const again = Array.from({ length: 40 }, () => responseOf(5000)).filter(({ buffer }) => known.has(buffer))
  t.equal(again.length, 16)
})
