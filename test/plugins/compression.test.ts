// Compression: large answers, in a coding that the caller takes, with the same text in the end.
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { testApp } from '../support/app.js'
import { A, a, fillTenants } from '../support/tenants.js'

const url = '/v1/entries?perPage=50'

const start = (t: Parameters<typeof testApp>[0]) =>
  testApp(t, {
    fill: async (store) => {
      await fillTenants(store)
      await store.insert(
        'entries',
        Array.from({ length: 40 }, (_, i) => a.entry(100 + i)),
      )
    },
  })

t.test('a large answer comes in the coding that the caller takes, Brotli before gzip', async (t) => {
  const { get } = await start(t)
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

t.test('an answer comes as it is when it is small, or when the caller takes no coding of ours', async (t) => {
  const { get } = await start(t)
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

t.test('HEAD tells what GET would send', async (t) => {
  const { get } = await start(t)
  const headers = { 'accept-encoding': 'br' }
  const [head, full] = [await get(url, A, { headers, method: 'HEAD' }), await get(url, A, { headers })]
  t.equal(head.body, '')
  for (const name of ['content-encoding', 'content-length', 'etag', 'content-type']) {
    t.equal(head.headers[name], full.headers[name], name)
  }
})
