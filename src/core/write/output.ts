// The buffers of responses. They are used again, because garbage collection of a response takes as long as writing it.
import { isUtf8 } from 'node:buffer'
import { Bytes } from '../bson/reader.js'
import { MAX_RESPONSE_BYTES, ResponseTooLarge } from './errors.js'

const FIRST_SIZE = 256 * 1024
/** Smaller responses are copied, which is cheaper than lending the buffer. */
const LEAST_LENT = 4096
/** The largest buffer that waits for later responses, and how many such buffers wait at most. */
const MOST_SPARE_BYTES = 16 * FIRST_SIZE
const MOST_SPARE = 16

const spare: Bytes[] = []
const lent = new WeakSet<ArrayBufferLike>()

/** Returns the buffer of a response that was sent, so that it can be reused. Other buffers are ignored. */
export const giveBack = ({ buffer }: Uint8Array): void => {
  if (lent.delete(buffer)) keep(new Bytes(Buffer.from(buffer)))
}

const keep = (bytes: Bytes): void => {
  if (spare.length < MOST_SPARE && bytes.bytes.length <= MOST_SPARE_BYTES) spare.push(bytes)
}

/** A buffer of at least this size: a spare one if there is one, otherwise a new one. */
const bufferOf = (size: number): Bytes => {
  const index = spare.findIndex(({ bytes }) => bytes.length >= size)
  return spare.splice(index, index === -1 ? 0 : 1)[0] ?? new Bytes(Buffer.allocUnsafeSlow(size))
}

export class Output {
  /** The bytes to write to. Call reserve() before writing, and set the length afterwards. */
  target = bufferOf(FIRST_SIZE)
  #length = 0

  get length(): number {
    return this.#length
  }

  set length(length: number) {
    if (length > this.target.bytes.length) throw new RangeError('The output is longer than the reserved room')
    if (length > MAX_RESPONSE_BYTES) throw new ResponseTooLarge()
    this.#length = length
  }

  reserve(count: number): void {
    const { bytes } = this.target
    const needed = this.#length + count
    if (needed <= bytes.length) return
    const larger = bufferOf(Math.max(needed, 2 * bytes.length))
    bytes.copy(larger.bytes, 0, 0, this.#length)
    keep(this.target)
    this.target = larger
  }

  text(text: string): void {
    this.reserve(3 * text.length)
    this.length += this.target.bytes.write(text, this.#length)
  }

  /** Ends the output and returns it, with U+FFFD for invalid UTF-8. The caller may giveBack() the buffer when it is done. */
  take(): Buffer {
    const written = this.target.bytes.subarray(0, this.#length)
    const isValid = isUtf8(written)
    if (isValid && written.length >= LEAST_LENT) {
      lent.add(written.buffer)
      return written
    }
    keep(this.target)
    return isValid ? Buffer.from(written) : Buffer.from(written.toString())
  }
}
