// What whole files hold.
import fc from 'fast-check'
import t from 'tap'
import { DispatchListItem } from '../../schemas/dispatches.js'
import { Entry, EntryListItem } from '../../schemas/entries.js'
import { namedSchemas } from '../../schemas/index.js'
import { Project } from '../../schemas/projects.js'
import { tableOf } from '../../src/core/write/columns.js'
import { jsonLines } from '../../src/core/write/json.js'
import { Output } from '../../src/core/write/output.js'
import { malformed, storedDocuments, wellFormed } from '../support/oracle.js'
import { parquetOf, rowsOf } from '../support/parquet.js'
import { listOf } from '../support/stored.js'
import { runs } from '../support/thorough.js'

/** What JSON shows, or null. A single answer is a list. Hyparquet takes a byte order mark before a text away. */
const lists = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(lists)
  if (typeof value === 'string') return value.replace(/^\uFEFF/, '')
  if (typeof value !== 'object' || value === null) return value ?? null
  const members = Object.entries(value).map(([name, each]) => [name, name === 'answer' ? [each].flat() : lists(each)])
  return Object.fromEntries(members)
}
/** Objects without the members that are null: in a file each has all of them. */
const present = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(present)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([, each]) => each !== null)
  return Object.fromEntries(members.map(([name, each]) => [name, present(each)]))
}

for (const [name, schema] of Object.entries({ EntryListItem, Entry, DispatchListItem, Project })) {
  t.test(`a file has the same values as JSON for any documents of ${name}`, async (t) => {
    const shown = { schema, named: namedSchemas }
    const format = tableOf(shown, jsonLines).rows
    const documents = fc.array(fc.oneof(storedDocuments(schema, wellFormed), storedDocuments(schema, malformed)), {
      maxLength: 6,
    })
    const property = fc.asyncProperty(documents, fc.integer({ min: 1, max: 6 }), async (elements, step) => {
      const lines = listOf(elements).documents.map((document) => {
        const out = new Output()
        format.write(document, out)
        return out.take().toString()
      })
      const rows = await rowsOf(parquetOf(shown, lines, step))
      const wanted = lines.map((line) => JSON.parse(line))
      t.equal(rows.length, wanted.length)
      for (const [i, row] of rows.entries()) {
        const { geometry, ...columns } = row
        const same = Object.keys(columns).map((column) => [column, lists(wanted[i][column])])
        t.strictSame(present(columns), present(Object.fromEntries(same)))
      }
    })
    await fc.assert(property, { numRuns: runs(4, 30) })
  })
}
