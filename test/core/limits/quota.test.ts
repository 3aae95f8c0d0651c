// The quota of each key in a window.
import t from 'tap'
import { Quota } from '../../../src/core/limits/quota.js'

t.test('each key has its quota, and all of it again a minute after the first request', async (t) => {
  let now = 5000
  const quota = new Quota(2, () => now)
  t.ok(quota.use('a', 1))
  now += 10_500
  t.ok(quota.use('a', 1))
  t.notOk(quota.use('a', 1))
  t.same(quota.state('a'), { left: 0, seconds: 50 })
  t.same(quota.state('b'), { left: 2, seconds: 60 })
  now += 49_499
  t.notOk(quota.use('a', 1))
  t.same(quota.state('a'), { left: 0, seconds: 1 })
  now += 2
  t.same(quota.state('a'), { left: 2, seconds: 60 })
})

t.test('what is given back counts, up to the quota', async (t) => {
  const quota = new Quota(2, () => 0)
  quota.use('a', 1)
  quota.use('a', -0.75)
  t.equal(quota.state('a').left, 1)
  t.ok(quota.use('a', 1))
  quota.use('a', -5)
  t.equal(quota.state('a').left, 2)
})
