// The rows of a sheet of XLSX (ECMA-376, SpreadsheetML) for people and their spreadsheets. Unlike a cell of CSV, a cell has a
// type: a text is never a formula, and an id of digits is no number.
import { cellColumns } from '../core/write/cells.js'
import { type ColumnFormat, type Kind, ROW } from '../core/write/columns.js'
import type { RowFormat } from '../core/write/rows.js'
import { scalars, timeOf, unquoted, type Write, WrongForFormat } from '../core/write/scalars.js'

/** The most characters of a cell, as UTF-16 counts them. */
const MAX_CHARACTERS = 32_767
const DAY = 86_400_000
/** The number of 1970-01-01 where days count from the end of 1899. */
const DAYS_BEFORE_1970 = 25_569
/** 1900-03-01. Before it, spreadsheets disagree about the numbers of days, or have none. */
const FIRST_DAY = 61
/** A step of this many parts of a day is less than a tenth of a millisecond, and short in digits. */
const DAY_PARTS = 1e9
/** A time is this much late, in milliseconds: programs that cut off what is less than one would have it one too early. */
const LATE = 0.1

/** What stands between the place of a cell and its value. */
const BEGIN: Readonly<Record<Kind, string>> = {
  text: ' t="inlineStr"><is><t>',
  number: '><v>',
  boolean: ' t="b"><v>',
  /** Its writer writes the rest of the cell. */
  time: '',
}
const BEGIN_TIME_TEXT = Buffer.from(BEGIN.text)
/** A text with white space at an end keeps it if it says so. */
const PRESERVED = ' xml:space="preserve">'
const SPACES = [...' \t\n\r'].map((space) => space.charCodeAt(0))
const END_TEXT = Buffer.from('</t></is></c>')
const END_VALUE = Buffer.from('</v></c>')

/** What XML cannot carry, and what looks like its replacement `_xHHHH_`. */
const UNFIT = /(?![\t\n\r\x7f-\x9f])\p{Cc}|[\ufffe\uffff]|_(?=x[\da-f]{4}_)/giu
/** A carriage return as it is would become a line feed. */
const MARKUP = /[&<>\r]/g
const markup: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#13;' }

const escaped = (text: string): string =>
  text
    .replace(UNFIT, (unfit) => `_x${unfit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`)
    .replace(MARKUP, (character) => markup[character] as string)

/** Bytes of UTF-8 that may begin what is escaped. */
const MAYBE_ESCAPED = Array.from({ length: 256 }, (_, byte) =>
  byte < 0x80 ? escaped(`${String.fromCharCode(byte)}x0000_`) !== `${String.fromCharCode(byte)}x0000_` : byte === 0xef,
)

const endingValue =
  (write: Write): Write =>
  (input, type, at, output, begin) => {
    const to = write(input, type, at, output, begin)
    return to + END_VALUE.copy(output.bytes, to)
  }

/** A time as a number of days, in UTC; as text where spreadsheets have no number for it. */
const timeCell: Write = (input, type, at, output, to) => {
  const { bytes } = output
  // The text is written first, because it finds what does not fit.
  const end = writeTime(input, type, at, output, to + BEGIN_TIME_TEXT.copy(bytes, to))
  const time = timeOf(input, at)
  // A day alone stays a whole number, as spreadsheets compare it with their own.
  const days = (time % DAY === 0 ? time : time + LATE) / DAY + DAYS_BEFORE_1970
  if (days < FIRST_DAY) return end + END_TEXT.copy(bytes, end)
  return to + bytes.write(` s="1"><v>${Math.round(days * DAY_PARTS) / DAY_PARTS}${END_VALUE}`, to)
}
const writeTime = unquoted(scalars.instant.write)

const finish: ColumnFormat['finish'] = ({ bytes }, from, to, at) => {
  if (to - from > MAX_CHARACTERS && bytes.toString('utf8', from, to).length > MAX_CHARACTERS)
    throw new WrongForFormat(`has more than ${MAX_CHARACTERS} characters, the most of a cell of XLSX`, at)
  const isPreserved = from < to && [bytes[from], bytes[to - 1]].some((byte) => SPACES.includes(byte as number))
  let place = from
  while (place < to && !MAYBE_ESCAPED[bytes[place] as number]) place += 1
  let end = place === to ? to : from + bytes.write(escaped(bytes.toString('utf8', from, to)), from)
  if (isPreserved) {
    // It stands in the tag before the text.
    bytes.copyWithin(from - 1 + PRESERVED.length, from, end)
    end += bytes.write(PRESERVED, from - 1) - 1
  }
  return end + END_TEXT.copy(bytes, end)
}

const writeBit: Write = (input, _type, at, { bytes }, to) => {
  bytes[to] = input.bytes[at] === 0 ? 0x30 : 0x31
  return to + 1
}

/** The letters of a column, by its number from 1. */
export const lettersOf = (column: number): string =>
  column === 0 ? '' : lettersOf(Math.floor((column - 1) / 26)) + String.fromCharCode(65 + ((column - 1) % 26))

/** How many rows a sheet has so far. */
export interface Rows {
  count: number
}

/** Each row and cell says where it is, which half of all programs need. A cell without a value is left out. */
export const xlsxColumns = (rows: Rows): ColumnFormat => {
  const cell = (column: number, row: string | number) => `<c r="${lettersOf(column + 1)}${row}"`
  return cellColumns({
    header(names) {
      rows.count = 1
      const cells = names.map((name, i) => `${cell(i, 1)} s="2"${BEGIN.text}${escaped(name)}${END_TEXT}`)
      return `<row r="1">${cells.join('')}</row>`
    },
    label: (_name, column, kind) => `${column === 0 ? `<row r="${ROW}">` : ''}${cell(column, ROW)}${BEGIN[kind]}`,
    rowNumber: () => rows.count + 1,
    missing: '',
    cells: { number: endingValue(scalars.number.write), boolean: endingValue(writeBit), time: timeCell },
    finish,
    number: (value) => `${value}${END_VALUE}`,
    end() {
      rows.count += 1
      return '</row>'
    },
  })
}

/** The rows of a record that fails do not count. */
export const countingRows = (rows: Rows, { write, ...format }: RowFormat): RowFormat => ({
  ...format,
  write(record, out) {
    const { count } = rows
    try {
      write(record, out)
    } catch (error) {
      rows.count = count
      throw error
    }
  },
})
