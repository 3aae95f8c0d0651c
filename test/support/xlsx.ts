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
  const [, attributes, value] = /^<c([^>]*)>(?:<is><t[^>]*>|<v>)(.*)<\/(?:t><\/is|v)><\/c>$/s.exec(xml) ?? []
  if (value === undefined) {
    assert.equal(xml, '<c/>')
    return undefined
  }
  if (attributes === ' t="inlineStr"') return textOf(value)
  if (attributes === ' t="b"') return value === '1'
  if (attributes === ' s="1"') return new Date(Math.round((Number(value) - 25_569) * 86_400_000))
  assert.equal(attributes, '')
  return Number(value)
}

/** The rows of a sheet. */
export const sheetRows = (xml: string): Cell[][] =>
  [...xml.matchAll(/<row(?: r="\d+")?>(.*?)<\/row>/gs)].map(([, row = '']) =>
    [...row.matchAll(/<c\/>|<c[ >].*?<\/c>/gs)].map(([cell]) => cellOf(cell)),
  )
