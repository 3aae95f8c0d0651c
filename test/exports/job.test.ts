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
  t.equal((first.told as Told).isLeft, true)
  t.ok(job.held > 300_000)
  const second = job.add([])
  t.equal((second.told as Told).isLeft, false)
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
