// What one organisation can see of another, by ids, positions and references. crossed-organisations.test.ts tries every parameter
// of every operation, and searches all bytes of the responses.
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { expandable } from '../../schemas/entries.js'
import type { Store } from '../../src/store/store.js'
import { testApp } from '../support/app.js'
import { operationsOf } from '../support/operations.js'
import { eachResource } from '../support/resources.js'
import { A, a, B, b, fillTenants, stolen } from '../support/tenants.js'

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
  t.same(paths.sort(), expected.sort(), 'src/pipelines/index.ts lists every path')
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

t.test('documents of another organisation that a record points at stay out of its response', async (t) => {
  const { get } = await reading
  const entry = (await get(`/v1/entries/${stolen.entry._id}`, A)).json().data
  for (const field of expandable) t.notOk(field in entry, `entry without ${field}`)
  const [listed] = (await get(`/v1/entries?ids=${stolen.entry._id}&expand=${expandable}`, A)).json().data
  t.equal(listed.id, stolen.entry._id)
  for (const field of expandable) t.notOk(field in listed, `entry of a list without ${field}`)

  const dispatch = (await get(`/v1/dispatches/${stolen.dispatch._id}`, A)).json().data
  for (const field of ['form', 'project', 'createdBy', 'modifiedBy'])
    t.notOk(field in dispatch, `dispatch without ${field}`)
  t.same(
    dispatch.recipients.agents.map(({ id }: { id: string }) => id),
    [a.agent(1)._id],
    'of the recipients only its own',
  )

  for (const url of [
    '/v1/dispatches?name=Stolen',
    `/v1/projects/${stolen.project._id}`,
    '/v1/projects?name=Project%209',
  ]) {
    const { data } = (await get(url, A)).json()
    for (const record of Array.isArray(data) ? data : [data]) {
      t.notOk('createdBy' in record || 'modifiedBy' in record, `${url} without its authors`)
    }
  }
})

t.test('another organisation’s dispatch that names a project is not among its dispatches', async (t) => {
  const { get } = await reading
  for (const url of [`/v1/projects/${a.project(1)._id}`, '/v1/projects?name=Project%201']) {
    const { data } = (await get(url, A)).json()
    const { dispatches } = Array.isArray(data) ? data[0] : data
    t.same(dispatches, [{ id: 'dispatch1-a' }, { id: 'dispatch3-a' }], url)
  }
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

t.test('a record of several organisations in an array is served to none of them', async (t) => {
  const { get, store } = await testApp(t, { fill: fillTenants, settings })
  const shared = (record: object, changes: object = {}) =>
    ({ ...record, _id: 'of-both', organisation: [A, B], ...changes }) as never
  const names = { createdBy: 'of-both', modifiedBy: 'of-both', form: 'of-both', project: 'of-both' }
  const recipients = { agents: ['of-both'], agentGroups: [] }
  await store.insert('users', [shared(a.user)])
  await store.insert('agents', [shared(a.agent(1))])
  await store.insert('forms', [shared(a.form)])
  await store.insert('projects', [shared(a.project(1))])
  await store.insert('dispatches', [
    shared(a.dispatch(1), { project: a.project(1)._id }),
    a.dispatch(7, { ...names, recipients }),
  ])
  await store.insert('entries', [shared(a.entry(1)), a.entry(7, { ...names, dispatch: 'of-both', agent: 'of-both' })])
  await passed(store)
  for (const organisation of [A, B]) {
    for (const [name] of eachResource) {
      t.equal((await get(`/v1/${name}/of-both`, organisation)).statusCode, 404, name)
      t.equal((await get(`/v1/${name}?ids=of-both`, organisation)).json()._metadata.total, 0, name)
      for (const path of [`/v1/${name}`, `/v1/${name}?cursor=*`, `/v1/sync/${name}`]) {
        const { data } = (await get(path, organisation)).json()
        t.notOk(
          data.some(({ id }: { id: string }) => id === 'of-both'),
          `${organisation}: ${path}`,
        )
      }
      t.notMatch((await get(`/v1/exports/${name}.ndjson`, organisation)).body, /^\{"id":"of-both"/m, name)
    }
  }
  const expanded = (await get(`/v1/entries?ids=entry7-a&expand=${expandable}`, A)).json().data[0]
  for (const entry of [expanded, (await get('/v1/entries/entry7-a', A)).json().data]) {
    t.same([entry.dispatch, entry.form, entry.project, entry.agent], Array(4).fill(undefined))
  }
  const { data } = (await get('/v1/dispatches/dispatch7-a', A)).json()
  t.same([data.createdBy, data.modifiedBy, data.form, data.project], Array(4).fill(undefined))
  t.same(data.recipients.agents, [])
  const project = (await get(`/v1/projects/${a.project(1)._id}`, A)).json().data
  t.notOk(project.dispatches.some(({ id }: { id: string }) => id === 'of-both'))
})
