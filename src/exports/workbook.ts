// XLSX files for exports: an archive of a workbook with one sheet. The rows of the sheet are compressed while they come.
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { ZipFile } from 'yazl'
import type { FileWriter } from './exported.js'

/** The most rows of a sheet, with the row of names. */
const MAX_ROWS = 1_048_576
export const MAX_RECORDS = MAX_ROWS - 1
/** The most bytes of a sheet: archives of more need an extension that not every program reads. */
const MAX_BYTES = 0xffff_ffff
/** About how many bytes of rows get their places and are compressed at once. */
const CHUNK_BYTES = 256 * 1024
/** The time of each part, so that equal rows are equal files. */
const MTIME = new Date(2000, 0)
/** Of 1 to 9: more takes several times as long and makes a file that is hardly smaller. */
const COMPRESSION = 1
/** The least and the greatest width of a column, in characters. */
const WIDTHS = [8, 60] as const
const TIME_WIDTH = 20

const [ROW, ROW_END, CELL] = ['<row', '</row>', '<c']
const PRESERVED = '<t>'
/** What gets its place: rows, cells, also empty ones, and texts with white space at an end, which is kept if they say so. */
const PLACED = /<row|<c(\/>)?|<t>(?=[ \t\n]|&#13;|[^<]*(?:[ \t\n]|&#13;)<)/g

/** The parts of a workbook, by their names. What differs from file to file stands between signs of percent. */
const folder = new URL('../../../pages/workbook/', import.meta.url)
const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(xml|rels)$/.test(name))
const parts = names.sort().map((name) => ({ name, xml: readFileSync(new URL(encodeURI(name), folder), 'utf8') }))
const sheet = parts.pop() as (typeof parts)[0]
const [BEGIN = '', END = ''] = sheet.xml.split('%rows%')

/** A column for each name, as wide as the longest text of the first rows. */
const columnsOf = (rows: string): string => {
  const widths: number[] = []
  for (const row of rows.split(ROW_END)) {
    for (const [column, cell] of row.split(CELL).slice(1).entries()) {
      const width = cell.startsWith(' s="1"') ? TIME_WIDTH : cell.replace(/^[^>]*>|<[^>]*>/g, '').length
      widths[column] = Math.max(widths[column] ?? 0, width)
    }
  }
  const [least, most] = WIDTHS
  const all = widths.map((width, i) => {
    const characters = Math.min(Math.max(width + 2, least), most)
    return `<col min="${i + 1}" max="${i + 1}" width="${characters}" customWidth="1"/>`
  })
  return all.join('')
}

/** The letters of a column, by its number from 1. */
const lettersOf = (column: number): string =>
  column === 0 ? '' : lettersOf(Math.floor((column - 1) / 26)) + String.fromCharCode(65 + ((column - 1) % 26))

/** An XLSX file whose bytes come part by part. It has no directory before its end, so what is cut off opens nowhere. */
export class XlsxFile implements FileWriter {
  readonly #zip = new ZipFile()
  readonly #sheet = new PassThrough()
  /** Of the columns, from 1. */
  readonly #letters: readonly string[]
  #ready: Buffer[] = []
  #rows = 0
  #bytes = 0

  constructor(name: string, columns: number) {
    this.#letters = Array.from({ length: columns + 1 }, (_, column) => lettersOf(column))
    for (const part of parts)
      this.#zip.addBuffer(Buffer.from(part.xml.replace('%name%', name)), part.name, { mtime: MTIME })
    this.#zip.addReadStream(this.#sheet, sheet.name, { mtime: MTIME, compressionLevel: COMPRESSION })
    this.#zip.end()
    this.#zip.outputStream.on('data', (bytes: Buffer) => this.#ready.push(bytes))
  }

  /** @throws Error if the rows are more than a sheet has */
  async write(rows: Buffer): Promise<Buffer> {
    if (this.#bytes === 0) await this.#add(Buffer.from(BEGIN.replace('%columns%', columnsOf(rows.toString()))))
    await this.#addRows(rows)
    if (this.#rows > MAX_ROWS) throw new Error(`A sheet of XLSX has at most ${MAX_ROWS} rows, with the row of names`)
    return this.#take()
  }

  async end(): Promise<Buffer> {
    const range = `A1:${this.#letters.at(-1)}${this.#rows}`
    this.#sheet.end(END.replaceAll('%range%', range))
    await once(this.#zip.outputStream, 'end')
    return this.#take()
  }

  close(): void {
    this.#sheet.destroy()
  }

  /** Adds rows, some at a time. Each row and cell gets its place, which half of all programs need, and empty cells go. */
  async #addRows(rows: Buffer): Promise<void> {
    let column = 0
    const placed = (tag: string, empty?: string): string => {
      if (tag === PRESERVED) return '<t xml:space="preserve">'
      if (tag === ROW) {
        this.#rows += 1
        column = 0
        return `${ROW} r="${this.#rows}"`
      }
      column += 1
      return empty === undefined ? `${CELL} r="${this.#letters[column]}${this.#rows}"` : ''
    }
    for (let at = 0; at < rows.length; ) {
      const next = rows.indexOf(CELL, at + CHUNK_BYTES)
      const end = next === -1 ? rows.length : next
      // As Latin-1, bytes stay what they are, whatever they encode.
      await this.#add(Buffer.from(rows.toString('latin1', at, end).replace(PLACED, placed), 'latin1'))
      at = end
    }
  }

  /** Adds bytes to the sheet, and waits until they are on their way. */
  async #add(bytes: Buffer): Promise<void> {
    this.#bytes += bytes.length
    if (this.#bytes > MAX_BYTES) throw new Error(`A sheet of XLSX has at most ${MAX_BYTES} bytes`)
    await new Promise((resolve) => this.#sheet.write(bytes, resolve))
  }

  #take(): Buffer {
    const bytes = Buffer.concat(this.#ready)
    this.#ready = []
    return bytes
  }
}
