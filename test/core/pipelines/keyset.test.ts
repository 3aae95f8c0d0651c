// What follows a position in a list.
import t from 'tap'
import { rangesAfter } from '../../../src/core/pipelines/keyset.js'

t.test('the record at a position belongs to what follows only if that is wanted', async (t) => {
  const position = { value: 'a', id: 'x' }
  for (const [direction, isInclusive, beyond] of [
    [1, false, '$gt'],
    [1, true, '$gte'],
    [-1, false, '$lt'],
    [-1, true, '$lte'],
  ] as const) {
    t.same(rangesAfter('_id', direction, position, isInclusive), [{ _id: { [beyond]: 'x' } }])
    const [first, second] = rangesAfter('name', direction, position, isInclusive)
    t.same(first, { name: 'a', _id: { [beyond]: 'x' } })
    t.same(second, { name: { [direction === 1 ? '$gt' : '$lt']: 'a' } })
  }
})

t.test('behind a record without a value are the others without one, and then those of each type', async (t) => {
  const [first, ...others] = rangesAfter('name', 1, { value: null, id: 'x' })
  t.same(first, { name: null, _id: { $gt: 'x' } })
  t.equal(others.length, 6, 'no value is greater than null as null is')
  t.same(rangesAfter('name', -1, { value: null, id: 'x' }), [{ name: null, _id: { $lt: 'x' } }])
})
