// Reads XLSX files back: the entries of the archive by its directory, and the cells of the sheet.
import assert from 'node:assert/strict'
import { inflateRawSync } from 'node:zlib'

/** The parts of an archive. Throws if it has no directory. */
export const unzip = (file: Buffer): Map<string, string> => {
  const end = file.lastIndexOf('PK\x05\x06')
  assert(end !== -1, 'An archive ends with its directory')
  const parts = new Map<string, string>()
  let at = file.readUInt32LE(end + 16)
  for (let left = file.readUInt16LE(end + 10); left > 0; left--) {
    const [packed, name, extra, comment] = [
      file.readUInt32LE(at + 20),
      file.readUInt16LE(at + 28),
      file.readUInt16LE(at + 30),
      file.readUInt16LE(at + 32),
    ]
    const local = file.readUInt32LE(at + 42)
    const data = local + 30 + file.readUInt16LE(local + 26) + file.readUInt16LE(local + 28)
    const text = inflateRawSync(file.subarray(data, data + packed)).toString()
    parts.set(file.toString('utf8', at + 46, at + 46 + name), text)
    at += 46 + name + extra + comment
  }
  return parts
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', '#13': '\r' }

/** The text of a cell as spreadsheets read it. */
const textOf = (xml: string): string => {
  assert(!/[<>\r\ufffe\uffff]|(?![\t\n\x7f-\x9f])\p{Cc}/u.test(xml), 'XML cannot carry it')
  return xml
    .replace(/&([#\w]+);/g, (_, name) => entities[name] as string)
    .replace(/_x([\dA-F]{4})_/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
}

/** The value of a cell: a text, a number, a boolean, a time, or nothing. */
export type Cell = string | number | boolean | Date | undefined

const cellOf = (xml: string): Cell => {
  const [, attributes, preserved, text, value] =
    /^<c([^>]*)>(?:<is><t( xml:space="preserve")?>(.*)<\/t><\/is>|<v>(.*)<\/v>)<\/c>$/s.exec(xml) ?? []
  if (text !== undefined) {
    assert.match(String(attributes), /^( s="2")? t="inlineStr"$/)
    // Else Excel takes it away.
    assert.equal(preserved !== undefined, /^([ \t\n]|&#13;)|([ \t\n]|&#13;)$/.test(text), xml)
    return textOf(text)
  }
  if (attributes === ' t="b"') return value === '1'
  if (attributes === ' s="1"') {
    const time = Number(value) * 86_400_000
    assert.equal(Math.trunc(time), Math.round(time), `${value} is one time, whether programs round it or cut it off`)
    return new Date(Math.round(time) - 25_569 * 86_400_000)
  }
  assert.equal(attributes, '', xml)
  return Number(value)
}

/** The number of a column from 0, by its letters. */
const columnOf = (letters: string): number =>
  [...letters].reduce((number, letter) => 26 * number + letter.charCodeAt(0) - 64, 0) - 1

/** The rows of a sheet, whose rows and cells say where they are. */
export const sheetRows = (xml: string): Cell[][] =>
  [...xml.matchAll(/<row r="(\d+)">(.*?)<\/row>/gs)].map(([, number, row = ''], i) => {
    assert.equal(Number(number), i + 1)
    const cells: Cell[] = []
    for (const [, letters = '', at, cell] of row.matchAll(/<c r="([A-Z]+)(\d+)"(.*?<\/c>)/gs)) {
      assert.equal(at, number)
      const column = columnOf(letters)
      assert(column >= cells.length)
      while (cells.length < column) cells.push(undefined)
      cells.push(cellOf(`<c${cell}`))
    }
    return cells
  })
