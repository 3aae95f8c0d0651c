// Whole files: what they hold, and the worker that writes them.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Worker } from 'node:worker_threads'
import { Type } from '@sinclair/typebox'
import fc from 'fast-check'
import { BSON } from 'mongodb'
import t from 'tap'
import { DispatchListItem } from '../../schemas/dispatches.js'
import { Entry, EntryListItem } from '../../schemas/entries.js'
import { namedSchemas } from '../../schemas/index.js'
import { Project } from '../../schemas/projects.js'
import { ParquetFile } from '../../src/exports/parquet.js'
import { expectedJson, malformed, storedDocuments, wellFormed } from '../support/oracle.js'
import { parquetOf, rowsOf } from '../support/parquet.js'
import { listOf } from '../support/stored.js'
import { a } from '../support/tenants.js'

/** The workers that were started. This file has a process of its own. */
const workers: Worker[] = []
process.on('worker', (worker) => workers.push(worker))

const bson = (document: object) => Buffer.from(BSON.serialize(document))

t.test('a file has the values of its documents, and null where they have none', async (t) => {
  const bare = { _id: 'bare', status: 'new', answers: [], createdAt: new Date(0), updatedAt: new Date(1) }
  const file = await parquetOf(EntryListItem, [bson(a.entry(1)), bson(bare)])
  const nothing = Object.fromEntries(Object.keys((await rowsOf(file))[0] as object).map((name) => [name, null]))
  t.strictSame(await rowsOf(file), [
    {
      id: 'entry1-a',
      status: 'accepted',
      dispatch: 'dispatch1-a',
      form: 'form-a',
      project: 'project1-a',
      agent: 'agent1-a',
      'location.address': '12 Zoo Road',
      'location.country': 'Nigeria',
      'location.state': 'Kano',
      'location.lga': 'Tarauni',
      'location.city': 'Kano',
      'location.coordinates.longitude': 8.5387,
      'location.coordinates.lattitude': 11.9805,
      answers: [
        { type: 'singleChoice', question: 'Source?', answer: ['Borehole'] },
        { type: 'multiChoice', question: 'Uses?', answer: ['Drinking', 'Washing'] },
      ],
      duration: 101,
      createdAt: '2025-01-01T08:30:15.250Z',
      updatedAt: '2025-01-02T08:30:15.250Z',
    },
    {
      ...nothing,
      id: 'bare',
      status: 'new',
      answers: [],
      createdAt: '1970-01-01T00:00:00.000Z',
      updatedAt: '1970-01-01T00:00:00.001Z',
    },
  ])
})

/** What JSON shows at a path, or null. A single answer is a list. Hyparquet takes a byte order mark before a text away. */
const at = (value: unknown, path: readonly string[]): unknown => {
  const [name, ...rest] = path
  if (name === undefined) return lists(value)
  return at((value as Record<string, unknown> | null | undefined)?.[name], rest)
}
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
    const documents = fc.array(fc.oneof(storedDocuments(schema, wellFormed), storedDocuments(schema, malformed)), {
      maxLength: 6,
    })
    const property = fc.asyncProperty(documents, fc.integer({ min: 1, max: 6 }), async (elements, step) => {
      const list = listOf([elements])
      const rows = await rowsOf(await parquetOf(schema, list.documents, { step }))
      const expected: unknown[] = JSON.parse(expectedJson(schema, list))
      t.equal(rows.length, expected.length)
      for (const [i, row] of rows.entries()) {
        const same = Object.keys(row).map((column) => [column, at(expected[i], column.split('.'))])
        t.strictSame(present(row), present(Object.fromEntries(same)))
      }
    })
    await fc.assert(property, { numRuns: 30 })
  })
}

const Thing = Type.Object({ id: Type.String(), size: Type.Optional(Type.Number()) })
const things = (count: number) => Array.from({ length: count }, (_, i) => bson({ _id: `thing${i}`, size: i }))

t.test('documents are not taken away from the caller', async (t) => {
  const documents = things(3)
  await parquetOf(Thing, documents)
  t.strictSame(documents, things(3))
})

t.test('files that are written at the same time do not mix', async (t) => {
  const files = [1, 2, 3].map((count) => parquetOf(Thing, things(count * 1000), { step: count * 100 }))
  for (const [i, file] of files.entries()) t.equal((await rowsOf(await file)).length, (i + 1) * 1000)
})

t.test('a file can be closed at any time, and twice', async (t) => {
  const closed = { message: 'The Parquet file is closed' }
  const unused = new ParquetFile(Thing, namedSchemas)
  unused.close()
  unused.close()
  await t.rejects(unused.write(things(1)), closed)
  const begun = new ParquetFile(Thing, namedSchemas)
  const written = begun.write(things(1))
  begun.close()
  t.equal(String(await written), 'PAR1', 'what came before is done')
  await t.rejects(begun.end(), closed)
  const ended = new ParquetFile(Thing, namedSchemas)
  await ended.end()
  await t.rejects(ended.write(things(1)), closed)
  ended.close()
})

t.test('an error closes its file, and no other', async (t) => {
  const other = new ParquetFile(Thing, namedSchemas)
  await other.write(things(1))
  const place = new ParquetFile(Thing, namedSchemas, { geometry: true })
  await t.rejects(place.write(things(1)), { message: 'A geometry needs the column location.coordinates.longitude' })
  const file = new ParquetFile(Thing, namedSchemas)
  await t.rejects(file.write([Buffer.alloc(9, 1)]), { message: 'Damaged BSON: bad document length at byte 0' })
  await t.rejects(file.end(), { message: 'The Parquet file is closed' })
  t.equal(String(await other.end()).slice(-4), 'PAR1')
})

t.test('when the worker dies, open files fail and others go to a new worker', async (t) => {
  const died = { message: 'The worker that writes Parquet files has ended' }
  const [idle, busy] = [new ParquetFile(Thing, namedSchemas), new ParquetFile(Thing, namedSchemas)]
  await idle.write(things(1))
  const writing = busy.write(things(20_000))
  t.equal(workers.length, 1, 'all tests before this one had the same worker')
  await Promise.all([workers[0]?.terminate(), t.rejects(writing, died)])
  await t.rejects(idle.end(), died)
  idle.close()
  t.equal((await rowsOf(await parquetOf(Thing, things(2)))).length, 2)
  t.equal(workers.length, 2)
  workers[1]?.emit('error', new Error('Out of memory'))
  await parquetOf(Thing, [])
  t.equal(workers.length, 3)
})

t.test('a file keeps the process alive only while it is written', async (t) => {
  const program = `
    import { ParquetFile } from '${new URL('../../src/exports/parquet.js', import.meta.url)}'
    const file = new ParquetFile({ properties: { id: { type: 'string' } } }, new Map())
    process.stdout.write(await file.write([]))
  `
  const folder = t.testdir({ 'program.mjs': program })
  const { stdout } = await promisify(execFile)(process.execPath, [`${folder}/program.mjs`])
  t.equal(stdout, 'PAR1')
})
