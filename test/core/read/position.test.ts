// Positions: read from the bytes of records, and kept exactly by tokens.
import { Decimal128, Long, ObjectId } from 'mongodb'
import t from 'tap'
import { fromPayload, positionOf, toPayload } from '../../../src/core/read/position.js'
import { documentOf, plain, stored } from '../../support/stored.js'

const positionIn = (fields: object, sortBy = 'x') => positionOf(documentOf(plain(fields)), sortBy)

t.test('a record is at its sort value and its id, and a token keeps both', async (t) => {
  for (const [value, found] of [
    [null, null],
    [stored.undefined, null],
    [0, 0],
    [-1.5, -1.5],
    [1e300, 1e300],
    [Long.fromNumber(5), 5],
    [stored.int64(9007199254740993n), 9007199254740993n],
    [stored.int64(-9223372036854775808n), -9223372036854775808n],
    ['', ''],
    ['Ọkáfọ̀ 🙏\0', 'Ọkáfọ̀ 🙏\0'],
    ['x'.repeat(1000), 'x'.repeat(1000)],
    [false, false],
    [true, true],
    [new Date(0), new Date(0)],
    [new Date(-8.64e15), new Date(-8.64e15)],
  ] as const) {
    const position = positionIn({ _id: 'a', x: value, y: 1 })
    t.strictSame(position, { value: found, id: 'a' })
    if (position === undefined) continue
    for (const [isBackward, isInclusive] of [
      [true, false],
      [false, true],
    ] as const) {
      const start = { position, isBackward, isInclusive }
      t.strictSame(fromPayload(JSON.parse(JSON.stringify(toPayload(start)))), start)
    }
  }
  t.strictSame(positionIn({ _id: 'a' }), { value: null, id: 'a' }, 'a missing value is null')
  t.strictSame(positionIn({ _id: 'a', x: 1 }, '_id'), { value: null, id: 'a' })
})

t.test('a value that no response shows, a very long one and an id that is no string have no position', async (t) => {
  for (const value of [
    ...[{}, [1], new ObjectId(), new Decimal128('1'), stored.minKey, stored.date(9_000_000_000_000_000n)],
    ...[Number.NaN, Number.POSITIVE_INFINITY, 'x'.repeat(1001), stored.string([0xff])],
  ]) {
    t.equal(positionIn({ _id: 'a', x: value }), undefined)
  }
  for (const id of [1, new ObjectId(), null]) t.equal(positionIn({ _id: id, x: 1 }), undefined)
  t.equal(positionIn({ x: 1 }), undefined)
})

t.test('a payload that no list made is refused', async (t) => {
  for (const payload of [
    ...[[], [1, false, 'a', null], [false, 1, 'a', null], [false, false, 1, null], [false, false, 'a']],
    ...[9e15, '5', true].map((value) => [false, false, 'a', value, 'date']),
    ...[5, 'x', '1'.repeat(20), ''].map((value) => [false, false, 'a', value, 'int64']),
    ...['double', 1, null].map((type) => [false, false, 'a', 5, type]),
  ]) {
    t.equal(fromPayload(payload), undefined, JSON.stringify(payload))
  }
})
