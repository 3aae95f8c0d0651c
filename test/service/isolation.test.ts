// What one organisation can see of another: every operation of the service, with the other's ids and values.
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { testApp } from '../support/app.js'
import { eachResource } from '../support/resources.js'
import { A, a, B, b, fillTenants, intruder, stolen } from '../support/tenants.js'

interface Operation {
  get: { parameters: { name: string }[] }
}

/** The operations that need a key, by their paths in the OpenAPI document. */
const operationsOf = async (app: FastifyInstance): Promise<[string, Operation][]> => {
  await app.ready()
  const { paths } = app.swagger() as unknown as { paths: Record<string, Operation> }
  return Object.entries(paths).filter(([path]) => path.startsWith('/v1/'))
}

t.test('the resources that tests go through are those of the service', async (t) => {
  const { app } = await testApp(t)
  const paths = (await operationsOf(app)).map(([path]) => path)
  const expected = eachResource.flatMap(([name]) => [`/v1/${name}`, `/v1/${name}/{id}`])
  t.same(paths.sort(), expected.sort(), 'test/support/resources.ts lists every path')
})

t.test('another organisation’s id gets the same response as an unknown one, byte for byte', async (t) => {
  const { get } = await testApp(t, { fill: fillTenants })
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

/** What the other organisation has, by the parameters that filter by it. */
const foreignValues: Record<string, string> = {
  dispatch: b.dispatch(1)._id,
  form: b.form._id,
  project: b.project(1)._id,
  agent: b.agent(1)._id,
  name: intruder.name,
}
/** Parameters whose values are words and numbers that belong to no organisation. */
const sharedValues = new Set(['dispatchType', 'status', 'sortBy', 'sortOrder', 'page', 'perPage', 'total'])
/** Parameters whose values are bound to an organisation, which a test below tries. */
const boundValues = new Set(['cursor', 'after'])

t.test('every filter with another organisation’s values finds nothing', async (t) => {
  const { app, get } = await testApp(t, { fill: fillTenants })
  // Documents of A that point at B’s, by which A may filter.
  const own = new Set([stolen.dispatch._id, stolen.entry._id])
  for (const [path, operation] of (await operationsOf(app)).filter(([path]) => !path.includes('{id}'))) {
    for (const { name } of operation.get.parameters) {
      const value = foreignValues[name]
      const isKnown = value !== undefined || sharedValues.has(name) || boundValues.has(name)
      t.ok(isKnown, `${path}: the parameter ${name} is in foreignValues, sharedValues or boundValues of this test`)
      if (value === undefined) continue
      const { data, _metadata } = (await get(`${path}?${name}=${encodeURIComponent(value)}`, A)).json()
      const foreign = data.filter(({ id }: { id: string }) => !own.has(id))
      t.same(foreign, [], `${path} by ${name}`)
      t.equal(_metadata.total, data.length, `${path} by ${name}: the total counts no more than the page shows`)
    }
  }
})

t.test('a position of another organisation is refused in every list', async (t) => {
  const { get } = await testApp(t, { fill: fillTenants })
  for (const [name] of eachResource) {
    const { nextCursor } = (await get(`/v1/${name}?perPage=1&cursor=*`, A)).json()._metadata
    const { next } = (await get(`/v1/${name}?perPage=1`, A)).json()._metadata.pageLinks
    for (const path of [`/v1/${name}?perPage=1&cursor=${nextCursor}`, next.replace(/^https?:\/\/[^/]+/, '')]) {
      t.equal((await get(path, A)).statusCode, 200, `${path}: its own is taken`)
      t.match((await get(path, B)).json(), { status: 400, code: 'invalid_cursor' }, path)
    }
  }
})

t.test('an organisation’s lists hold its own records alone', async (t) => {
  const { get } = await testApp(t, { fill: fillTenants })
  for (const [resource] of eachResource) {
    const { data } = (await get(`/v1/${resource}`, A)).json()
    t.ok(data.length > 0, resource)
    t.ok(
      data.every(({ id }: { id: string }) => id.endsWith('-a')),
      resource,
    )
  }
})

t.test('documents of another organisation that a record points at stay out of its response', async (t) => {
  const { get } = await testApp(t, { fill: fillTenants })
  const entry = (await get(`/v1/entries/${stolen.entry._id}`, A)).json().data
  for (const field of ['dispatch', 'form', 'project', 'agent']) t.notOk(field in entry, `entry without ${field}`)

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
  const { get } = await testApp(t, { fill: fillTenants })
  for (const url of [`/v1/projects/${a.project(1)._id}`, '/v1/projects?name=Project%201']) {
    const { data } = (await get(url, A)).json()
    const { dispatches } = Array.isArray(data) ? data[0] : data
    t.same(dispatches, [{ id: 'dispatch1-a' }, { id: 'dispatch3-a' }], url)
  }
})
