// The documentation at /docs: its files, how they are sent, and that the guide shows what the service responds.
import { readFileSync } from 'node:fs'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { problems } from '../../src/core/problems/problems.js'
import { embeddedStore } from '../../src/core/store/embedded.js'
import { loadDemo } from '../../src/demo.js'
import { testApp } from '../support/app.js'
import { A, fillTenants } from '../support/tenants.js'
import { leftToGate } from '../support/thorough.js'

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

/** The application of the tests that only read. */
const reading = testApp(t)

/** The files that a page names, as paths of the service. */
const filesOf = (html: string): string[] =>
  [...html.matchAll(/(?:href|src)="(?:\.\.\/)?(docs\/files\/[^"]+)"/g)].map(([, path]) => `/${path}`)

t.test('the pages load only files of their own, from a folder whose name changes with their content', async (t) => {
  const { app } = await reading
  for (const [path, count] of [
    ['/docs', 6],
    ['/docs/errors', 3],
  ] as const) {
    const page = await app.inject(path)
    t.equal(page.statusCode, 200)
    t.match(page.headers, {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'content-security-policy': "default-src 'self'",
      'x-content-type-options': 'nosniff',
    })
    t.notMatch(page.headers['content-security-policy'], 'upgrade-insecure-requests', 'it works over plain HTTP')
    t.notMatch(page.body, /(href|src)="(https?:)?\/\//, 'nothing comes from elsewhere')
    t.notMatch(page.body, /%[\w.-]+%|undefined|<script>|style="/)
    const files = filesOf(page.body)
    t.equal(files.length, count)
    for (const file of files) {
      t.match(file, /^\/docs\/files\/[\da-f]{12}\/[\w-]+\.(js|css|svg)$/)
      const response = await app.inject(file)
      t.equal(response.statusCode, 200, file)
      t.match(response.headers, {
        'cache-control': 'public, max-age=31536000, immutable',
        'content-type': /^(text\/(javascript|css); charset=utf-8|image\/svg\+xml)$/,
        'x-content-type-options': 'nosniff',
      })
    }
  }
  for (const file of ['docs.js', 'docs.html', 'x', '..%2Fdocs.html', '%00']) {
    t.equal((await app.inject(`/docs/files/${file}`)).json().code, 'route_not_found', file)
  }
})

t.test('the guide links those who run the service, if their address is a setting', async (t) => {
  const { app } = await testApp(t, { settings: { CONTACT_URL: 'https://example.org/keys/"a"&$&' } })
  const link = '<a href="https://example.org/keys/%22a%22&amp;$&amp;">whoever runs this service</a>. The key'
  t.ok((await app.inject('/docs')).body.includes(link))
})

t.test('the programs that the guide links are the examples', async (t) => {
  const { app } = await reading
  const links = [...(await app.inject('/docs')).body.matchAll(/href="(docs\/(\w+\.(?:py|ts)))"/g)]
  t.same(
    links.map(([, , name]) => name),
    ['sync.py', 'check.py', 'sync.ts'],
  )
  for (const [, path, name] of links) {
    const response = await app.inject(`/${path}`)
    t.match(response.headers, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-cache' })
    t.equal(response.body, readFileSync(`examples/${name}`, 'utf8'))
  }
})

t.test('files are compressed as the browser allows, and each is compressed once', async (t) => {
  const { app } = await reading
  const [, , style = ''] = filesOf((await app.inject('/docs')).body)
  const plain = (await app.inject(style)).rawPayload
  const get = (coding: string) => app.inject({ url: style, headers: { 'accept-encoding': coding } })
  for (let time = 0; time < 2; time += 1) {
    const brotli = await get('gzip, deflate, br, zstd')
    t.match(brotli.headers, { 'content-encoding': 'br', vary: 'accept-encoding' })
    t.same(brotliDecompressSync(brotli.rawPayload), plain)
  }
  const gzip = await get('gzip')
  t.equal(gzip.headers['content-encoding'], 'gzip')
  t.same(gunzipSync(gzip.rawPayload), plain)
  t.equal((await get('zstd')).headers['content-encoding'], undefined)
})

t.test('a caller that has a page or the document gets a 304', async (t) => {
  const { app, get } = await testApp(t, { fill: fillTenants, settings: { EXPLORE: 'true' } })
  for (const url of ['/docs', '/explore', '/openapi.json', '/docs/sync.py', '/v1/ogc/api', '/v1/ogc']) {
    const { etag = '' } = (await get(url, A)).headers
    const headers = { 'if-none-match': `${etag}`, 'accept-encoding': 'br' }
    const again = await get(url, A, { headers })
    t.match(again, { statusCode: 304, body: '', headers: { etag } }, url)
    t.equal(again.headers['content-encoding'], undefined)
    const other = await app.inject({ url, headers: { ...headers, host: 'other' } })
    t.equal(other.statusCode, url.startsWith('/v1') ? 401 : url.endsWith('json') ? 200 : 304, `${url} elsewhere`)
  }
})

t.test('all that a browser loads for /docs is smaller than 500 KB', { skip: leftToGate }, async (t) => {
  const { app } = await reading
  let bytes = 0
  for (const url of ['/docs', '/openapi.json', ...filesOf((await app.inject('/docs')).body)]) {
    const { statusCode, rawPayload } = await app.inject({ url, headers: { 'accept-encoding': 'gzip, br' } })
    t.equal(statusCode, 200)
    bytes += rawPayload.length
  }
  t.ok(bytes < 500_000, `${bytes} bytes`)
})

t.test('the address of the service leads a browser to /docs, and is an unknown path for programs', async (t) => {
  const { app } = await reading
  const browser = await app.inject({ url: '/', headers: { accept: BROWSER } })
  t.equal(browser.statusCode, 302)
  t.match(browser.headers, { location: 'docs', vary: 'accept' })
  for (const headers of [
    {},
    ...['*/*', 'application/json', 'application/json, text/html;q=0.5'].map((accept) => ({ accept })),
  ]) {
    t.equal((await app.inject({ url: '/', headers })).json().code, 'route_not_found')
  }
  const slash = await app.inject('/docs/')
  t.equal(slash.statusCode, 301)
  t.equal(slash.headers.location, '../docs')
})

t.test('/docs and /docs/errors describe every error', async (t) => {
  const { app } = await reading
  for (const path of ['/docs', '/docs/errors']) {
    const { body } = await app.inject(path)
    for (const [code, { status }] of Object.entries(problems)) {
      t.match(body, `<dt id="${code}"><code>${code}</code> ${status}</dt>`, path)
    }
  }
})

const textOf = (html: string): string => html.replaceAll('&amp;', '&')

t.test('the guide shows what the service responds with the demo data', { skip: leftToGate }, async (t) => {
  const store = embeddedStore()
  const [demo] = await loadDemo(store)
  const { app } = await testApp(t, { store, settings: { SYNC_SETTLE_MS: '0' } })
  const blocks = [
    ...readFileSync('pages/docs.html', 'utf8').matchAll(/<pre class="(request|response)">(.*?)<\/pre>/gs),
  ].map(([, kind, html = '']) => ({ kind, text: textOf(html) }))
  const requests = blocks.flatMap(({ text }, index) => {
    const url = /^curl -H "Authorization: Bearer \$API_KEY" 'http:\/\/127\.0\.0\.1:3000(\/[^']+)'$/.exec(text)?.[1]
    return url === undefined ? [] : [{ url, shown: blocks[index + 1] as (typeof blocks)[number] }]
  })
  t.equal(requests.length, 7)
  t.equal(blocks.length, 2 * requests.length + 1, 'all blocks but the first are pairs')
  for (const { url, shown } of requests) {
    t.equal(shown.kind, 'response', url)
    const headers = { host: '127.0.0.1:3000', authorization: `Bearer ${demo?.key}` }
    const response = await app.inject({ url, headers })
    // A line with … stands for some lines, and … in a line for some characters.
    const pattern = shown.text
      .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
      .replace(/^…$/gm, '[^]+?')
      .replaceAll('…', '.+')
    t.match(JSON.stringify(response.json(), null, 2), new RegExp(`^${pattern}$`), url)
  }
})
