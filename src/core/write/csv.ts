// Comma-separated values (RFC 4180) for people and their spreadsheets: a header, and a row for each document.
import type { Static, TObject } from '@sinclair/typebox'
import type { csvParameters } from '../../../schemas/exports.js'
import type { Bytes } from '../bson/reader.js'
import { cellColumns } from './cells.js'
import type { ColumnFormat } from './columns.js'
import type { RowFormat } from './rows.js'
import { scalars, unquoted } from './scalars.js'

export type CsvOptions = Static<TObject<typeof csvParameters>>

const LINE_END = '\r\n'
const BOM = '\ufeff'

const quote = 0x22
const apostrophe = 0x27
const byteTable = (isIn: (character: string) => boolean): boolean[] =>
  Array.from({ length: 256 }, (_, byte) => isIn(String.fromCharCode(byte)))
/** What separates cells and rows, here or where a program reads `;` or tabs in their place. */
const SEPARATES = byteTable((character) => ',;\t\r\n'.includes(character))
/** Whether a spreadsheet runs a text as a formula (OWASP, CSV injection). Some skip invisible signs or take fullwidth ones. */
const isFormula = (text: string): boolean =>
  /^(?:[\s\p{Cc}\p{Cf}]*[=+@-]|[\t\r\n\0])/u.test(text.normalize('NFKC')) && !NUMBER.test(text)
/** Bytes with which no formula begins: visible ASCII, except for the signs. */
const BEGINS_TEXT = byteTable((character) => /[!-~]/.test(character) && !'=+@-'.includes(character))
const NUMBER = /^-\d+(\.\d+)?(e[+-]?\d+)?$/i

/** Each column is a cell. */
export const csvColumns = (options: CsvOptions): ColumnFormat =>
  cellColumns({
    header: (names) => headerOf(names, options),
    label: (_name, column) => (column === 0 ? '' : ','),
    missing: ',',
    cells: { time: unquoted(scalars.instant.write) },
    finish: (output, from, to) => quoted(output, from, options.formulas === 'keep' ? to : harmless(output, from, to)),
    number: String,
    end: () => LINE_END,
  })

/** Puts an apostrophe before a text that a spreadsheet would run as a formula. A negative number stays one. */
const harmless = ({ bytes }: Bytes, from: number, to: number): number => {
  if (from === to || BEGINS_TEXT[bytes[from] as number] || !isFormula(bytes.toString('utf8', from, to))) return to
  bytes.copyWithin(from + 1, from, to)
  bytes[from] = apostrophe
  return to + 1
}

/** Puts quotes around a text that needs them. An empty text gets them too, unlike a missing value. */
const quoted = ({ bytes }: Bytes, from: number, to: number): number => {
  let [quotes, needsQuotes] = [0, from === to]
  for (let i = from; i < to; i++) {
    const byte = bytes[i] as number
    if (byte === quote) quotes += 1
    else if (SEPARATES[byte]) needsQuotes = true
  }
  if (quotes === 0 && !needsQuotes) return to
  const end = to + quotes + 2
  let place = end - 1
  bytes[place] = quote
  for (let i = to - 1; i >= from; i--) {
    const byte = bytes[i] as number
    bytes[--place] = byte
    if (byte === quote) bytes[--place] = quote
  }
  bytes[from] = quote
  return end
}

export type Cells = readonly (string | number | null | undefined)[]

/** Tables of what becomes rows of cells. All texts are quoted. */
export const csvTable = <T>(names: Cells, rowsOf: (of: T) => readonly Cells[], options: CsvOptions): RowFormat<T> => ({
  begin: headerOf(names, options),
  write(of, out) {
    for (const cells of rowsOf(of)) out.text(lineOf(cells, options))
  },
})

/** A program that guesses the format knows by the quotes that cells may have some, also where the first such cell comes late. */
const headerOf = (names: Cells, options: CsvOptions): string =>
  (options.bom === 'true' ? BOM : '') + lineOf(names, options)

const lineOf = (cells: Cells, { formulas }: CsvOptions): string => {
  const textOf = (text: string) => (formulas !== 'keep' && isFormula(text) ? `'${text}` : text).replaceAll('"', '""')
  return cells.map((cell) => (typeof cell === 'string' ? `"${textOf(cell)}"` : cell)).join() + LINE_END
}
