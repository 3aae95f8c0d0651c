// Quantiles, deviations, shares and distances, beside numbers from elsewhere.
import t from 'tap'
import { distance, quantile, shareOf, spread } from '../../src/checks/statistics.js'

t.test('A quantile is that of the sorted values, and between two of them in proportion', async (t) => {
  const inOrder = Array.from({ length: 101 }, (_, n) => n * n)
  const mixed = inOrder.map((_, n) => inOrder[(n * 37) % 101] as number)
  for (const part of [0, 0.25, 0.5, 0.95, 1])
    t.equal(quantile(Float64Array.from(mixed), part), inOrder[part * 100], `${part} of all`)
  t.equal(quantile(Float64Array.of(4, 1, 3, 2), 0.5), 2.5)
  t.equal(quantile(Float64Array.of(4, 1, 3, 2), 0.25), 1.75)
  t.equal(quantile(Float64Array.of(7), 0.95), 7)
  const sorted = Float64Array.from(mixed)
  quantile(sorted, 0.25)
  t.same([...sorted], inOrder, 'no order makes it slow, since all are sorted')
})

t.test('A few wrong values move neither the median nor the deviation far', async (t) => {
  const { median, deviation } = spread(Float64Array.of(1, 2, 3, 4, 5, 6, 1e300))
  t.equal(median, 4)
  t.equal(deviation, 1.4826 * 2)
  t.equal(spread(Float64Array.of(5, 5, 5, 9)).deviation, 0)
})

t.test('A share has the interval of Wilson', async (t) => {
  const { share, low, high } = shareOf(12, 40)
  t.equal(share, 0.3)
  // The same from R: prop.test(12, 40, correct = FALSE)$conf.int
  t.ok(Math.abs(Number(low) - 0.1807072) < 1e-4)
  t.ok(Math.abs(Number(high) - 0.4542774) < 1e-4)
  t.match(shareOf(0, 3), { share: 0, low: 0 })
  t.match(shareOf(3, 3), { share: 1, high: 1 })
  t.same(shareOf(0, 0), { count: 0, of: 0, share: null, low: null, high: null })
})

t.test('A distance is that on a sphere', async (t) => {
  t.equal(distance(8.5, 12, 8.5, 12), 0)
  t.ok(Math.abs(distance(0, 0, 0, 1) - 111.195) < 0.001)
  t.ok(Math.abs(distance(179.5, 0, -179.5, 0) - 111.195) < 0.001)
  t.ok(Math.abs(distance(0, 0, 180, 0) - 20015.1) < 0.1)
})
