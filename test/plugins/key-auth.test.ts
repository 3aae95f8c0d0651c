// API keys on requests: which are accepted, and that all others get the same response.
import t from 'tap'
import { keysOf } from '../../src/keys/keys.js'
import { testApp } from '../support/app.js'
import { A, B, fillTenants } from '../support/tenants.js'

const BOTH = ['Bearer', 'Basic realm="field-data-api", charset="UTF-8"']
const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`

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
    'with another scheme': `Digest ${good}`,
    'without a key': 'Bearer ',
    'with two keys': `Bearer ${good} ${good}`,
    malformed: 'Bearer abc',
    mistyped: `Bearer ${good.slice(0, -1)}~`,
    mixed: `Bearer ${mixed}`,
    unknown: `Bearer ${unknown}`,
    expired: `Bearer ${expired}`,
    revoked: `Bearer ${revoked}`,
    unfit: `Bearer ${unfit}`,
    'Basic, but not encoded': `Basic ${good}`,
    'Basic, but not Base64': `${basic(`x:${good}`)}~`,
    'Basic with bits that mean nothing': basic(`x:${good}`).replace(/.==$|.=$|.$/, (end) => `_${end}`),
    'Basic without padding': basic(`x:${good}`).replace(/=+$/, ''),
    'Basic without credentials': 'Basic ',
    'Basic without a colon': basic(good),
    'Basic without a key': basic(':'),
    'Basic with a colon behind the key': basic(`${good}:${good}:`),
    'Basic with a control character': basic(`x\0:${good}`),
    'Basic with a key as the user name and another password': basic(`${good}:x`),
    'Basic, revoked': basic(`x:${revoked}`),
    'Basic, expired': basic(`${expired}:`),
  }
  const bodies = new Set<string>()
  for (const url of operations) {
    for (const [what, authorization] of Object.entries(headers)) {
      const response = await app.inject({
        url,
        headers: { 'x-request-id': 'same', ...(authorization !== undefined && { authorization }) },
      })
      t.equal(response.statusCode, 401, `${what}: ${url}`)
      t.same(response.headers['www-authenticate'], BOTH)
      bodies.add(response.body)
    }
    t.not((await app.inject({ url, headers: { authorization: `bearer  ${good}` } })).statusCode, 401, url)
  }
  t.equal(bodies.size, 1)
})

t.test('HTTP Basic has the key as the password, or as the user name with an empty password', async (t) => {
  const { app, keyOf } = await testApp(t, { fill: fillTenants })
  const [good, other] = [await keyOf(A), await keyOf(B)]
  const organisation = async (authorization: string) =>
    (await app.inject({ url: '/v1/me', headers: { authorization } })).json().data?.organisation.id
  for (const text of [`x:${good}`, `:${good}`, `Zoë@例:${good}`, `${good}:`, `${good}:${good}`]) {
    t.equal(await organisation(basic(text)), A, text)
  }
  t.equal(await organisation(basic(`${good}:${other}`)), B, 'of two keys the password counts')
  t.equal(await organisation(basic(`x:${good}`).replace('Basic', 'bASIC ')), A)
  const latin1 = Buffer.from(`Zoë:${good}`, 'latin1').toString('base64')
  t.equal(await organisation(`Basic ${latin1}`), A, 'the user name may be in any encoding')
})

t.test('a script in a browser is challenged to send a bearer token alone', async (t) => {
  const { app } = await testApp(t)
  for (const [mode, challenges] of Object.entries({
    cors: ['Bearer'],
    'same-origin': ['Bearer'],
    'no-cors': ['Bearer'],
    navigate: BOTH,
  })) {
    const response = await app.inject({ url: '/v1/me', headers: { 'sec-fetch-mode': mode } })
    t.same([response.headers['www-authenticate']].flat(), challenges, mode)
  }
})

t.test('a key in the query string is not accepted', async (t) => {
  const { app, keyOf } = await testApp(t)
  const key = await keyOf(A)
  t.match((await app.inject(`/v1/entries?access_token=${key}`)).json(), { status: 401, code: 'unauthorized' })
})
