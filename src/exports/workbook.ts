// XLSX files: archives of one sheet, whose rows are compressed while they come. One without its end opens nowhere.
import { readdirSync, readFileSync } from 'node:fs'
import { constants, crc32, deflateRawSync } from 'node:zlib'
import { MAX_RECORDS } from './exported.js'
import type { FileEncoder } from './job.js'
import { lettersOf, type Rows } from './xlsx.js'

const MAX_ROWS = MAX_RECORDS + 1
/** The most bytes of a sheet: archives of more need an extension that not every program reads. */
const MAX_BYTES = 0xffff_ffff
/** The day of each part, 2000-01-01, so that equal rows are equal files. */
const DATE = 0x2821
/** Of 1 to 9: more takes several times as long and makes a file that is hardly smaller. */
const COMPRESSION = 1
/** The least and the greatest width of a column, and that of a time, in characters. */
const [LEAST_WIDTH, MOST_WIDTH, TIME_WIDTH] = [8, 60, 20]

/** The parts of a workbook, by their names. What differs from file to file stands between signs of percent. */
const folder = new URL('../../../pages/workbook/', import.meta.url)
const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(xml|rels)$/.test(name))
const parts = names.sort().map((name) => ({ name, xml: readFileSync(new URL(encodeURI(name), folder), 'utf8') }))
const sheet = parts.pop() as (typeof parts)[0]
const [BEGIN = '', END = ''] = sheet.xml.split('%rows%')

/** A record of an archive (APPNOTE of PKWARE): numbers of so many bytes each. */
const record = (sizes: string, ...values: number[]): Buffer => {
  const bytes = Buffer.alloc([...sizes].reduce((sum, size) => sum + Number(size), 0))
  let to = 0
  for (const [i, value] of values.entries()) to = bytes.writeUIntLE(value, to, Number(sizes[i]))
  return bytes
}
/** The version that reads it, that its names are UTF-8 and sizes come late, that it is deflated, and its time. */
const COMMON = [20, 0x808, 8, 0, DATE] as const

/** A column for each name, as wide as the longest text of the first rows. */
const columnWidths = (rows: string): string => {
  const widths = new Map<string, number>()
  for (const [, letters = '', time, cell = ''] of rows.matchAll(/<c r="([A-Z]+)\d+"( s="1")?[^>]*>(.*?)<\/c>/gs)) {
    const width = time === undefined ? cell.replace(/<[^>]*>/g, '').length : TIME_WIDTH
    widths.set(letters, Math.max(widths.get(letters) ?? 0, width))
  }
  // The row of names has all of them.
  const columns = Array.from(widths.values(), (width, i) => {
    const characters = Math.min(Math.max(width + 2, LEAST_WIDTH), MOST_WIDTH)
    return `<col min="${i + 1}" max="${i + 1}" width="${characters}" customWidth="1"/>`
  })
  return columns.join('')
}

interface Part {
  readonly name: Buffer
  readonly at: number
  crc: number
  packed: number
  size: number
}

export class Workbook implements FileEncoder {
  readonly #parts: Part[] = []
  /** What was not given away yet, and how many bytes were made. */
  #ready: Buffer[] = []
  #length = 0

  constructor(
    name: string,
    readonly columns: number,
    /** Counts the rows that are written. */
    readonly rows: Rows,
  ) {
    for (const part of parts) {
      this.#begin(part.name)
      this.#add(part.xml.replace('%name%', name), true)
    }
  }

  /** @throws Error if the rows are more than a sheet has */
  write(rows: Buffer): Uint8Array {
    if (this.#parts.length === parts.length) {
      this.#begin(sheet.name)
      this.#add(BEGIN.replace('%columns%', columnWidths(rows.toString())))
    }
    this.#add(rows)
    if (this.rows.count > MAX_ROWS)
      throw new Error(`A sheet of XLSX has at most ${MAX_ROWS} rows, with the row of names`)
    return this.#take()
  }

  end(): Uint8Array {
    this.#add(END.replaceAll('%range%', `A1:${lettersOf(this.columns)}${this.rows.count}`), true)
    const begin = this.#length
    for (const { name, at, crc, packed, size } of this.#parts) {
      const rest = [name.length, 0, 0, 0, 0, 0, at]
      this.#put(record('42222224442222244', 0x0201_4b50, COMMON[0], ...COMMON, crc, packed, size, ...rest), name)
    }
    const { length } = this.#parts
    this.#put(record('42222442', 0x0605_4b50, 0, 0, length, length, this.#length - begin, begin, 0))
    return this.#take()
  }

  #begin(name: string): void {
    const part = { name: Buffer.from(name), at: this.#length, crc: 0, packed: 0, size: 0 }
    this.#parts.push(part)
    this.#put(record('42222244422', 0x0403_4b50, ...COMMON, 0, 0, 0, part.name.length, 0), part.name)
  }

  /** Adds bytes to the newest part. */
  #add(bytes: Buffer | string, isLast = false): void {
    const part = this.#parts.at(-1) as Part
    part.size += Buffer.byteLength(bytes)
    if (part.size > MAX_BYTES) throw new Error(`A sheet of XLSX has at most ${MAX_BYTES} bytes`)
    part.crc = crc32(bytes, part.crc)
    const finishFlush = isLast ? constants.Z_FINISH : constants.Z_SYNC_FLUSH
    const packed = deflateRawSync(bytes, { level: COMPRESSION, finishFlush })
    part.packed += packed.length
    this.#put(packed)
    if (isLast) this.#put(record('4444', 0x0807_4b50, part.crc, part.packed, part.size))
  }

  #put(...all: Buffer[]): void {
    for (const bytes of all) this.#length += bytes.length
    this.#ready.push(...all)
  }

  #take(): Buffer {
    const bytes = Buffer.concat(this.#ready)
    this.#ready = []
    return bytes
  }
}
