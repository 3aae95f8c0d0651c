// Whole files: what they hold, and the worker that writes them.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Worker } from 'node:worker_threads'
import { type TSchema, Type } from '@sinclair/typebox'
import fc from 'fast-check'
import t from 'tap'
import { DispatchListItem } from '../../schemas/dispatches.js'
import { Entry, EntryListItem } from '../../schemas/entries.js'
import { namedSchemas } from '../../schemas/index.js'
import { Project } from '../../schemas/projects.js'
import { tableOf } from '../../src/core/write/columns.js'
import { jsonLines } from '../../src/core/write/json.js'
import { Output } from '../../src/core/write/output.js'
import { ParquetFile } from '../../src/exports/parquet.js'
import { malformed, storedDocuments, wellFormed } from '../support/oracle.js'
import { parquetOf, rowsOf } from '../support/parquet.js'
import { listOf } from '../support/stored.js'
import { runs } from '../support/thorough.js'

/** The workers that were started. This file has a process of its own. */
const workers: Worker[] = []
process.on('worker', (worker) => workers.push(worker))

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
      const rows = await rowsOf(await parquetOf(shown, lines, step))
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

const shown = {
  schema: Type.Object({ id: Type.String(), size: Type.Optional(Type.Number()) }),
  named: new Map<string, TSchema>(),
}
const things = (count: number) => Array.from({ length: count }, (_, i) => `{"id":"thing${i}","size":${i}}\n`)
const bytesOf = (count: number) => Buffer.from(things(count).join(''))

t.test('lines are not taken away from the caller', async (t) => {
  const lines = bytesOf(3)
  await new ParquetFile(tableOf(shown, jsonLines).columns, shown.named).write(lines)
  t.ok(lines.equals(bytesOf(3)))
})

t.test('files that are written at the same time do not mix', async (t) => {
  const files = [1, 2, 3].map((count) => parquetOf(shown, things(count * 1000), count * 100))
  for (const [i, file] of files.entries()) t.equal((await rowsOf(await file)).length, (i + 1) * 1000)
})

const closed = { message: 'The Parquet file is closed' }

t.test('a file can be closed at any time, and twice', async (t) => {
  const unused = new ParquetFile(tableOf(shown, jsonLines).columns, shown.named)
  unused.close()
  unused.close()
  await t.rejects(unused.write(bytesOf(1)), closed)
  const begun = new ParquetFile(tableOf(shown, jsonLines).columns, shown.named)
  const written = begun.write(bytesOf(1))
  begun.close()
  t.match(String(await written), /^PAR1/, 'what came before is done')
  await t.rejects(begun.end(), closed)
  const ended = new ParquetFile(tableOf(shown, jsonLines).columns, shown.named)
  await ended.end()
  await t.rejects(ended.write(bytesOf(1)), closed)
})

t.test('an error closes its file, and no other', async (t) => {
  const other = new ParquetFile(tableOf(shown, jsonLines).columns, shown.named)
  await other.write(bytesOf(1))
  const file = new ParquetFile(tableOf(shown, jsonLines).columns, shown.named)
  await t.rejects(file.write(Buffer.from('{"id":1\n')), { name: 'SyntaxError' })
  await t.rejects(file.end(), closed)
  t.equal(String(await other.end()).slice(-4), 'PAR1')
})

t.test('when the worker dies, open files fail and others go to a new worker', async (t) => {
  const died = { message: 'The worker that writes Parquet files has ended' }
  const [idle, busy] = [
    new ParquetFile(tableOf(shown, jsonLines).columns, shown.named),
    new ParquetFile(tableOf(shown, jsonLines).columns, shown.named),
  ]
  await idle.write(bytesOf(1))
  const writing = busy.write(bytesOf(20_000))
  t.equal(workers.length, 1, 'all tests before this one had the same worker')
  await Promise.all([workers[0]?.terminate(), t.rejects(writing, died)])
  await t.rejects(idle.end(), died)
  idle.close()
  t.equal((await rowsOf(await parquetOf(shown, things(2)))).length, 2)
  t.equal(workers.length, 2)
  workers[1]?.emit('error', new Error('Out of memory'))
  await parquetOf(shown, [])
  t.equal(workers.length, 3)
})

t.test('a file keeps the process alive only while it is written', async (t) => {
  const program = `
    import { ParquetFile } from '${new URL('../../src/exports/parquet.js', import.meta.url)}'
    const file = new ParquetFile([{ name: 'id', schema: { type: 'string' } }], new Map())
    process.stdout.write(await file.write(Buffer.from('{"id":"x"}\\n')))
  `
  const folder = t.testdir({ 'program.mjs': program })
  const { stdout } = await promisify(execFile)(process.execPath, [`${folder}/program.mjs`])
  t.match(stdout, /^PAR1/)
})
