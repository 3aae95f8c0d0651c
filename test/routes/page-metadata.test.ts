// The total of a list where the count and the page disagree. The links are tested through the lists.
import t from 'tap'
import { totalOf, unknownNext } from '../../src/routes/page-metadata.js'

t.test('the page corrects a count that is older than it', async (t) => {
  const third = { page: 3, perPage: 10 }
  for (const [shown, counted, total] of [
    [0, 50, 20],
    [0, 15, 15],
    [4, 50, 24],
    [4, 3, 24],
    [10, 50, 50],
    [10, 30, 30],
    [10, 12, 30],
  ] as const) {
    t.equal(totalOf(third, shown, counted), total, `${shown} shown, ${counted} counted`)
  }
})

t.test('only for a full page that ends the total, a read must tell whether a record follows', async (t) => {
  const third = { page: 3, perPage: 10 }
  t.same(unknownNext(third, 10, 30), { page: 31, perPage: 1 })
  t.equal(unknownNext(third, 10, 31), undefined)
  t.equal(unknownNext(third, 9, 29), undefined)
  t.equal(unknownNext(third, 0, 20), undefined)
})
