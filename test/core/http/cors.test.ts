// What a browser learns about whether a page of another origin may call the service.
import t from 'tap'
import { testApp } from '../../support/app.js'
import { A, fillTenants } from '../../support/tenants.js'

const origin = 'https://app.example.org'
const preflight = { 'access-control-request-method': 'GET', 'access-control-request-headers': 'authorization' }

/** A service with pages of other origins. The tests only ask it. */
const open = testApp(t, { fill: fillTenants, settings: { CORS_ORIGINS: `${origin},http://localhost:5173` } })

t.test('a page of an allowed origin may read responses, errors and their headers', async (t) => {
  const { get } = await open
  for (const [url, organisation, status] of [
    ['/v1/entries', A, 200],
    ['/v1/entries?page=0', A, 400],
    ['/v1/entries', undefined, 401],
    ['/nowhere', A, 404],
  ] as const) {
    const { statusCode, headers } = await get(url, organisation, { headers: { origin } })
    t.equal(statusCode, status)
    t.equal(headers['access-control-allow-origin'], origin, `${status}`)
    t.match(headers['access-control-expose-headers'], /ETag, Link, RateLimit, RateLimit-Policy, Retry-After/)
    t.match(headers.vary, /origin/i)
    t.equal(headers['access-control-allow-credentials'], undefined)
  }
})

t.test('a preflight needs no key', async (t) => {
  const { app } = await open
  const { statusCode, headers, body } = await app.inject({
    method: 'OPTIONS',
    url: '/v1/entries?status=accepted',
    headers: { origin, ...preflight },
  })
  t.equal(statusCode, 204)
  t.equal(body, '')
  t.match(headers, {
    'access-control-allow-origin': origin,
    'access-control-allow-methods': 'GET, HEAD',
    'access-control-allow-headers': /Authorization, If-None-Match/,
    'access-control-max-age': '86400',
  })
})

t.test('a page of an allowed origin may send messages to /mcp', async (t) => {
  const { app } = await open
  for (const [url, methods] of [
    ['/mcp', 'POST'],
    ['/mcp?x', 'POST'],
    ['/mcp/x', 'GET, HEAD'],
  ] as const) {
    const { headers } = await app.inject({ method: 'OPTIONS', url, headers: { origin, ...preflight } })
    t.equal(headers['access-control-allow-methods'], methods, url)
    t.equal(
      /Content-Type, MCP-Protocol-Version/.test(String(headers['access-control-allow-headers'])),
      methods === 'POST',
    )
  }
})

t.test('a page of another origin is not allowed, and without the setting none is', async (t) => {
  for (const [service, status] of [
    [open, 204],
    [testApp(t, { fill: fillTenants }), 405],
  ] as const) {
    const { app, get } = await service
    const headers = { origin: 'https://app.example.org.evil.test', ...preflight }
    const refused = await app.inject({ method: 'OPTIONS', url: '/v1/entries', headers })
    t.equal(refused.statusCode, status)
    t.equal(refused.headers['access-control-allow-origin'], undefined)
    t.equal((await get('/v1/entries', A, { headers })).headers['access-control-allow-origin'], undefined)
  }
})

t.test('with * every page is allowed, and other methods still get a problem', async (t) => {
  const { app } = await testApp(t, { settings: { CORS_ORIGINS: '*' } })
  const post = await app.inject({ method: 'POST', url: '/v1/entries', headers: { origin } })
  t.equal(post.statusCode, 405)
  t.equal(post.headers['access-control-allow-origin'], '*')
  t.equal((await app.inject({ method: 'POST', url: '/nowhere' })).json().code, 'route_not_found')
})
