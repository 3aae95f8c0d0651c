// As one organisation against another: every operation of the service, over the other's ids and filters.
import t from 'tap'
import { testApp } from '../support/app.js'
import { A, a, B, b, fillTenants, intruder, stolen } from '../support/tenants.js'

const ids: Record<string, { own: string; foreign: string }> = {
  dispatches: { own: a.dispatch(1)._id, foreign: b.dispatch(1)._id },
  projects: { own: a.project(1)._id, foreign: b.project(1)._id },
  entries: { own: a.entry(1)._id, foreign: b.entry(1)._id },
}

/** The paths of the OpenAPI document that need a key. */
const operations = async (app: { swagger(): unknown }) => {
  const { paths } = app.swagger() as { paths: Record<string, unknown> }
  return Object.keys(paths).filter((path) => path.startsWith('/v1/'))
}

t.test('another organisation’s id gets the same answer as an unknown one, byte for byte', async (t) => {
  const { app, get } = await testApp(t, { fill: fillTenants })
  await app.ready()
  const byId = (await operations(app)).filter((path) => path.includes('{id}'))
  t.equal(byId.length, 3)
  for (const path of byId) {
    const { own, foreign } = ids[path.split('/')[2] as string] as { own: string; foreign: string }
    const ask = (id: string, organisation = A) =>
      get(path.replace('{id}', id), organisation, { headers: { 'x-request-id': 'same' } })
    t.equal((await ask(own)).statusCode, 200, `${path}: its own is found`)
    t.equal((await ask(foreign, B)).statusCode, 200, `${path}: the other’s exists`)
    const [denied, unknown] = [await ask(foreign), await ask('nobody')]
    t.equal(denied.statusCode, 404, path)
    t.equal(denied.body, unknown.body, path)
    t.same({ ...denied.headers, date: '' }, { ...unknown.headers, date: '' }, path)
  }
})

t.test('every filter with another organisation’s values finds nothing', async (t) => {
  const { app, get } = await testApp(t, { fill: fillTenants })
  await app.ready()
  const { paths } = app.swagger() as unknown as { paths: Record<string, { get: { parameters: { name: string }[] } }> }
  const values: Record<string, string> = {
    dispatch: b.dispatch(1)._id,
    form: b.form._id,
    project: b.project(1)._id,
    agent: b.agent(1)._id,
    name: intruder.name,
  }
  // What A’s own documents point at is A’s to filter by; these are the documents that do.
  const own = new Set([stolen.dispatch._id, stolen.entry._id])
  let asked = 0
  for (const path of (await operations(app)).filter((path) => !path.includes('{id}'))) {
    for (const { name } of paths[path]?.get.parameters ?? []) {
      if (values[name] === undefined) continue
      asked += 1
      const { data, _metadata } = (await get(`${path}?${name}=${values[name]}`, A)).json()
      const foreign = data.filter(({ id }: { id: string }) => !own.has(id))
      t.same(foreign, [], `${path} by ${name}`)
      t.equal(_metadata.total, data.length, `${path} by ${name}: the total counts no more than the page shows`)
    }
  }
  t.equal(asked, 9)
})

t.test('an organisation’s lists hold its own records alone', async (t) => {
  const { get } = await testApp(t, { fill: fillTenants })
  for (const resource of Object.keys(ids)) {
    const { data } = (await get(`/v1/${resource}`, A)).json()
    t.ok(data.length > 0, resource)
    t.ok(
      data.every(({ id }: { id: string }) => id.endsWith('-a')),
      resource,
    )
  }
})

t.test('documents of another organisation that a record points at stay out of its answer', async (t) => {
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
