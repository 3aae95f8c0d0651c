// The JSON text under way, as UTF-8 bytes. One buffer serves all answers, since each is written without a pause.

const FIRST_SIZE = 256 * 1024
/** No answer is larger: a page of the largest size whose documents are beyond all measure ends as an error. */
export const MAX_ANSWER_BYTES = 64 * 1024 * 1024

const quote = 0x22
const backslash = 0x5c
const zero = 0x30
const hex = Buffer.from('0123456789abcdef')
const DAY = 86_400_000

/** The letter behind the backslash of the short escapes of JSON (RFC 8259, section 7), by byte. */
const shortEscapes = new Map(
  Object.entries({ '\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r', '"': '"', '\\': '\\' }).map(
    ([character, letter]) => [character.charCodeAt(0), letter.charCodeAt(0)],
  ),
)

export class Output {
  #bytes = Buffer.allocUnsafeSlow(FIRST_SIZE)
  #length = 0

  /** Makes room for as many bytes. */
  reserve(count: number): void {
    const needed = this.#length + count
    if (needed <= this.#bytes.length) return
    if (needed > MAX_ANSWER_BYTES) throw new RangeError(`An answer is larger than ${MAX_ANSWER_BYTES} bytes`)
    const larger = Buffer.allocUnsafeSlow(Math.min(MAX_ANSWER_BYTES, Math.max(needed, 2 * this.#bytes.length)))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }

  /** What was written, as bytes that stay valid only until the next write. */
  get view(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  reset(): void {
    this.#length = 0
    if (this.#bytes.length > 16 * FIRST_SIZE) this.#bytes = Buffer.allocUnsafeSlow(FIRST_SIZE)
  }

  byte(value: number): void {
    this.reserve(1)
    this.#bytes[this.#length++] = value
  }

  /** Bytes that are JSON already. */
  raw(source: Buffer): void {
    this.reserve(source.length)
    for (let i = 0; i < source.length; i++) this.#bytes[this.#length++] = source[i] as number
  }

  /** Text that is JSON already. */
  text(json: string): void {
    this.reserve(3 * json.length)
    this.#length += this.#bytes.write(json, this.#length)
  }

  /** A JSON string of the UTF-8 bytes from start to end, copied as they are but for what must be escaped. */
  string(source: Buffer, start: number, end: number): void {
    this.reserve(6 * (end - start) + 2)
    const bytes = this.#bytes
    let to = this.#length
    bytes[to++] = quote
    for (let at = start; at < end; at++) {
      const byte = source[at] as number
      if (byte >= 0x20 && byte !== quote && byte !== backslash) bytes[to++] = byte
      else to = this.#escape(byte, to)
    }
    bytes[to++] = quote
    this.#length = to
  }

  #escape(byte: number, to: number): number {
    const letter = shortEscapes.get(byte)
    if (letter !== undefined) {
      this.#bytes[to] = backslash
      this.#bytes[to + 1] = letter
      return to + 2
    }
    return to + this.#bytes.write(`\\u${byte.toString(16).padStart(4, '0')}`, to, 'latin1')
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

    this.byte(quote)
    this.#two(Math.floor(year / 100))
    this.#two(year % 100)
    this.byte(0x2d)
    this.#two(month)
    this.byte(0x2d)
    this.#two(dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1)
    this.byte(0x54)
    this.#two(Math.floor(ms / 3_600_000))
    this.byte(0x3a)
    this.#two(Math.floor(ms / 60_000) % 60)
    this.byte(0x3a)
    this.#two(Math.floor(ms / 1000) % 60)
    this.byte(0x2e)
    this.byte(zero + Math.floor((ms % 1000) / 100))
    this.#two(ms % 100)
    this.byte(0x5a)
    this.byte(quote)
  }

  #two(value: number): void {
    this.byte(zero + Math.floor(value / 10))
    this.byte(zero + (value % 10))
  }
}
