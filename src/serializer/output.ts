// The JSON text under way, as UTF-8 bytes, and the buffers that responses are sent from. Buffers are used again,
// because collecting a response's garbage costs as much as writing it.
import { isUtf8 } from 'node:buffer'
import { Bytes, MAX_RESPONSE_BYTES, ResponseTooLarge } from '../bson/reader.js'

const FIRST_SIZE = 256 * 1024
/** Smaller responses are copied out, which is cheaper than to lend a buffer. */
const LEAST_LENT = 4096
/** Which buffers are kept for the next responses, and how many. */
const MOST_KEPT_BYTES = 16 * FIRST_SIZE
const MOST_KEPT = 16

const kept: Bytes[] = []
const lent = new WeakMap<ArrayBufferLike, Bytes>()

/** Takes back the buffer of a response that was sent. Any other buffer is ignored. */
export const giveBack = ({ buffer }: Buffer): void => {
  const bytes = lent.get(buffer)
  if (bytes === undefined) return
  lent.delete(buffer)
  if (kept.length < MOST_KEPT && bytes.bytes.length <= MOST_KEPT_BYTES) kept.push(bytes)
}

export class Output {
  /** Where to write: whoever writes has called reserve() before, and sets the length afterwards. */
  target = new Bytes(Buffer.allocUnsafeSlow(FIRST_SIZE))
  #length = 0

  get length(): number {
    return this.#length
  }

  set length(length: number) {
    if (length > this.target.bytes.length) throw new RangeError('More was written than there was room for')
    if (length > MAX_RESPONSE_BYTES) throw new ResponseTooLarge()
    this.#length = length
  }

  /** Makes room for so many bytes more. */
  reserve(count: number): void {
    const { bytes } = this.target
    const needed = this.#length + count
    if (needed <= bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * bytes.length))
    bytes.copy(larger, 0, 0, this.#length)
    this.target = new Bytes(larger)
  }

  byte(value: number): void {
    this.reserve(1)
    this.target.bytes[this.#length] = value
    this.length += 1
  }

  /** Writes text that is JSON already. */
  text(json: string): void {
    this.reserve(3 * json.length)
    this.length += this.target.bytes.write(json, this.#length)
  }

  /** Forgets what was written. */
  reset(): void {
    this.#length = 0
    if (this.target.bytes.length > MOST_KEPT_BYTES) this.#renew()
  }

  /**
   * What was written, as the bytes of a response; the next one begins anew. The buffer is the caller's until it is given
   * back, which may be never. Bytes that are no UTF-8 come out as U+FFFD.
   */
  take(): Buffer {
    const written = this.target.bytes.subarray(0, this.#length)
    this.#length = 0
    if (!isUtf8(written)) return Buffer.from(written.toString())
    if (written.length < LEAST_LENT) return Buffer.from(written)
    lent.set(written.buffer, this.target)
    this.#renew()
    return written
  }

  #renew(): void {
    this.target = kept.pop() ?? new Bytes(Buffer.allocUnsafeSlow(FIRST_SIZE))
  }
}
