// Reads the XLSX files in this folder with libraries of JavaScript. Prints a line of JSON for each: the file, the reader and the
// rows. Missing values are left out of rows.
// Usage: node read_xlsx.js FOLDER_OF_LIBRARIES
import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'

const require = createRequire(`${process.argv[2]}/`)
const { Workbook } = require('exceljs')
const { readSheet } = require('read-excel-file/node')
const xlsx = require('xlsx')

/** Rows of cells, of which the first has the names. */
const named = ([names, ...rows]) =>
  rows.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i] ?? undefined])))

const readers = {
  async exceljs(file) {
    const workbook = new Workbook()
    await workbook.xlsx.readFile(file)
    const rows = []
    workbook.worksheets[0].eachRow({ includeEmpty: true }, ({ values }) => rows.push(values.slice(1)))
    return named(rows)
  },
  'read-excel-file': async (file) => named(await readSheet(file, { trim: false })),
  sheetjs(file) {
    const { Sheets, SheetNames } = xlsx.readFile(file, { cellDates: true })
    return named(xlsx.utils.sheet_to_json(Sheets[SheetNames[0]], { header: 1 }))
  },
}

for (const file of readdirSync('.').filter((name) => name.endsWith('.xlsx'))) {
  for (const [reader, read] of Object.entries(readers)) {
    const result = { file, reader, rows: [] }
    try {
      result.rows = await read(file)
    } catch (error) {
      result.error = String(error)
    }
    console.log(JSON.stringify(result))
  }
}
