import { Type } from '@sinclair/typebox'
import fc from 'fast-check'
import { BSON } from 'mongodb'
import t from 'tap'
import { DispatchListItem } from '../../schemas/dispatches.js'
import { Entry, EntryListItem } from '../../schemas/entries.js'
import { Project } from '../../schemas/projects.js'
import { expectedJson, malformed, storedDocuments, wellFormed } from '../support/oracle.js'
import { metadataOf, parquetOf, rowsOf } from '../support/parquet.js'
import { listOf } from '../support/stored.js'
import { a } from '../support/tenants.js'

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

/** What JSON shows at a path, or null. A single answer is a list. */
const at = (value: unknown, path: readonly string[]): unknown => {
  const [name, ...rest] = path
  if (name === undefined) return lists(value)
  return at((value as Record<string, unknown> | null | undefined)?.[name], rest)
}
const lists = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(lists)
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
    await fc.assert(property, { numRuns: 100 })
  })
}

t.test('a large file has groups of rows', async (t) => {
  const row = Type.Object({ id: Type.String(), size: Type.Number() })
  const documents = Array.from({ length: 9001 }, (_, i) => bson({ _id: `thing${i}`, size: i }))
  const file = await parquetOf(row, documents, { step: 700 })
  t.strictSame(
    metadataOf(file).row_groups.map(({ num_rows }) => num_rows),
    [4000n, 4000n, 1001n],
  )
  t.strictSame(
    await rowsOf(file),
    documents.map((_, i) => ({ id: `thing${i}`, size: i })),
  )
})
