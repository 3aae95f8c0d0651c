// The rate limit of a key on requests, and what their responses say about it.
import t from 'tap'
import { testApp } from '../../support/app.js'
import { A, B, fillTenants } from '../../support/tenants.js'

t.test('responses say how many requests are left, and further ones are refused by key', async (t) => {
  const { get } = await testApp(t, { fill: fillTenants, settings: { RATE_LIMIT: '3' } })
  const first = await get('/v1/entries', A)
  t.equal(first.headers['ratelimit-policy'], '"default";q=3;w=60')
  t.equal(first.headers.ratelimit, '"default";r=2;t=60')
  const headers = { 'if-none-match': String(first.headers.etag) }
  for (const left of [1, 1, 1, 1]) {
    const same = await get('/v1/entries', A, { headers })
    t.match([same.statusCode, same.headers.ratelimit], [304, new RegExp(`^"default";r=${left};`)])
  }
  t.match((await get('/v1/entries?status=', A)).headers.ratelimit, /^"default";r=0;/)
  const refused = await get('/v1/entries', A)
  t.match([refused.statusCode, refused.headers.ratelimit], [429, /^"default";r=0;t=(59|60)$/])
  t.match(refused.headers['retry-after'], /^(59|60)$/)
  t.match(refused.json(), { code: 'rate_limited', detail: 'The rate limit of a key is 3 in 60 s' })

  t.match((await get('/v1/entries', B)).headers.ratelimit, /^"default";r=2;/)
  const unknown = await get('/v1/entries')
  t.match([unknown.statusCode, unknown.headers.ratelimit], [401, undefined])
  for (const [url, method, status] of [
    ['/health/ready', 'GET', 200],
    ['/v1/nothing', 'GET', 404],
    ['/v1/entries', 'POST', 405],
  ] as const) {
    const { statusCode, headers } = await get(url, B, { method })
    t.match([statusCode, headers.ratelimit], [status, undefined], `${method} ${url}`)
  }
})

t.test('without the setting nothing is said or refused', async (t) => {
  const { get } = await testApp(t)
  const { headers } = await get('/v1/me', A)
  t.notMatch(headers, { ratelimit: /./ })
})
