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

t.test('a read must tell whether a record follows only if the total ends with a full page', async (t) => {
  const third = { page: 3, perPage: 10 }
  t.same(unknownNext(third, 30), { page: 31, perPage: 1 })
  for (const total of [20, 29, 31]) t.equal(unknownNext(third, total), undefined, `${total}`)
})
