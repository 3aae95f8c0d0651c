// Conditional requests: a current entity tag gets 304, and whatever changes a response changes its tag.
import t from 'tap'
import { testApp } from '../support/app.js'
import { A, a, B, fillTenants } from '../support/tenants.js'

const day = new Date(Date.UTC(2026, 0, 1))

const paths = [
  '/v1/entries',
  `/v1/entries/${a.entry(1)._id}`,
  '/v1/dispatches?sortBy=name',
  `/v1/dispatches/${a.dispatch(1)._id}`,
  '/v1/projects',
  `/v1/projects/${a.project(1)._id}`,
]

t.test('a request with the current entity tag gets 304, without a body and with the tag', async (t) => {
  const { get } = await testApp(t, { fill: fillTenants })
  for (const path of paths) {
    const { headers } = await get(path, A)
    const etag = headers.etag as string
    t.match(etag, /^W\/"[\da-f]{8}\.[\w-]{27}"$/, path)
    for (const known of [etag, `"other", ${etag}`, etag.slice(2), '*']) {
      const response = await get(path, A, { headers: { 'if-none-match': known } })
      t.equal(response.statusCode, 304, `${path} ${known}`)
      t.equal(response.body, '')
      t.equal(response.headers.etag, etag)
      t.equal(response.headers['cache-control'], 'private, no-cache')
    }
    for (const unknown of ['"other"', etag.slice(2, -2), '']) {
      t.equal((await get(path, A, { headers: { 'if-none-match': unknown } })).statusCode, 200, `${path} ${unknown}`)
    }
    for (const [method, known, status] of [
      ['HEAD', etag, 304],
      ['HEAD', '"other"', 200],
      ['GET', etag, 304],
    ] as const) {
      const response = await get(path, A, { method, headers: { 'if-none-match': known } })
      t.equal(response.statusCode, status, `${method} ${path}`)
      if (status === 200) t.equal(response.headers['content-length'], headers['content-length'], 'that of GET')
    }
    const asFetchDoes = { 'if-none-match': etag, 'cache-control': 'no-cache', pragma: 'no-cache' }
    t.equal(
      (await get(path, A, { headers: asFetchDoes })).statusCode,
      304,
      'the request’s Cache-Control is meant for caches',
    )
  }
})

t.test('a tag changes with the record, with the records embedded in it, and with the total', async (t) => {
  const { store, get } = await testApp(t, { fill: fillTenants, settings: { TOTAL_MAX_AGE_MS: '0' } })
  const tags = async () => Promise.all(paths.map(async (path) => (await get(path, A)).headers.etag))
  const first = await tags()
  t.same(await tags(), first, 'nothing has changed')

  await store.update('users', a.user._id, { lastName: 'Other' })
  const changed = await tags()
  for (const [i, path] of paths.entries()) {
    t.equal(changed[i] === first[i], path.startsWith('/v1/entries'), `${path}: a user is not part of an entry`)
  }
  await store.update('entries', a.entry(1)._id, { duration: 9 })
  const [list, one] = await tags()
  t.not(list, first[0])
  t.not(one, first[1])

  const page = '/v1/entries?perPage=1'
  const before = (await get(page, A)).headers.etag
  await store.insert('entries', [a.entry(99, { createdAt: day })])
  t.not((await get(page, A)).headers.etag, before, 'the same record in another total')
})

t.test('another organisation and another page have other tags', async (t) => {
  const { get } = await testApp(t, { fill: fillTenants })
  const tags = new Set<unknown>()
  for (const organisation of [A, B]) {
    for (const path of ['/v1/entries?page=8', '/v1/entries?page=9', '/v1/dispatches?page=9']) {
      tags.add((await get(path, organisation)).headers.etag)
    }
  }
  t.equal(tags.size, 6, 'although all of these pages are empty')
})

t.test('an error has no tag and is never 304', async (t) => {
  const { get } = await testApp(t, { fill: fillTenants })
  const response = await get('/v1/entries/nothing', A, { headers: { 'if-none-match': '*' } })
  t.equal(response.statusCode, 404)
  t.equal(response.headers.etag, undefined)
})
