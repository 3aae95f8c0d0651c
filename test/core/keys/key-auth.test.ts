// API keys on requests: which are accepted, that all others get the same response, and who is told of them.
import t from 'tap'
import { buildApp } from '../../../src/app.js'
import { keyIdOf, makeKey } from '../../../src/core/keys/format.js'
import { keysOf } from '../../../src/core/keys/keys.js'
import { testApp, testConfig } from '../../support/app.js'
import { inEach } from '../../support/each.js'
import { testStore } from '../../support/store.js'
import { A, B, fillTenants } from '../../support/tenants.js'

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

t.test(
  'every operation needs a key, and the response is the same whatever is wrong with it',
  inEach(async (each, t) => {
    const { app, store, keyOf } = await testApp(t, { fill: fillTenants })
    const good = await keyOf(A)
    const keys = keysOf(store, (error) => t.fail(String(error)))
    const expired = await keys.issue({ organisation: A, name: 'Old', expiresAt: new Date(Date.now() - 1) })
    const revoked = await keys.issue({ organisation: A, name: 'Gone' })
    await store.update('apiKeys', revoked.split('_')[1] as string, { revokedAt: new Date() })
    const orphaned = await keys.issue({ organisation: A, name: 'Orphaned' })
    await store.update('apiKeys', keyIdOf(orphaned) as string, { organisation: 'gone' })
    const unfit = await keys.issue({ organisation: A, name: 'Everything' })
    await store.update('apiKeys', unfit.split('_')[1] as string, { organisation: { $ne: '' } } as object)
    const unknown = makeKey()
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
      'of an organisation that is gone': `Bearer ${orphaned}`,
      'Basic, but not encoded': `Basic ${good}`,
      'Basic, but not Base64': `${basic(`x:${good}`)}~`,
      'Basic with bits that mean nothing': basic(`x:${good}`).replace(/.==$|.=$|.$/, (end) => `_${end}`),
      'Basic without padding': basic(`x:${good}`).replace(/=+$/, ''),
      'Basic without credentials': 'Basic ',
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
        each.equal([response.statusCode, response.headers['www-authenticate']], [401, BOTH], `${what}: ${url}`)
        bodies.add(response.body)
      }
      const accepted = await app.inject({ url, headers: { authorization: `bearer  ${good}` } })
      each.ok(accepted.statusCode !== 401, url)
    }
    t.equal(bodies.size, 1)
  }),
)

/** The service of the tests that only read. */
const reading = testApp(t, { fill: fillTenants })

t.test('HTTP Basic has the key as the password, or as the user name with an empty password or none', async (t) => {
  const { app, keyOf } = await reading
  const [good, other] = [await keyOf(A), await keyOf(B)]
  const organisation = async (authorization: string) =>
    (await app.inject({ url: '/v1/me', headers: { authorization } })).json().data?.organisation.id
  for (const text of [`x:${good}`, `:${good}`, `Zoë@例:${good}`, `${good}:`, `${good}:${good}`, good]) {
    t.equal(await organisation(basic(text)), A, text)
  }
  t.equal(await organisation(basic(`${good}:${other}`)), B, 'of two keys the password counts')
  t.equal(await organisation(basic(`x:${good}`).replace('Basic', 'bASIC ')), A)
  const latin1 = Buffer.from(`Zoë:${good}`, 'latin1').toString('base64')
  t.equal(await organisation(`Basic ${latin1}`), A, 'the user name may be in any encoding')
})

t.test('a script in a browser is challenged to send a bearer token alone', async (t) => {
  const { app } = await reading
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
  const { app, keyOf } = await reading
  const key = await keyOf(A)
  t.match((await app.inject(`/v1/entries?access_token=${key}`)).json(), { status: 401, code: 'unauthorized' })
})

t.test('the responses to a key say when it ends in its last 14 days, whatever they are', async (t) => {
  const { app, store } = await testApp(t, { fill: fillTenants, settings: { METRICS_PORT: '0' } })
  const keys = keysOf(store, (error) => t.fail(String(error)))
  const shownFor = async (end: { expiresAt?: Date }) => {
    const key = await keys.issue({ organisation: A, name: 'Sync', ...end })
    const headers = { authorization: `Bearer ${key}` }
    const urls = ['/v1/me', '/v1/forms', '/v1/forms/x', '/v1/forms?page=0', '/v1/exports/forms.csv']
    const responses = await Promise.all(urls.map((url) => app.inject({ url, headers })))
    t.same(
      responses.map(({ statusCode }) => statusCode),
      [200, 200, 404, 400, 200],
    )
    return [...new Set(responses.map(({ headers }) => headers['api-key-expires']))]
  }
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000)
  const soon = inDays(13.9)
  t.same(await shownFor({ expiresAt: soon }), [`@${Math.floor(soon.getTime() / 1000)}`])
  t.same(await shownFor({ expiresAt: inDays(14.1) }), [undefined])
  t.same(await shownFor({}), [undefined])
  t.match(await app.metrics?.text(), /^field_data_keys_ending 1$/m, 'one of the keys in use ends in so many days')
})

t.test('the line of a request says why its key was refused, and names a key that was valid once', async (t) => {
  const store = testStore(t)
  await fillTenants(store)
  const lines: string[] = []
  const app = await buildApp(testConfig({ LOG_LEVEL: 'info' }), store, { write: (line) => lines.push(line) })
  t.teardown(() => app.close())
  const keys = keysOf(store, (error) => t.fail(String(error)))
  const expired = await keys.issue({ organisation: A, name: 'Old', expiresAt: new Date(Date.now() - 1) })
  const revoked = await keys.issue({ organisation: A, name: 'Gone' })
  await keys.revoke(keyIdOf(revoked) as string)
  const orphaned = await keys.issue({ organisation: A, name: 'Orphaned' })
  await store.update('apiKeys', keyIdOf(orphaned) as string, { organisation: 'gone' })
  for (const key of [expired, revoked, orphaned, makeKey(), 'fda_x']) {
    await app.inject({ url: '/v1/me', headers: { authorization: `Bearer ${key}`, 'x-request-id': 'the-request' } })
  }
  const line = { reqId: 'the-request', msg: 'request', code: 'unauthorized' }
  t.match(
    lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request'),
    [
      { ...line, refused: 'expired', keyId: keyIdOf(expired), organisation: A },
      { ...line, refused: 'revoked', keyId: keyIdOf(revoked), organisation: A },
      { ...line, refused: 'organisation_gone', keyId: keyIdOf(orphaned), organisation: 'gone' },
      { ...line, refused: 'unknown', keyId: undefined, organisation: undefined },
      { ...line, refused: 'malformed', keyId: undefined, organisation: undefined },
    ],
  )
})

t.test('a key is accepted from its own addresses alone, as the trusted proxy names them', async (t) => {
  const store = testStore(t)
  await fillTenants(store)
  const lines: string[] = []
  const settings = { LOG_LEVEL: 'info', TRUST_PROXY: '127.0.0.1', METRICS_PORT: '0' }
  const app = await buildApp(testConfig(settings), store, { write: (line) => lines.push(line) })
  t.teardown(() => app.close())
  const keys = keysOf(store, (error) => t.fail(String(error)))
  const key = await keys.issue({ organisation: A, name: 'Part', from: ['203.0.113.0/24'] })
  const from = async (address: string, given: string, remoteAddress = '127.0.0.1') => {
    const headers = { authorization: `Bearer ${given}`, 'x-forwarded-for': address, 'x-request-id': 'the-request' }
    return app.inject({ url: '/v1/me', headers, remoteAddress })
  }
  const wide = await keys.issue({ organisation: A, name: 'Both', from: ['203.0.113.0/24', '2001:db8::/32'] })
  const refusedTo: string[] = []
  for (const own of [
    ...['203.0.113.7', '::ffff:203.0.113.7', '2001:db8::1', '203.0.113.7:1234', '[2001:db8::1]:443', '[2001:db8::1]'],
    ...['[::ffff:203.0.113.7]:80', '198.51.100.1, 203.0.113.7:1234', '203.0.113.7:1, 127.0.0.1:2'],
  ])
    if ((await from(own, wide)).statusCode !== 200) refusedTo.push(own)
  t.same(refusedTo, [], 'with a port behind it or not')
  t.equal((await from('203.0.113.7', key)).statusCode, 200)
  t.equal((await from('127.0.0.1', key, '203.0.113.7')).statusCode, 200, 'others are not asked')
  const unknown = await from('198.51.100.1', makeKey())
  for (const other of ['198.51.100.1', 'nonsense']) {
    const refused = await from(other, key)
    t.same([refused.statusCode, refused.body], [401, unknown.body])
    t.same(refused.headers['www-authenticate'], unknown.headers['www-authenticate'])
  }
  t.equal((await from('203.0.113.7', key, '198.51.100.1')).statusCode, 401)
  const refused = lines.map((line) => JSON.parse(line)).filter((line) => line.refused === 'wrong_address')
  t.match(refused, [{ ip: '198.51.100.1' }, {}, { ip: '198.51.100.1' }])
  for (const line of refused) t.match(line, { msg: 'request', keyId: keyIdOf(key), organisation: A })
  t.match(await app.metrics?.text(), /^field_data_keys_refused_total\{reason="wrong_address"\} 3$/m)
})
