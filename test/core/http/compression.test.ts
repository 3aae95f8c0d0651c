// Compression: large responses in a coding that the caller accepts, with the same text once decompressed.
import { syncBuiltinESMExports } from 'node:module'
import zlib, { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { testApp } from '../../support/app.js'
import { A, a, fillTenants } from '../../support/tenants.js'

const url = '/v1/entries?perPage=50'

/** The service of all tests, which only read. */
const reading = testApp(t, {
  fill: async (store) => {
    await fillTenants(store)
    await store.insert(
      'entries',
      Array.from({ length: 40 }, (_, i) => a.entry(100 + i)),
    )
  },
})

t.test('a large response is compressed with Brotli if the caller accepts it, otherwise with gzip', async (t) => {
  const { get } = await reading
  const plain = await get(url, A)
  t.equal(plain.headers['content-encoding'], undefined)
  for (const [header, coding] of Object.entries({
    br: 'br',
    'gzip, deflate, br': 'br',
    'gzip, br;q=0': 'gzip',
    gzip: 'gzip',
    '*': 'br',
    'br;q=0, *': 'gzip',
  })) {
    const response = await get(url, A, { headers: { 'accept-encoding': header } })
    t.equal(response.headers['content-encoding'], coding, header)
    t.match(response.headers.vary, /accept-encoding/)
    t.equal(response.headers['content-length'], String(response.rawPayload.length))
    t.equal(response.headers.etag, plain.headers.etag, 'one tag for every coding')
    const decode = coding === 'br' ? brotliDecompressSync : gunzipSync
    t.equal(decode(response.rawPayload).toString(), plain.body)
    t.ok(response.rawPayload.length < plain.rawPayload.length / 4)
  }
})

t.test('a response is not compressed if it is small, or if the caller accepts neither coding', async (t) => {
  const { get } = await reading
  for (const [path, header] of [
    ['/v1/entries?perPage=1', 'br'],
    [url, 'identity'],
    [url, 'deflate, zstd'],
    [url, ''],
    [url, 'br;q=0, gzip;q=0'],
  ] as const) {
    const response = await get(path, A, { headers: { 'accept-encoding': header } })
    t.equal(response.headers['content-encoding'], undefined, `${path} ${header}`)
    t.equal(response.json().success, true)
  }
})

t.test('a file is compressed in its parts, but for one that is compressed already', async (t) => {
  const { get } = await reading
  const plain = await get('/v1/exports/entries.csv', A)
  for (const [coding, decode] of [
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
  ] as const) {
    const { headers, rawPayload } = await get('/v1/exports/entries.csv', A, { headers: { 'accept-encoding': coding } })
    t.equal(headers['content-encoding'], coding)
    t.equal(decode(rawPayload).toString(), plain.body)
  }
  const parquet = await get('/v1/exports/entries.parquet', A, { headers: { 'accept-encoding': 'br' } })
  t.same([parquet.headers['content-encoding'], parquet.body.slice(0, 4)], [undefined, 'PAR1'])
})

t.test('a large problem is compressed too', async (t) => {
  const { get } = await reading
  const names = Array.from({ length: 10 }, (_, n) => `x${n}${'y'.repeat(400)}`)
  const response = await get(`/v1/entries?${names.join('&')}`, A, { headers: { 'accept-encoding': 'gzip' } })
  t.equal(response.headers['content-encoding'], 'gzip')
  t.match(JSON.parse(gunzipSync(response.rawPayload).toString()), { code: 'invalid_parameter' })
})

t.test(
  'a response that cannot be compressed is a problem not marked as compressed, and the next one is well',
  async (t) => {
    const { app, get } = await reading
    const { brotliCompress } = zlib
    const replace = (compress: unknown) => {
      Object.assign(zlib, { brotliCompress: compress })
      syncBuiltinESMExports()
    }
    t.teardown(() => replace(brotliCompress))
    const ask = async () => [
      await get(url, A, { headers: { 'accept-encoding': 'br' } }),
      await app.inject({ url: '/openapi.yaml', headers: { 'accept-encoding': 'br' } }),
    ]
    replace((...argv: unknown[]) => (argv.at(-1) as (error: Error) => void)(new Error('no memory')))
    for (const response of await ask()) {
      t.equal(response.headers['content-encoding'], undefined)
      t.equal(response.json().code, 'internal_error')
    }
    replace(brotliCompress)
    for (const { statusCode, headers } of await ask()) {
      t.equal(statusCode, 200)
      t.equal(headers['content-encoding'], 'br')
    }
  },
)

t.test('HEAD has the same headers as GET', async (t) => {
  const { get } = await reading
  const headers = { 'accept-encoding': 'br' }
  const [head, full] = [await get(url, A, { headers, method: 'HEAD' }), await get(url, A, { headers })]
  t.equal(head.body, '')
  for (const name of ['content-encoding', 'content-length', 'etag', 'content-type']) {
    t.equal(head.headers[name], full.headers[name], name)
  }
})
