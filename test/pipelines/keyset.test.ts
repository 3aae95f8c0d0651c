// The ranges that follow a position: in the order of the values, and whole. That stores read them so is tested with walks.
import t from 'tap'
import { rangesAfter } from '../../src/pipelines/keyset.js'

const epoch = new Date(-8.64e15)
const [none, nan, numbers] = [{ x: null }, { x: Number.NaN }, { x: { $gte: Number.NEGATIVE_INFINITY } }]
const [strings, objects, booleans, dates] = [
  { x: { $gte: '' } },
  { x: { $gte: {} } },
  { x: { $gte: false } },
  { x: { $gte: epoch } },
]

t.test('a list that is sorted by the id has one range', async (t) => {
  t.same(rangesAfter('_id', 1, { value: null, id: 'a' }), [{ _id: { $gt: 'a' } }])
  t.same(rangesAfter('_id', -1, { value: null, id: 'a' }), [{ _id: { $lt: 'a' } }])
  t.same(rangesAfter('_id', -1, { value: null, id: 'a' }, true), [{ _id: { $lte: 'a' } }])
})

t.test('equal values follow by their ids, then greater ones, then those of types that sort after it', async (t) => {
  const after = (value: null | number | bigint | string | boolean | Date) => rangesAfter('x', 1, { value, id: 'a' })
  const byId = { _id: { $gt: 'a' } }
  t.same(after(null), [{ x: null, ...byId }, nan, numbers, strings, objects, booleans, dates])
  t.same(after(5), [{ x: 5, ...byId }, { x: { $gt: 5 } }, strings, objects, booleans, dates])
  t.same(after(5n), [{ x: 5n, ...byId }, { x: { $gt: 5n } }, strings, objects, booleans, dates])
  t.same(after('s'), [{ x: 's', ...byId }, { x: { $gt: 's' } }, objects, booleans, dates])
  t.same(after(true), [{ x: true, ...byId }, { x: { $gt: true } }, dates])
  t.same(after(epoch), [{ x: epoch, ...byId }, { x: { $gt: epoch } }])
})

t.test('in the other direction the ranges are those before the position, from its end', async (t) => {
  const before = (value: null | number | Date) => rangesAfter('x', -1, { value, id: 'a' })
  const byId = { _id: { $lt: 'a' } }
  t.same(before(null), [{ x: null, ...byId }])
  t.same(before(5), [{ x: 5, ...byId }, { x: { $lt: 5 } }, nan, none])
  t.same(before(epoch), [{ x: epoch, ...byId }, { x: { $lt: epoch } }, booleans, objects, strings, numbers, nan, none])
})
