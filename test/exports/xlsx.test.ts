// Rows of XLSX of any documents, read back and compared with JSON of the same documents.
import assert from 'node:assert/strict'
import { type TSchema, Type } from '@sinclair/typebox'
import fc from 'fast-check'
import t from 'tap'
import { Dispatch } from '../../schemas/dispatches.js'
import { EntryListItem } from '../../schemas/entries.js'
import { AnswerRow } from '../../schemas/exports.js'
import { listedSchemas, namedSchemas } from '../../schemas/index.js'
import type { BsonList } from '../../src/core/bson/reader.js'
import { tableOf } from '../../src/core/write/columns.js'
import { UnfitForFormat } from '../../src/core/write/errors.js'
import { countingRows, xlsxColumns } from '../../src/exports/xlsx.js'
import { asColumns, fileOf, flattened, hostileTexts, itemsOf, mixedLists } from '../support/formats.js'
import { listOf, plain, stored } from '../support/stored.js'
import { runs } from '../support/thorough.js'
import { sheetRows } from '../support/xlsx.js'

const read = (schema: TSchema, list: BsonList) => {
  const rows = { count: 0 }
  const table = tableOf({ schema, named: namedSchemas }, xlsxColumns(rows))
  const { text, failures } = fileOf(countingRows(rows, table.rows), list)
  const [header = [], ...others] = sheetRows(text)
  t.equal(others.length, rows.count - 1)
  return { header, rows: others.map((row) => header.map((_, i) => row[i])), failures }
}

/** What a cell says, given what JSON has in its place. */
const told = (cell: unknown, value: unknown): unknown => {
  if (cell instanceof Date) return cell.toISOString()
  return typeof value === 'object' ? JSON.parse(String(cell)) : cell
}

for (const schema of [EntryListItem, Dispatch, AnswerRow]) {
  t.test(`XLSX of ${schema.$id} has what its JSON has, with its types`, async (t) => {
    fc.assert(
      fc.property(mixedLists(schema, 'entries'), (list) => {
        const { items, failures } = itemsOf(schema, list)
        const wanted = items.map((item) =>
          flattened(schema, item).map(([path, value]) =>
            path === 'recipients.agentGroups' ? (value as { id: string }[]).map(({ id }) => id).join('; ') : value,
          ),
        )
        const found = read(schema, list)
        const rows = found.rows.map((row, i) => row.map((cell, j) => told(cell, wanted[i]?.[j])))
        assert.deepEqual(found.failures, failures)
        assert.deepEqual(rows, wanted)
      }),
      { numRuns: runs(15, 40) },
    )
    t.strictSame(
      read(schema, listOf([])).header,
      flattened(schema, {}).map(([path]) => path),
    )
  })
}

const Kinds = Type.Object({
  id: Type.String(),
  at: Type.Optional(Type.String({ format: 'date-time' })),
  size: Type.Optional(Type.Number()),
  isOpen: Type.Optional(Type.Boolean()),
})
const cellsOf = (record: object) => read(Kinds, listOf([plain({ _id: '', ...record })])).rows[0]

t.test('a cell has the type of its value', async (t) => {
  const at = new Date('2025-06-01T08:30:15.250Z')
  t.strictSame(cellsOf({ _id: '0123', at, size: -1.5e300, isOpen: true }), ['0123', at, -1.5e300, true])
  t.strictSame(cellsOf({ isOpen: false, size: stored.int64(5n) }), ['', undefined, 5, false])
})

t.test('a time has a number from 1900-03-01 to 9999, to the millisecond, and is a text before', async (t) => {
  for (const time of ['1900-03-01T00:00:00.000Z', '1999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'])
    t.strictSame(cellsOf({ at: new Date(time) })?.[1], new Date(time))
  const { rows } = tableOf({ schema: Kinds, named: namedSchemas }, xlsxColumns({ count: 0 }))
  t.match(fileOf(rows, listOf([plain({ _id: '', at: new Date(0) })])).text, '<v>25569</v>', 'a day is a whole number')
  for (const time of ['1900-02-28T23:59:59.999Z', '0001-01-01T00:00:00.000Z'])
    t.strictSame(cellsOf({ at: new Date(time) })?.[1], time)
})

t.test('any text keeps its characters, and is no formula', async (t) => {
  const columns = asColumns(['_x0041_', '=1&<', '\u2028'])
  const schema = Type.Object({ id: Type.String(), answers: EntryListItem.properties.answers })
  fc.assert(
    fc.property(fc.array(hostileTexts, { minLength: 3, maxLength: 3 }), (texts) => {
      const answers = columns.map(({ question }, i) => ({ type: '', question, answer: [texts[i], 'x'] }))
      const { rows } = tableOf({ schema, named: listedSchemas }, xlsxColumns({ count: 0 }), columns)
      const { text } = fileOf(rows, listOf([plain({ _id: texts[0], answers })]))
      const wellFormed = texts.map((text) => Buffer.from(text).toString())
      assert.doesNotMatch(text, /<f>/)
      assert.deepEqual(sheetRows(text), [
        ['id', ...columns.map(({ name }) => name)],
        [wellFormed[0], ...wellFormed.map((text) => `${text}; x`)],
      ])
    }),
    { numRuns: runs(50, 200) },
  )
  t.pass()
})

t.test('a text that is longer than a cell does not fit', async (t) => {
  const most = 'é'.repeat(32_767)
  t.strictSame(cellsOf({ _id: most })?.[0], most)
  t.throws(() => read(Kinds, listOf([plain({ _id: `${most}x` })])), {
    constructor: UnfitForFormat,
    message: /_id has more than 32767 characters, the most of a cell of XLSX$/,
  })
})
