// Errors of every kind, by inject() and over a socket: always a problem, never HTML, a stack trace or an empty body.
import t, { type Test } from 'tap'
import { buildApp } from '../../../src/app.js'
import { problems, retryLater } from '../../../src/core/problems/problems.js'
import { embeddedStore } from '../../../src/core/store/embedded.js'
import { QueryTimeout, type Store, StoreUnavailable } from '../../../src/core/store/store.js'
import { ResponseTooLarge } from '../../../src/core/write/errors.js'
import { listen, testApp, testConfig } from '../../support/app.js'
import { send } from '../../support/sockets.js'
import { A, fillTenants } from '../../support/tenants.js'

const isProblem = (t: Test, response: { statusCode: number; body: string; headers: object }, code: string): void => {
  const body = JSON.parse(response.body)
  t.match(response.headers, { 'content-type': /^application\/problem\+json/, 'x-request-id': body.requestId }, code)
  t.equal(response.statusCode, body.status, code)
  t.match(
    body,
    { success: false, type: `/docs/errors#${code}`, title: String, detail: String, code, requestId: String },
    code,
  )
}

/** The application of the tests that only read, and its port. */
const reading = testApp(t)
const port = reading.then(({ app }) => listen(app))
t.test('the type of a problem leads to the page that describes it', async (t) => {
  for (const [settings, base] of [
    [undefined, ''],
    [{ PUBLIC_URL: 'https://api.example.org/' }, 'https://api.example.org'],
    [{ PUBLIC_URL: 'https://api.example.org/field' }, 'https://api.example.org/field'],
  ] as const) {
    const { app } = settings ? await testApp(t, { settings }) : await reading
    t.equal((await app.inject('/v1/entries')).json().type, `${base}/docs/errors#unauthorized`)
    t.equal((await app.inject('/v1/%')).json().type, `${base}/docs/errors#bad_request`)
    const text = await send(settings ? await listen(app) : await port, 'garbage\r\n\r\n')
    t.equal(JSON.parse(text.slice(text.indexOf('\r\n\r\n'))).type, `${base}/docs/errors#bad_request`)
  }
  const { app } = await reading
  t.match((await app.inject('/docs/errors')).body, 'id="unauthorized"')
})

t.test('an unknown path is 404, and a method that a path does not allow is 405', async (t) => {
  const { app, keyOf } = await reading
  const authorization = `Bearer ${await keyOf(A)}`
  for (const url of ['/', '/v1', '/v1/', '/v2/entries', '/v1/entries/x/y', '/docs/nothing.html', '//']) {
    const response = await app.inject({ url, headers: { authorization } })
    isProblem(t, response, 'route_not_found')
    t.match(response.headers, { 'cache-control': 'private, no-cache', 'x-content-type-options': 'nosniff' })
  }
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
    for (const url of [
      '/v1/entries',
      '/v1/entries/x?y=z',
      '/v1/entries/',
      '/v1/%65ntries#z',
      '/v1/projects',
      '/health/live',
      '/openapi.json',
    ]) {
      const response = await app.inject({
        method,
        url,
        headers: { 'content-type': url === '/health/live' ? 'none' : 'application/json' },
        ...(method !== 'OPTIONS' && { payload: '{not json' }),
      })
      isProblem(t, response, 'method_not_allowed')
      t.equal(response.headers.allow, 'GET, HEAD')
    }
    for (const url of ['/openapiXjson', '/v1/entriesX', '/v1/entries/x/y', '/v1/Entries', '/v1/entries%2fx']) {
      isProblem(t, await app.inject({ method, url }), 'route_not_found')
    }
    isProblem(t, await app.inject({ method, url: '/v1/entries?x=%' }), 'bad_request')
  }
})

t.test('a method that a path of the document lacks is 405, and Allow names those that it has', async (t) => {
  const { app } = await reading
  await app.ready()
  const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const
  const wrong: string[] = []
  for (const [path, operations] of Object.entries(app.swagger().paths as Record<string, object>)) {
    const url = path.replace('{format}', 'csv').replaceAll(/\{\w+\}/g, 'x')
    for (const method of METHODS.filter((method) => !Object.hasOwn(operations, method.toLowerCase()))) {
      const { statusCode, headers } = await app.inject({ method, url })
      if (statusCode !== 405 || headers.allow !== 'GET, HEAD') wrong.push(`${method} ${url}: ${statusCode}`)
    }
  }
  t.same(wrong, [])
})

t.test('callers who are to come again later do not all come at the same time', async (t) => {
  const seconds = new Set(Array.from({ length: 200 }, () => retryLater()['retry-after']))
  t.same([...seconds].sort(), ['1', '2', '3', '4', '5'])
})

t.test('every route only reads, and assistants ask by POST', async (t) => {
  const { app } = await reading
  const methods = [...app.printRoutes({ commonPrefix: false }).matchAll(/ \(([A-Z, ]+)\)$/gm)].map(([, each]) => each)
  t.ok(methods.length > 40)
  // GET /mcp only refuses.
  t.same([...new Set(methods)], ['GET, HEAD', 'GET, HEAD, POST'])
  t.equal(methods.filter((each) => each?.endsWith('POST')).length, 1)
})

t.test('a by-id path without an id is 400', async (t) => {
  const { get } = await reading
  const response = await get('/v1/entries/', A)
  isProblem(t, response, 'invalid_parameter')
  t.match(response.json().errors, [{ in: 'path', name: 'id', message: 'must not be empty' }])
})

t.test('a caller that does not accept JSON gets 406', async (t) => {
  const { get } = await reading
  for (const accept of ['text/html', 'application/xml, text/*', 'application/json;q=0']) {
    const response = await get('/v1/entries', A, { headers: { accept } })
    isProblem(t, response, 'not_acceptable')
    t.match(response.json().errors, [{ in: 'header', name: 'Accept', allowed: ['application/json'] }])
  }
  for (const accept of [
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    '*/*',
    'application/*',
    'text/html, application/json;q=0.1',
    'application/json',
  ]) {
    t.equal((await get('/v1/entries', A, { headers: { accept } })).statusCode, 200, accept)
  }
})

t.test('a URL that is too long gets 414, and one that is encoded wrongly 400', async (t) => {
  const { app } = await reading
  isProblem(t, await app.inject(`/v1/entries?name=${'x'.repeat(8000)}`), 'uri_too_long')
  isProblem(t, await app.inject(`/v1/entries/${'x'.repeat(8100)}`), 'uri_too_long')
  for (const url of ['/v1/entries/%zz', '/v1/entries?name=%ff', '/v1/entries?name=%', '/v1/entries?%zz=1']) {
    isProblem(t, await app.inject(url), 'bad_request')
  }
})

t.test('errors of the store become problems that do not reveal their cause', async (t) => {
  const failures: [Error, string, string | undefined][] = [
    [new QueryTimeout(new Error('secret query')), 'query_timeout', '2'],
    [new Error('secret bug'), 'internal_error', undefined],
    [new StoreUnavailable(new Error('secret host')), 'service_unavailable', '2'],
  ]
  let failure: Error | undefined
  const fail = () => Promise.reject(failure)
  const { get } = await testApp(t, { store: { ...embeddedStore(), aggregate: fail, ping: fail } })
  for (const [error, code, retryAfter] of failures) {
    failure = error
    for (const url of ['/v1/entries', '/v1/entries/x', '/health/ready']) {
      const response = await get(url, A)
      isProblem(t, response, code)
      t.equal(response.headers['retry-after'], retryAfter)
      t.notMatch(response.body, /secret|\n +at /)
    }
    t.equal((await get('/health/live')).statusCode, 200)
  }
})

t.test('a page that fails when it is written has no header of the page that it would have been', async (t) => {
  const { get, store } = await testApp(t, { fill: fillTenants })
  const url = '/v1/entries?page=2&perPage=1'
  const whole = await get(url, A)
  t.match(whole.headers, { etag: String, link: /rel="next".*rel="prev"/ })
  const data = await store.dangerouslyFindAll('entries', { organisation: A }, 10)
  await store.upsert('entries', data.map(({ status, ...entry }) => entry) as never)
  const failed = await get(url, A)
  isProblem(t, failed, 'internal_error')
  t.match(failed.json().errors, [{ in: 'record', message: 'status is missing' }])
  const early = await get('/v1/entries?x=1', A)
  t.same(Object.keys(failed.headers).sort(), Object.keys(early.headers).sort(), 'only the headers of any problem')
})

t.test(
  'an unexpected error is logged with its stack, a slow query without one, and an outage once by the store',
  async (t) => {
    const logged = async (error: Error) => {
      const lines: { level: number; msg: string; err?: { stack: string } }[] = []
      const log = { write: (line: string) => lines.push(JSON.parse(line)) }
      const store: Store = { ...embeddedStore(), ping: () => Promise.reject(error) }
      const app = await buildApp({ ...testConfig(), logLevel: 'warn' }, store, log)
      await app.inject('/health/ready')
      await app.close()
      return lines.map(({ level, msg, err }) => ({ level, msg, stack: err?.stack }))
    }
    t.match(await logged(new Error('bug')), [{ level: 50, msg: 'internal_error', stack: 'Error: bug\n    at ' }])
    t.same(await logged(new QueryTimeout(new Error('slow'))), [{ level: 40, msg: 'query_timeout', stack: undefined }])
    t.match(await logged(new StoreUnavailable(new Error('down'))), [
      { level: 40, msg: /^the database cannot be reached/ },
    ])
  },
)

t.test('what is too large fails with a problem that names the parameter of its size, if it has one', async (t) => {
  const store: Store = { ...embeddedStore(), aggregate: () => Promise.reject(new ResponseTooLarge()) }
  const { get } = await testApp(t, { store })
  for (const [path, name] of [
    ['entries', 'perPage'],
    ['sync/entries', 'perPage'],
    ['ogc/collections/entries/items', 'limit'],
    ['entries/x', undefined],
  ] as const) {
    const response = await get(`/v1/${path}`, A)
    isProblem(t, response, 'response_too_large')
    const { title, detail, errors } = response.json()
    t.match([title, detail].join(), name === undefined ? 'The record would be' : 'The page would be', path)
    t.same(errors, name && [{ in: 'query', name, message: 'must be smaller for records of this size' }], path)
  }
})

t.test('a request that is not valid HTTP gets a problem before its connection closes', async (t) => {
  const requests: [string, string][] = [
    ['no http at all\r\n\r\n', 'bad_request'],
    ['GET /health/live HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n', 'bad_request'],
    ['GET /health/live HTTP/1.1\r\nconnection: close\r\n\r\n', 'bad_request'],
    [`GET /health/live HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, 'header_fields_too_large'],
    [`GET /v1/entries?name=${'y'.repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`, 'uri_too_long'],
    [`GET /v1/entries?name=${'y'.repeat(90_000)}`, 'uri_too_long'],
  ]
  for (const [text, code] of requests) {
    const [head, body] = (await send(await port, text)).split('\r\n\r\n') as [string, string]
    t.match(head, `HTTP/1.1 ${problems[code as keyof typeof problems].status} `, code)
    t.match(head, `content-length: ${body.length}`)
    const headers = Object.fromEntries(
      head
        .split('\r\n')
        .slice(1)
        .map((line) => line.split(': ') as [string, string]),
    )
    isProblem(t, { statusCode: Number(head.split(' ')[1]), headers, body }, code)
  }
})

t.test('a path outside the documentation and an unusual method get the usual responses', async (t) => {
  const ask = async (line: string) => send(await port, `${line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
  t.match(await ask('GET /docs/files/../../package.json'), /^HTTP\/1.1 404 .*"code":"route_not_found"/s)
  t.match(await ask('PROPFIND /v1/entries'), /^HTTP\/1.1 405 .*"code":"method_not_allowed"/s)
  t.match(await ask('PROPFIND /nothing'), /^HTTP\/1.1 404 .*"code":"route_not_found"/s)
})

t.test('an invalid host or protocol does not get into page links', async (t) => {
  const { get } = await testApp(t, { settings: { TRUST_PROXY: '127.0.0.1' } })
  for (const headers of [
    { host: 'a b' },
    { host: 'x/?<b>' },
    { host: 'x:y' },
    { host: 'x:99999' },
    { 'x-forwarded-proto': 'javascript' },
  ]) {
    isProblem(t, await get('/v1/entries', A, { headers }), 'bad_request')
  }
  for (const host of ['localhost', 'api.example.org:8080', '[::1]:3000']) {
    const { current } = (await get('/v1/entries', A, { headers: { host } })).json()._metadata.pageLinks
    t.equal(current, `http://${host}/v1/entries?page=1&perPage=50`)
  }
})

t.test('a request that does not arrive in time gets 408', async (t) => {
  const { app } = await testApp(t)
  const port = await listen(app)
  const server = app.server as typeof app.server & { headersTimeout: number }
  const timeout = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
  server.on('connection', (socket) => server.emit('clientError', timeout, socket))
  t.match(await send(port, 'GET '), /^HTTP\/1.1 408 .*"code":"request_timeout"/s)
})

t.test('the page links of an HTTP/1.0 request without a Host header name the address of the connection', async (t) => {
  const { keyOf } = await reading
  const response = await send(await port, `GET /v1/entries HTTP/1.0\r\nauthorization: Bearer ${await keyOf(A)}\r\n\r\n`)
  t.match(response, `"current":"http://127.0.0.1:${await port}/v1/entries?page=1&perPage=50"`)
})
