// What one organisation can see of another: every operation of the service, with the other's ids and values.
// crossed-organisations.test.ts searches all bytes of random requests.
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { expandable } from '../../schemas/entries.js'
import type { Store } from '../../src/store/store.js'
import { testApp } from '../support/app.js'
import { operationsOf } from '../support/operations.js'
import { eachResource } from '../support/resources.js'
import { A, a, B, b, fillTenants, intruder, stolen } from '../support/tenants.js'

/** The paths of OGC API - Features. */
const ogcPaths = [
  '',
  '/api',
  '/conformance',
  '/collections',
  '/collections/entries',
  '/collections/entries/queryables',
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
  expected.push('/v1/me', '/v1/exports/answers.{format}', ...ogcPaths.map((path) => `/v1/ogc${path}`))
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

/** The rows of an export. */
const linesOf = (body: string): Record<string, unknown>[] =>
  body
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

/** What the other organisation has, by the parameters that filter by it. */
const foreignValues: Record<string, string> = {
  dispatch: b.dispatch(1)._id,
  form: b.form._id,
  project: b.project(1)._id,
  agent: b.agent(1)._id,
  name: intruder.name,
  ids: eachResource.map(([, { idOf }]) => idOf(b)).join(),
}
/** Ranges that leave out no record of either organisation, by the parameters that set their ends. */
const widestRanges: Record<string, string> = {
  idFrom: '!',
  idTo: '~',
  updatedSince: '0001-01-01T00:00:00Z',
  updatedBefore: '9999-12-31T23:59:59Z',
  createdSince: '0001-01-01T00:00:00Z',
  createdBefore: '9999-12-31T23:59:59Z',
  bbox: '-180,-90,180,90',
}
/** Parameters whose values are words and numbers that belong to no organisation. */
const sharedValues = new Set([
  'dispatchType',
  'status',
  'sortBy',
  'sortOrder',
  'page',
  'perPage',
  'wait',
  'changedSince',
  'fields',
  'total',
  'expand',
  'embed',
  'answers',
  'unreadable',
  'f',
  'format',
  'limit',
  'bom',
  'formulas',
  'names',
  ...Object.keys(widestRanges),
])
/** Parameters that tests of their own are about. */
const testedBelow = new Set(['cursor', 'after', 'from', 'to', 'bounds', 'datetime'])

t.test('every filter with another organisation’s values finds nothing', async (t) => {
  const { app, get } = await testApp(t, { fill: fillTenants })
  // Documents of A that point at B’s, by which A may filter.
  const own = new Set([stolen.dispatch._id, stolen.entry._id])
  for (const [template, parameters] of (await operationsOf(app)).filter(([path]) => !path.includes('{id}'))) {
    const path = template.replace('{format}', 'ndjson')
    for (const { name } of parameters) {
      const value = foreignValues[name]
      const isKnown = value !== undefined || sharedValues.has(name) || testedBelow.has(name)
      t.ok(isKnown, `${path}: the parameter ${name} is in foreignValues or in sharedValues of this test`)
      if (value === undefined) continue
      const response = await get(`${path}?${name}=${encodeURIComponent(value)}`, A)
      if (path.startsWith('/v1/exports/')) {
        const foreign = linesOf(response.body).filter(({ id, entry }) => !own.has((id ?? entry) as string))
        t.same([response.statusCode, foreign], [200, []], `${path} by ${name}`)
        continue
      }
      const { features, data = features, _metadata } = response.json()
      const foreign = data.filter(({ id }: { id: string }) => !own.has(id))
      t.same(foreign, [], `${path} by ${name}`)
      if (path === ITEMS) continue
      t.equal(_metadata.total, data.length, `${path} by ${name}: the total counts no more than the page shows`)
    }
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

t.test('an organisation’s lists hold its own records alone, also of any time and place', async (t) => {
  const { get } = await reading
  for (const [resource, { query: schema }] of eachResource) {
    const ranges = Object.entries(widestRanges).filter(([name]) => name in schema.properties)
    for (const query of ['', ...ranges.map(([name, value]) => `?${name}=${value}`)]) {
      const { data, _metadata } = (await get(`/v1/${resource}${query}`, A)).json()
      t.ok(data.length > 0, resource + query)
      t.equal(_metadata.total, data.length, `${resource}${query}: the total`)
      t.ok(
        data.every(({ id }: { id: string }) => id.endsWith('-a')),
        resource + query,
      )
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

t.test('a digest counts the organisation’s own records alone, whatever ids bound it', async (t) => {
  const { get } = await testApp(t, { settings, fill: fillTenants })
  for (const [name, { idOf }] of eachResource) {
    const { length } = (await get(`/v1/${name}`, A)).json().data
    const id = encodeURIComponent(idOf(b))
    for (const query of ['', `?bounds=${id}`, `?from=${id}`, `?to=${id}~`, `?from=${id}&to=${id}~`]) {
      const { data } = (await get(`/v1/sync/${name}/digest${query}`, A)).json<{ data: { count: number }[] }>()
      const count = data.reduce((sum, range) => sum + range.count, 0)
      if (query === '' || query.startsWith('?bounds')) t.equal(count, length, `${name}${query}`)
      else if (query.includes('&')) t.equal(count, 0, `${name}${query}`)
      else t.ok(count <= length, `${name}${query}`)
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
