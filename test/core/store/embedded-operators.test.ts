// Values are compared as MongoDB does.
import fc from 'fast-check'
import { Long } from 'mongodb'
import t from 'tap'
import { compareValues, isSameType } from '../../../src/core/store/embedded-operators.js'
import { inEach } from '../../support/each.js'
import { anyText } from '../../support/texts.js'

const sign = (order: number) => Math.sign(order)

t.test(
  'Values sort by their type first, and then by their value',
  inEach(async (each) => {
    const sorted = [
      ...[null, Number.NaN, -Infinity, -1.5, 0, 1e-9, 2, 10, 2 ** 53],
      ...[Long.fromString('9007199254740993'), Long.MAX_VALUE, Infinity],
      ...['', '10', '2', 'A', 'a', 'á'],
      {},
      ...[false, true],
      ...[new Date(-1), new Date(0), new Date(8.64e15)],
    ]
    for (const [i, a] of sorted.entries()) {
      for (const [j, b] of sorted.entries()) {
        each.equal(sign(compareValues(a, b)), sign(i - j), `${String(a)} and ${String(b)}`)
      }
    }
  }),
)

t.test('A missing value sorts as null', async (t) => {
  t.equal(compareValues(undefined, null), 0)
  t.equal(compareValues(null, undefined), 0)
  t.ok(compareValues(undefined, Number.NaN) < 0)
})

t.test('All objects are equal', async (t) => {
  t.equal(compareValues({ a: 1 }, [2]), 0)
  t.equal(compareValues(Number.NaN, Number.NaN), 0)
  t.equal(compareValues(Infinity, Infinity), 0)
})

t.test('Strings sort by their UTF-8 bytes', async () => {
  const inOrder = (start: string, a: string, b: string) =>
    sign(compareValues(start + a, start + b)) === Buffer.compare(Buffer.from(start + a), Buffer.from(start + b))
  fc.assert(fc.property(anyText, anyText, anyText, inOrder), {
    examples: [
      ['', '\uff5e', '🙏'],
      ['', '🙏', '\uff5e'],
      ['z', '𐐀', '🙏'],
      ['\u{10000}', '', '\ue000'],
    ],
  })
})

t.test('Two values have the same type if their types do not decide their order', async (t) => {
  t.ok(isSameType(1, 2.5))
  t.ok(isSameType('a', ''))
  t.ok(isSameType(null, undefined))
  t.ok(isSameType(new Date(0), new Date(1)))
  t.notOk(isSameType(1, '1'))
  t.notOk(isSameType(0, false))
  t.notOk(isSameType(0, new Date(0)))
  t.notOk(isSameType(null, 0))
})
