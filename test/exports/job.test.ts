// The job that makes a file, without a thread: what it does with records that become much, and with those that do not fit.
import { parquetReadObjects } from 'hyparquet'
import t from 'tap'
import type { Job } from '../../src/core/workers/job.js'
import type { FileOptions } from '../../src/exports/exported.js'
import { open, type Told } from '../../src/exports/job.js'
import { documentOf, plain } from '../support/stored.js'
import { a } from '../support/tenants.js'
import { sheetRows, unzip } from '../support/xlsx.js'

const opened = (options: Partial<FileOptions>): Job =>
  open({ name: 'entries', format: 'csv', without: undefined, listing: { sortOrder: 'asc' }, ...options })
const entry = (_id: string, changes = {}) => documentOf(plain({ ...a.entry(1), _id, ...changes })).bytes
const textOf = (bytes: Uint8Array | undefined) => String(Buffer.from(bytes ?? []))

t.test('what becomes more than a part is written in several, and is held until then', async (t) => {
  const answer = Array.from({ length: 30 }, (_, i) => String(i))
  const long = { answers: [{ type: 'multiChoice', question: 'q'.repeat(100_000), answer }] }
  const job = opened({ name: 'answers' })
  t.equal(job.held, 0)
  const first = job.add([entry('a', long), entry('b', long), entry('c', long)])
  t.equal((first.told as Told).hasMore, true)
  t.ok(job.held > 300_000)
  const second = job.add([])
  t.equal((second.told as Told).hasMore, false)
  t.equal(job.held, 0)
  const rows = textOf(first.bytes) + textOf(second.bytes) + textOf(job.end().bytes)
  t.equal(rows.split('\r\n').length, 1 + 90 + 1)
})

t.test('records that do not fit are told of once, and a sheet has no row of them', async (t) => {
  const listing = { sortOrder: 'asc', unreadable: 'skip', fields: ['status'] } as const
  const job = opened({ format: 'xlsx', listing })
  const parts = [
    job.add([entry('a'), entry('b', { status: 5 })]),
    job.add([entry('c', { status: true }), entry('d')]),
    job.end(),
  ]
  t.strictSame(
    parts.map(({ told }) => (told as Told).left.map(({ id }) => id)),
    [['b'], ['c'], []],
  )
  const file = Buffer.concat(parts.map(({ bytes }) => bytes as Uint8Array))
  t.strictSame(sheetRows(unzip(file).get('xl/worksheets/sheet1.xml') as string), [
    ['id', 'status'],
    ['a', 'accepted'],
    ['d', 'accepted'],
  ])
  t.throws(() => opened({}).add([entry('b', { status: 5 })]), { name: 'UnreadableDocument', id: 'b' })
})

t.test('a Parquet file is whole without records too', async (t) => {
  for (const ids of [[], ['a']]) {
    const job = opened({ format: 'parquet', listing: { sortOrder: 'asc', fields: ['status'] } })
    const parts = [...ids.map((id) => job.add([entry(id)])), job.end()].map(({ bytes }) =>
      Buffer.from(bytes as Uint8Array),
    )
    const file = new Uint8Array(Buffer.concat(parts)).buffer
    t.strictSame(
      await parquetReadObjects({ file }),
      ids.map((id) => ({ id, status: 'accepted' })),
    )
    t.match(String(parts[0]), /^PAR1/)
  }
})

const fileOf = (options: Partial<FileOptions>, ...entries: Buffer[]): Buffer => {
  const job = opened(options)
  return Buffer.concat([job.add(entries), job.end()].map(({ bytes }) => Buffer.from(bytes as Uint8Array)))
}

t.test('questions are columns behind all others, and a header in words keeps theirs', async (t) => {
  const answers = ['Source?', '', ' ', 'x'.repeat(300)].map((question, i) => ({
    ...{ type: 'text', question, answer: `said ${i}` },
  }))
  const questions = answers.map(({ question }) => question)
  const listing = { sortOrder: 'asc', fields: ['answers', 'status'], labels: 'true' } as const
  const rows = sheetRows(
    unzip(fileOf({ format: 'xlsx', listing, questions }, entry('a', { answers }))).get(
      'xl/worksheets/sheet1.xml',
    ) as string,
  )
  const [names = [], values] = rows
  t.strictSame(names.slice(0, 3), ['Id', 'Status', 'Source?'])
  t.match(names.slice(3), [/^question \(/, /^question \(/, /^x+ \([\da-f]{12}\)$/])
  t.strictSame(values, ['a', 'accepted', 'said 0', 'said 1', 'said 2', 'said 3'])
  const [feature] = JSON.parse(String(fileOf({ format: 'geojson', questions }, entry('a', { answers })))).features
  t.match(feature.properties, { id: 'a', 'Source?': 'said 0' })
})

t.test('a line of NDJSON is one line for every program, and so are those of answers', async (t) => {
  const answers = [{ type: 'text', question: 'a\u2028b\u0085', answer: 'c\u2029' }]
  const listing = { sortOrder: 'asc', fields: ['answers'] } as const
  const given = [entry('a', { answers }), entry('b', { answers: [] })]
  const lines = String(fileOf({ format: 'ndjson', listing }, ...given))
  t.equal(
    lines,
    `{"id":"a","answers":${JSON.stringify(answers).replace('\u2028', '\\u2028').replace('\u0085', '\\u0085').replace('\u2029', '\\u2029')}}\n{"id":"b","answers":[]}\n`,
  )
  const rows = String(fileOf({ name: 'answers', format: 'ndjson' }, ...given))
  t.notMatch(rows, /[\u0085\u2028\u2029]/)
  t.match(JSON.parse(rows), { entry: 'a', position: 1, question: 'a\u2028b\u0085', answer: 'c\u2029' })
  const sheet = unzip(fileOf({ name: 'answers', format: 'xlsx' }, ...given)).get('xl/worksheets/sheet1.xml') as string
  t.strictSame(sheetRows(sheet)[1], ['a', 1, 'text', 'a\u2028b\u0085', 'c\u2029'])
  const skipped = opened({ format: 'ndjson', listing: { ...listing, unreadable: 'skip' } })
  const parts = [skipped.add([entry('b\u2028', { answers: 5 })]), skipped.end()]
  const last = parts.map(({ bytes }) => textOf(bytes)).join('')
  t.match(JSON.parse(last), { unreadable: [{ id: 'b\u2028' }] })
  t.notMatch(last, /\u2028/)
})
