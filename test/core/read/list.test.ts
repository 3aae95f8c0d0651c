// The total of a list where the count and the page disagree. The links are tested through the lists.
import t from 'tap'
import type { BsonDocument } from '../../../src/core/bson/reader.js'
import { entries } from '../../../src/core/pipelines/entries.js'
import { readList } from '../../../src/core/read/list.js'
import { totalOf } from '../../../src/core/read/page.js'
import { embeddedStore } from '../../../src/core/store/embedded.js'
import { QueryTimeout } from '../../../src/core/store/store.js'
import { listing } from '../../support/queries.js'
import { testReader } from '../../support/tickets.js'

const rowsOf = (count: number) => Array<BsonDocument>(count)
const more = { next: { start: undefined }, previous: undefined }
const end = { next: undefined, previous: undefined }

t.test('a page of a number corrects a count that is older than it', async (t) => {
  const third = { page: 3, perPage: 10 }
  for (const [found, counted, total] of [
    [{ ...end, rows: rowsOf(0) }, 50, 20],
    [{ ...end, rows: rowsOf(0) }, 15, 15],
    [{ ...end, rows: rowsOf(4) }, 50, 24],
    [{ ...end, rows: rowsOf(4) }, 3, 24],
    [{ ...end, rows: rowsOf(10) }, 50, 30],
    [{ ...more, rows: rowsOf(10) }, 50, 50],
    [{ ...more, rows: rowsOf(10) }, 12, 31],
  ] as const) {
    t.equal(totalOf(third, found, counted), total, `${found.rows.length} shown, ${counted} counted`)
  }
})

t.test('the first page of a cursor is page 1', async (t) => {
  const first = { page: 1, perPage: 10, cursor: '*' }
  t.equal(totalOf(first, { ...end, rows: rowsOf(0) }, 12), 0)
  t.equal(totalOf(first, { ...end, rows: rowsOf(4) }, 12), 4)
  t.equal(totalOf(first, { ...more, rows: rowsOf(10) }, 4), 11)
})

t.test('a page from a position only shows that the list has its own records', async (t) => {
  for (const place of [
    { page: 3, perPage: 10, after: 'x' },
    { page: 1, perPage: 10, cursor: 'x' },
  ]) {
    for (const [found, counted, total] of [
      [{ ...end, rows: rowsOf(0) }, 50, 50],
      [{ ...end, rows: rowsOf(4) }, 50, 50],
      [{ ...end, rows: rowsOf(4) }, 3, 4],
      [{ ...more, rows: rowsOf(10) }, 50, 50],
      [{ ...more, rows: rowsOf(10) }, 10, 11],
    ] as const) {
      t.equal(totalOf(place, found, counted), total, `${found.rows.length} shown, ${counted} counted`)
    }
  }
})

t.test('a count that takes too long is a problem that says how to do without it', async (t) => {
  for (const [error, found] of [
    [new QueryTimeout(undefined), { code: 'query_timeout', message: /to count the records: total=false leaves/ }],
    [new Error('broken'), { message: 'broken' }],
  ] as const) {
    const reader = await testReader({ ...embeddedStore(), count: () => Promise.reject(error) }, { organisation: 'a' })
    await t.rejects(readList(reader, entries, listing()), found)
    t.equal(reader.ticket.scheduler.all.running.large, 0)
  }
})
