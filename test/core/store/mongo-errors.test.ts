// Which statements of a bulk are sent again by themselves. The other errors are tested through the store.
import { MongoBulkWriteError, MongoServerError } from 'mongodb'
import t from 'tap'
import { sentAlone, storeError } from '../../../src/core/store/mongo-errors.js'
import { QueryTimeout } from '../../../src/core/store/store.js'

const MOVES =
  'Document shard key value updates that cause the doc to move shards must be sent with write batch of size 1'

t.test('only what the router wants by itself is sent again, unless another error ended the bulk', (t) => {
  const bulkError = (...errors: [index: number, code: number, errmsg: string][]) =>
    Object.assign(Object.create(MongoBulkWriteError.prototype), {
      writeErrors: errors.map(([index, code, errmsg]) => ({ index, code, errmsg })),
    })
  const statements = ['a', 'b', 'c']
  t.same(sentAlone(bulkError([1, 1, MOVES], [2, 11000, 'taken']), statements, false), ['b'])
  t.same(sentAlone(bulkError([1, 1, MOVES]), statements, true), ['b', 'c'])
  for (const error of [bulkError([1, 1, MOVES], [2, 121, 'invalid']), bulkError([0, 11000, 'taken']), new Error('odd')])
    t.throws(() => sentAlone(error, statements, false))
  t.end()
})

t.test('a query that takes too long or too much memory is told from an error of the service', (t) => {
  const codes = [50, 146, 292, 10_334, 2]
  const isTooMuch = (code: number) => storeError(new MongoServerError({ message: 'no', code })) instanceof QueryTimeout
  t.same(codes.map(isTooMuch), [true, true, true, true, false])
  t.end()
})
