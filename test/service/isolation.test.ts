// What one organisation learns of another by its ids and positions: nothing. That no record of another is in a response, whoever
// points at it, crossed-organisations.test.ts shows, which tries every parameter of every operation and searches all bytes.
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import type { Store } from '../../src/core/store/store.js'
import { testApp } from '../support/app.js'
import { operationsOf } from '../support/operations.js'
import { eachResource } from '../support/resources.js'
import { A, a, B, b, fillTenants } from '../support/tenants.js'

/** The paths of OGC API - Features. */
const ogcPaths = [
  '',
  '/api',
  '/conformance',
  '/collections',
  '/collections/entries',
  '/collections/entries/queryables',
  '/collections/entries/schema',
  '/collections/entries/schema/geojson',
  '/collections/entries/items',
  '/collections/entries/items/{id}',
]
const ITEMS = '/v1/ogc/collections/entries/items'

/** The application of the tests that only read. */
const reading = testApp(t, { fill: fillTenants })

t.test('the resources that tests go through are those of the service', async (t) => {
  const { app } = await testApp(t)
  const paths = (await operationsOf(app)).map(([path]) => path)
  const expected = eachResource.flatMap(([name]) => [
    `/v1/exports/${name}.{format}`,
    `/v1/${name}`,
    `/v1/${name}/{id}`,
    `/v1/sync/${name}`,
    `/v1/sync/${name}/digest`,
  ])
  const counts = ['/v1/summaries/entries', '/v1/summaries/entries.csv', '/v1/forms/{id}/questions']
  const checks = ['entries', 'entries.csv', 'agents', 'agents.csv'].map((name) => `/v1/checks/${name}`)
  expected.push(
    '/v1/me',
    '/v1/exports/answers.{format}',
    ...counts,
    ...checks,
    ...ogcPaths.map((path) => `/v1/ogc${path}`),
  )
  t.same(paths.sort(), expected.sort(), 'each path is asked for here')
})

t.test('another organisation’s id gets the same response as an unknown one, byte for byte', async (t) => {
  const { get } = await reading
  for (const [name, { idOf }] of eachResource) {
    const ask = (id: string, organisation = A) =>
      get(`/v1/${name}/${id}`, organisation, { headers: { 'x-request-id': 'same' } })
    t.equal((await ask(idOf(a))).statusCode, 200, `${name}: its own is found`)
    t.equal((await ask(idOf(b), B)).statusCode, 200, `${name}: the other’s exists`)
    const [denied, unknown] = [await ask(idOf(b)), await ask('nobody')]
    t.equal(denied.statusCode, 404, name)
    t.equal(denied.body, unknown.body, name)
    t.same({ ...denied.headers, date: '' }, { ...unknown.headers, date: '' }, name)
  }
})

t.test('a position of another organisation is refused in every list', async (t) => {
  const { get, store } = await testApp(t, { fill: fillTenants })
  // So that every list has a second page.
  for (const [name, { idOf }] of eachResource) {
    const record = await store.dangerouslyFind(name, idOf(a))
    await store.insert(name, [{ ...record, _id: 'second' } as never])
    const { nextCursor } = (await get(`/v1/${name}?perPage=1&cursor=*`, A)).json()._metadata
    const { next } = (await get(`/v1/${name}?perPage=1`, A)).json()._metadata.pageLinks
    for (const path of [`/v1/${name}?perPage=1&cursor=${nextCursor}`, next.replace(/^https?:\/\/[^/]+/, '')]) {
      t.equal((await get(path, A)).statusCode, 200, `${path}: its own is taken`)
      t.match((await get(path, B)).json(), { status: 400, code: 'invalid_cursor' }, path)
    }
  }
})

t.test('a feature of another organisation is an unknown one, and so is its page', async (t) => {
  const { get } = await reading
  const ask = (id: string) => get(`${ITEMS}/${id}`, A, { headers: { 'x-request-id': 'same' } })
  t.equal((await ask(a.entry(1)._id)).statusCode, 200)
  t.equal((await get(`${ITEMS}/${b.entry(1)._id}`, B)).statusCode, 200, 'the other’s exists')
  const denied = await ask(b.entry(1)._id)
  t.equal(denied.statusCode, 404)
  t.equal(denied.body, (await ask('nobody')).body)

  const { links } = (await get(`${ITEMS}?limit=1`, A)).json()
  const next = links.find(({ rel }: { rel: string }) => rel === 'next').href.replace(/^https?:\/\/[^/]+/, '')
  t.equal((await get(next, A)).statusCode, 200)
  t.match((await get(next, B)).json(), { status: 400, code: 'invalid_cursor' })
  const cursor = new URL(next, 'http://localhost').searchParams.get('cursor')
  t.match((await get(`/v1/entries?cursor=${cursor}`, A)).json(), { code: 'invalid_cursor' }, 'nor is it of the list')
})

/** Changes are shown at once, which only a test without late commits may do. */
const settings = { SYNC_SETTLE_MS: '0' }

/** Waits until what was written is in the past. */
const passed = async (store: Store): Promise<void> => {
  const until = (await store.now()).now
  while ((await store.now()).now <= until) await setTimeout(1)
}

t.test('a feed has the organisation’s own records and deletions alone, and takes no other’s cursor', async (t) => {
  const { get, store } = await testApp(t, { settings, fill: fillTenants })
  for (const [name, { idOf }] of eachResource) await store.remove(name, B, [idOf(b)])
  await passed(store)
  for (const [name, { idOf }] of eachResource) {
    const feed = async (organisation: string, query = '') => get(`/v1/sync/${name}${query}`, organisation)
    const own = (await feed(A)).json()
    t.ok(own.data.length > 0, name)
    t.same(
      own.data.filter(({ id }: { id: string }) => !id.endsWith('-a')),
      [],
      name,
    )
    const theirs = (await feed(B)).json()
    t.ok(
      theirs.data.some(({ id, deleted }: { id: string; deleted?: true }) => id === idOf(b) && deleted),
      `${name}: the deletion is in the feed of its organisation`,
    )
    for (const { nextCursor } of [theirs._metadata, (await feed(B, '?perPage=1')).json()._metadata]) {
      const denied = await feed(A, `?cursor=${nextCursor}`)
      t.match([denied.statusCode, denied.json().code], [400, 'invalid_cursor'], name)
    }
  }
})
