// A budget that all keys share, and of which each key may take a part.
import t from 'tap'
import { Budget } from '../../src/limits/budget.js'

t.test('a key may take its part and no more, until it gives some back', async (t) => {
  const budget = new Budget(100, 25)
  t.ok(budget.hasRoom('a', 90), 'a first amount may be larger')
  budget.take('a', 20)
  t.ok(budget.hasRoom('a', 5))
  t.notOk(budget.hasRoom('a', 6))
  budget.take('a', -20)
  t.ok(budget.hasRoom('a', 90))
})

t.test('a key cannot take what others hold', async (t) => {
  const budget = new Budget(100, 25)
  budget.take('a', 90)
  t.ok(budget.hasRoom('b', 10))
  t.notOk(budget.hasRoom('b', 11))
  budget.take('a', 20)
  t.notOk(budget.hasRoom('b', 0))
  budget.take('b', 1)
  t.equal(budget.taken, 111)
})
