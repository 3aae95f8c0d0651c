// API keys on requests: which are accepted, and that all others get the same response.
import t from 'tap'
import { keysOf } from '../../src/keys/keys.js'
import { testApp } from '../support/app.js'
import { A, B, fillTenants } from '../support/tenants.js'

const operations = [
  '/v1/dispatches',
  '/v1/dispatches/x',
  '/v1/projects',
  '/v1/projects/x',
  '/v1/entries',
  '/v1/entries/x',
]

t.test('every operation needs a key, and the response is the same whatever is wrong with it', async (t) => {
  const { app, store, keyOf } = await testApp(t, { fill: fillTenants })
  const good = await keyOf(A)
  const keys = keysOf(store, (error) => t.fail(String(error)))
  const expired = await keys.issue({ organisation: A, name: 'Old', expiresAt: new Date(Date.now() - 1) })
  const revoked = await keys.issue({ organisation: A, name: 'Gone' })
  await store.update('apiKeys', revoked.split('_')[1] as string, { revokedAt: new Date() })
  const unfit = await keys.issue({ organisation: A, name: 'Everything' })
  await store.update('apiKeys', unfit.split('_')[1] as string, { organisation: { $ne: '' } } as object)
  const unknown = await keysOf((await testApp(t)).store, () => {}).issue({ organisation: A, name: 'Elsewhere' })
  const other = await keyOf(B)
  // The id of one key with the secret of another: well-formed but not valid.
  const mixed = `${good.slice(0, 17)}${other.slice(17)}`

  const headers: Record<string, string | undefined> = {
    missing: undefined,
    empty: '',
    'without a scheme': good,
    'with another scheme': `Basic ${good}`,
    'without a key': 'Bearer ',
    'with two keys': `Bearer ${good} ${good}`,
    malformed: 'Bearer abc',
    mistyped: `Bearer ${good.slice(0, -1)}~`,
    mixed: `Bearer ${mixed}`,
    unknown: `Bearer ${unknown}`,
    expired: `Bearer ${expired}`,
    revoked: `Bearer ${revoked}`,
    unfit: `Bearer ${unfit}`,
  }
  const bodies = new Set<string>()
  for (const url of operations) {
    for (const [what, authorization] of Object.entries(headers)) {
      const response = await app.inject({
        url,
        headers: { 'x-request-id': 'same', ...(authorization !== undefined && { authorization }) },
      })
      t.equal(response.statusCode, 401, `${what}: ${url}`)
      t.equal(response.headers['www-authenticate'], 'Bearer')
      bodies.add(response.body)
    }
    t.not((await app.inject({ url, headers: { authorization: `bearer  ${good}` } })).statusCode, 401, url)
  }
  t.equal(bodies.size, 1)
})

t.test('a key in the query string is not accepted', async (t) => {
  const { app, keyOf } = await testApp(t)
  const key = await keyOf(A)
  t.match((await app.inject(`/v1/entries?access_token=${key}`)).json(), { status: 401, code: 'unauthorized' })
})
