// The quota of each key in a window.
import t from 'tap'
import { RateLimit } from '../../src/limits/rate-limit.js'

t.test('each key has its quota, and all of it again a minute after the first request', async (t) => {
  let now = 5000
  const limit = new RateLimit(2, () => now)
  t.ok(limit.use('a', 1))
  now += 10_500
  t.ok(limit.use('a', 1))
  t.notOk(limit.use('a', 1))
  t.same(limit.state('a'), { left: 0, seconds: 50 })
  t.same(limit.state('b'), { left: 2, seconds: 60 })
  now += 49_499
  t.notOk(limit.use('a', 1))
  t.same(limit.state('a'), { left: 0, seconds: 1 })
  now += 2
  t.same(limit.state('a'), { left: 2, seconds: 60 })
})

t.test('what is given back counts, up to the quota', async (t) => {
  const limit = new RateLimit(2, () => 0)
  limit.use('a', 1)
  limit.use('a', -0.75)
  t.equal(limit.state('a').left, 1)
  t.ok(limit.use('a', 1))
  limit.use('a', -5)
  t.equal(limit.state('a').left, 2)
})
