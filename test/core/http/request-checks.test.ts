// The checks that are the same for every request.
import t from 'tap'
import { MAX_HEADER_LENGTHS } from '../../../src/core/http/request-checks.js'
import { listen, testApp } from '../../support/app.js'
import { getRequest, LAST, send, statusesIn } from '../../support/sockets.js'
import { A } from '../../support/tenants.js'

t.test('a parsed header that is too long is refused with its name and limit', async (t) => {
  const { app, get } = await testApp(t, { settings: { TRUST_PROXY: '127.0.0.1' } })
  for (const [name, most] of Object.entries(MAX_HEADER_LENGTHS)) {
    for (const url of ['/v1/entries', '/openapi.json', '/health/live']) {
      const response = await app.inject({ url, headers: { [name]: 'a'.repeat(most + 1) } })
      t.equal(response.statusCode, 431, `${name} ${url}`)
      const message = `must not be longer than ${most} characters`
      t.match(response.json(), { code: 'header_fields_too_large', errors: [{ in: 'header', name, message }] })
    }
  }
  const longest = { accept: '*/*,'.padEnd(1000, ' '), 'accept-encoding': 'x'.repeat(500) }
  t.equal((await get('/v1/entries', A, { headers: longest })).statusCode, 200)
})

t.test('two hosts, two keys, an invalid host and other versions of HTTP are refused', async (t) => {
  const { app, keyOf } = await testApp(t)
  const port = await listen(app)
  const key = `authorization: Bearer ${await keyOf(A)}\r\n`
  const ask = (head: string) => send(port, `GET /v1/entries?perPage=1 ${head}connection: close\r\n\r\n`)
  t.match(await ask(`HTTP/1.1\r\nhost: x\r\n${key}`), /^HTTP\/1.1 200 /)
  const wrong: [string, number, string][] = [
    [`HTTP/1.1\r\nhost: x\r\nHost: y\r\n${key}`, 400, '"name":"Host","message":"must be given only once"'],
    [`HTTP/1.1\r\nhost: x\r\n${key}${key}`, 400, '"name":"Authorization","message":"must be given only once"'],
    [`HTTP/1.0\r\n${key}${key}`, 400, '"name":"Authorization"'],
    [`HTTP/1.1\r\nhost: x/<b>\r\n${key}`, 400, '"name":"Host","message":"must be a name or an address'],
    [`HTTP/1.1\r\n${key}`, 400, 'needs a Host header'],
    [`HTTP/2.0\r\nhost: x\r\n${key}`, 505, '"code":"http_version_not_supported"'],
    [`HTTP/0.9\r\nhost: x\r\n${key}`, 505, '"code":"http_version_not_supported"'],
  ]
  for (const [head, status, text] of wrong) {
    const received = await ask(head)
    t.same(statusesIn(received), [status], head)
    t.match(received, text)
  }
})

t.test('a second key is found behind thousands of short headers', async (t) => {
  const { app, keyOf } = await testApp(t)
  const port = await listen(app)
  const key = `authorization: Bearer ${await keyOf(A)}\r\n`
  for (const [many, between] of [
    [4000, 'a:\r\n'],
    [2000, 'a: b\r\n'],
    [1500, 'abc: def\r\n'],
  ] as const) {
    const ask = (last: string) =>
      send(port, `GET /v1/me HTTP/1.1\r\nhost: x\r\n${key}${between.repeat(many)}${last}connection: close\r\n\r\n`)
    t.match(await ask(''), /^HTTP\/1.1 200 /, `${many} headers are served`)
    t.match(await ask(key), /^HTTP\/1.1 400 .*"name":"Authorization","message":"must be given only once"/s)
    t.match(await ask('host: y\r\n'), /^HTTP\/1.1 400 .*"name":"Host","message":"must be given only once"/s)
  }
})

t.test('a request with an Upgrade header gets its response, and requests after it are dropped', async (t) => {
  const { app } = await testApp(t)
  const port = await listen(app)
  const upgrade = getRequest('/health/live', { connection: 'upgrade', upgrade: 'websocket' })
  t.same(statusesIn(await send(port, upgrade + getRequest('/health/live', LAST))), [200])
})
