// Whole XLSX files: their parts, and the sheet that is made of rows.
import t from 'tap'
import { Workbook } from '../../src/exports/workbook.js'
import { lettersOf, xlsxColumns } from '../../src/exports/xlsx.js'
import { sheetRows, unzip } from '../support/xlsx.js'

/** A file of some columns, whose rows are written in parts. */
const fileOf = (header: readonly string[], ...parts: readonly (readonly string[])[][]) => {
  const rows = { count: 0 }
  const names = xlsxColumns(rows).header(header)
  const file = new Workbook('entries', header.length, rows)
  const rowOf = (cells: readonly string[]) => {
    rows.count += 1
    const all = cells.map((cell, i) => `<c r="${lettersOf(i + 1)}${rows.count}"${cell}`)
    return `<row r="${rows.count}">${all.join('')}</row>`
  }
  const buffers = parts.map((part, i) =>
    Buffer.from(file.write(Buffer.from(`${i === 0 ? names : ''}${part.map(rowOf).join('')}`))),
  )
  return Buffer.concat([...buffers, file.end()])
}
const text = (value: string) => ` t="inlineStr"><is><t>${value}</t></is></c>`
const SHEET = 'xl/worksheets/sheet1.xml'

t.test('a file has its rows in one sheet, whose first row is frozen and has a filter', async (t) => {
  const rows = Array.from({ length: 5000 }, (_, i) => [text(`id-${i}`), `><v>${i}</v></c>`, ' s="1"><v>1</v></c>'])
  const parts = unzip(fileOf(['id', 'size', 'at'], rows.slice(0, 1), rows.slice(1)))
  t.strictSame(
    [...parts.keys()],
    ['[Content_Types].xml', '_rels/.rels', 'xl/_rels/workbook.xml.rels', 'xl/styles.xml', 'xl/workbook.xml', SHEET],
  )
  t.match(parts.get('xl/workbook.xml'), '<sheet name="entries"')
  const sheet = parts.get(SHEET) as string
  const found = sheetRows(sheet)
  t.equal(found.length, 5001)
  t.strictSame(found[5000], ['id-4999', 4999, found[1]?.[2]])
  t.match(sheet, '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>')
  t.match(sheet, /<\/sheetData>\s*<autoFilter ref="A1:C5001"\/>/)
  t.match(sheet, /<cols>\s*<col min="1" max="1" width="8".*<col min="3" max="3" width="22"/)
})

t.test('columns are as wide as their first texts, up to a limit, and have letters', async (t) => {
  const sheet = unzip(fileOf(['<', ...Array(800).fill('x'.repeat(100))], [])).get(SHEET) as string
  t.match(sheet, '<col min="801" max="801" width="60" customWidth="1"/></cols>')
  t.match(sheet, '<autoFilter ref="A1:ADU1"/>')
  t.equal(lettersOf(26 * 27 + 1), 'AAA')
})

t.test('a file whose rows or bytes are more than a sheet has fails', async (t) => {
  const rows = { count: 1_048_576 }
  const file = new Workbook('entries', 1, rows)
  file.write(Buffer.from('<row r="1048576"></row>'))
  rows.count += 1
  t.throws(() => file.write(Buffer.from('<row r="1048577"></row>')), { message: /at most 1048576 rows/ })
  const wide = new Workbook('entries', 1, { count: 1 })
  wide.write(Buffer.from('<row r="1"></row>'))
  t.intercept(Buffer, 'byteLength', { value: () => 2 ** 32 })
  t.throws(() => wide.write(Buffer.from('<row r="2"></row>')), { message: /at most 4294967295 bytes/ })
})
