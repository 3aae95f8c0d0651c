// The total of a list where the count and the page disagree. The links are tested through the lists.
import t from 'tap'
import { totalOf } from '../../src/routes/page-metadata.js'

const more = { next: { start: undefined }, previous: undefined }
const end = { next: undefined, previous: undefined }

t.test('a page of a number corrects a count that is older than it', async (t) => {
  const third = { page: 3, perPage: 10 }
  for (const [found, counted, total] of [
    [{ ...end, shown: 0 }, 50, 20],
    [{ ...end, shown: 0 }, 15, 15],
    [{ ...end, shown: 4 }, 50, 24],
    [{ ...end, shown: 4 }, 3, 24],
    [{ ...end, shown: 10 }, 50, 30],
    [{ ...more, shown: 10 }, 50, 50],
    [{ ...more, shown: 10 }, 12, 31],
  ] as const) {
    t.equal(totalOf(third, found, counted), total, `${found.shown} shown, ${counted} counted`)
  }
})

t.test('the first page of a cursor is page 1', async (t) => {
  const first = { page: 1, perPage: 10, cursor: '*' }
  t.equal(totalOf(first, { ...end, shown: 0 }, 12), 0)
  t.equal(totalOf(first, { ...end, shown: 4 }, 12), 4)
  t.equal(totalOf(first, { ...more, shown: 10 }, 4), 11)
})

t.test('a page from a position only shows that the list has its own records', async (t) => {
  for (const place of [
    { page: 3, perPage: 10, after: 'x' },
    { page: 1, perPage: 10, cursor: 'x' },
  ]) {
    for (const [found, counted, total] of [
      [{ ...end, shown: 0 }, 50, 50],
      [{ ...end, shown: 4 }, 50, 50],
      [{ ...end, shown: 4 }, 3, 4],
      [{ ...more, shown: 10 }, 50, 50],
      [{ ...more, shown: 10 }, 10, 11],
    ] as const) {
      t.equal(totalOf(place, found, counted), total, `${found.shown} shown, ${counted} counted`)
    }
  }
})
