// What a key can learn about itself.
import t from 'tap'
import { keysOf } from '../../src/core/keys/keys.js'
import { testApp } from '../support/app.js'
import { A, fillTenants } from '../support/tenants.js'

const limits = { perPage: 200, ids: 100, wait: 60, urlBytes: 8000, settleMs: 10_000, tombstoneDays: 90 }

t.test('a key learns its organisation, its name, when it expires, what it sees, and its limits', async (t) => {
  const { app, store } = await testApp(t, { fill: fillTenants, settings: { MAX_PER_PAGE: '200' } })
  const [organisation] = await store.dangerouslyFindAll('organisations', { _id: A })
  const keys = keysOf(store, (error) => t.fail(String(error)))
  const expiresAt = new Date(Date.now() + 60_000)
  for (const [key, expiry] of [
    [await keys.issue({ organisation: A, name: 'Sync', expiresAt }), { expiresAt: expiresAt.toISOString() }],
    [await keys.issue({ organisation: A, name: 'Sync' }), {}],
    [await keys.issue({ organisation: A, name: 'Sync', without: ['personal'] }), { without: ['personal'] }],
    [
      await keys.issue({ organisation: A, name: 'Sync', only: { project: ['q', 'p'] }, from: ['127.0.0.1'] }),
      { only: { project: ['p', 'q'] } },
    ],
    [
      await keys.issue({ organisation: A, name: 'Sync', only: { project: ['p'], form: ['f'] } }),
      { only: { project: ['p'], form: ['f'] } },
    ],
  ] as const) {
    const response = await app.inject({ url: '/v1/me', headers: { authorization: `Bearer ${key}` } })
    t.same(response.json(), {
      success: true,
      data: {
        organisation: { id: A, name: organisation?.name },
        key: { id: key.split('_')[1], name: 'Sync', ...expiry },
        limits,
      },
    })
    t.notMatch(response.body, key, 'the key itself is not shown')
  }
})

t.test('with a rate limit a key learns that too', async (t) => {
  const { get } = await testApp(t, { fill: fillTenants, settings: { RATE_LIMIT: '600' } })
  t.match((await get('/v1/me', A)).json(), { data: { limits: { requestsPerMinute: 600 } } })
})
