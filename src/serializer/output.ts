// The JSON text under way, as UTF-8 bytes. One buffer serves all answers, since each is written without a pause.

const FIRST_SIZE = 256 * 1024
/** No answer is larger: a page of the largest size whose documents are beyond all measure ends as an error. */
export const MAX_ANSWER_BYTES = 64 * 1024 * 1024

const quote = 0x22
const backslash = 0x5c
const zero = 0x30
const hex = Buffer.from('0123456789abcdef')
const DAY = 86_400_000
const INSTANT = Buffer.from('"0000-00-00T00:00:00.000Z"')

/** What JSON writes for a byte that no string may hold as it is: all of them are ASCII. */
const escapes = Array.from({ length: 0x80 }, (_, byte) =>
  Buffer.from(JSON.stringify(String.fromCharCode(byte)).slice(1, -1)),
)

/** For each byte whether a string may hold it as it is: one look instead of three comparisons. */
const isPlain = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(byte >= 0x20 && byte !== quote && byte !== backslash),
)

export class Output {
  #bytes = Buffer.allocUnsafeSlow(FIRST_SIZE)
  #length = 0

  /** What was written, as bytes that stay valid only until the next write. */
  get view(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  reset(): void {
    this.#length = 0
    if (this.#bytes.length > 16 * FIRST_SIZE) this.#bytes = Buffer.allocUnsafeSlow(FIRST_SIZE)
  }

  byte(value: number): void {
    this.#reserve(1)
    this.#bytes[this.#length++] = value
  }

  /** Bytes that are JSON already. */
  raw(source: Buffer): void {
    this.#reserve(source.length)
    const bytes = this.#bytes
    let to = this.#length
    for (let i = 0; i < source.length; i++) bytes[to++] = source[i] as number
    this.#length = to
  }

  /** Text that is JSON already. */
  text(json: string): void {
    this.#reserve(Buffer.byteLength(json))
    this.#length += this.#bytes.write(json, this.#length)
  }

  /** Short text that is JSON already, and ASCII: sooner done here than by Node. */
  ascii(json: string): void {
    this.#reserve(json.length)
    for (let i = 0; i < json.length; i++) this.#bytes[this.#length++] = json.charCodeAt(i)
  }

  /** A JSON string of the UTF-8 bytes from start to end, copied as they are but for what must be escaped. */
  string(source: Buffer, start: number, end: number): void {
    this.#reserve(end - start + 2)
    let bytes = this.#bytes
    let to = this.#length
    bytes[to++] = quote
    for (let at = start; at < end; at++) {
      const byte = source[at] as number
      if (isPlain[byte] === 1) {
        bytes[to++] = byte
      } else {
        this.#length = to
        this.raw(escapes[byte] as Buffer)
        this.#reserve(end - at)
        bytes = this.#bytes
        to = this.#length
      }
    }
    bytes[to++] = quote
    this.#length = to
  }

  /** The bytes from start to end as a JSON string of hexadecimal digits. */
  hex(source: Buffer, start: number, end: number): void {
    this.byte(quote)
    for (let at = start; at < end; at++) {
      const byte = source[at] as number
      this.byte(hex[byte >> 4] as number)
      this.byte(hex[byte & 15] as number)
    }
    this.byte(quote)
  }

  /**
   * A JSON string of an instant: ISO 8601 in UTC with milliseconds.
   * @param time milliseconds since 1970, within the range of a Date
   */
  instant(time: number): void {
    const days = Math.floor(time / DAY)
    // The years of four digits without a Date: the civil calendar from a count of days, in eras of 400 years that begin
    // in March, so that the day of the leap year comes last.
    if (days < -719_162 || days > 2_932_896) {
      this.text(`"${new Date(time).toISOString()}"`)
      return
    }
    const z = days + 719_468
    const era = Math.floor(z / 146_097)
    const dayOfEra = z - era * 146_097
    const yearOfEra = Math.floor(
      (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
    )
    const dayOfYear = dayOfEra - (365 * yearOfEra + (yearOfEra >> 2) - Math.floor(yearOfEra / 100))
    const marchMonth = Math.floor((5 * dayOfYear + 2) / 153)
    const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    const ms = time - days * DAY

    const at = this.#length
    this.raw(INSTANT)
    this.#two(at + 1, Math.floor(year / 100))
    this.#two(at + 3, year % 100)
    this.#two(at + 6, month)
    this.#two(at + 9, dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1)
    this.#two(at + 12, Math.floor(ms / 3_600_000))
    this.#two(at + 15, Math.floor(ms / 60_000) % 60)
    this.#two(at + 18, Math.floor(ms / 1000) % 60)
    this.#bytes[at + 21] = zero + Math.floor((ms % 1000) / 100)
    this.#two(at + 22, ms % 100)
  }

  /** Writes two digits over those at a place. */
  #two(at: number, value: number): void {
    this.#bytes[at] = zero + Math.floor(value / 10)
    this.#bytes[at + 1] = zero + (value % 10)
  }

  #reserve(count: number): void {
    const needed = this.#length + count
    if (needed <= this.#bytes.length) return
    if (needed > MAX_ANSWER_BYTES) throw new RangeError(`An answer is larger than ${MAX_ANSWER_BYTES} bytes`)
    const larger = Buffer.allocUnsafeSlow(Math.min(MAX_ANSWER_BYTES, Math.max(needed, 2 * this.#bytes.length)))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}
