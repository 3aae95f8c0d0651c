// The contract's field tables, written by hand: each response has every field with its type, and no other field.
import t from 'tap'
import { testApp } from '../support/app.js'
import { eachResource } from '../support/resources.js'
import { A, a, fillTenants } from '../support/tenants.js'

/** The shape of a field: the name of a type, an object of fields, or an array whose items have the same shape. */
type Shape = string | { [field: string]: Shape } | [Shape]

const timestamps = { createdAt: 'timestamp', updatedAt: 'timestamp' }
const person = { id: 'string', status: 'string', firstName: 'string', lastName: 'string', email: 'string' }
const dispatchUser = { ...person, ...timestamps, lastLogin: 'timestamp' }
const user = { ...dispatchUser, role: { name: 'string' } }
const entryAgent = {
  ...person,
  phone: 'string',
  location: [{ country: 'string', zone: 'string', state: 'string', city: 'string' }] as [Shape],
  ...timestamps,
}
const agent = { ...entryAgent, lastLogin: 'timestamp' }
const entryForm = {
  id: 'string',
  dispatched: 'boolean',
  status: 'string',
  name: 'string',
  reason: 'string',
  ...timestamps,
}
const form = { ...entryForm, sector: 'string' }
const dispatchProject = { id: 'string', name: 'string', ...timestamps }

const dispatchCommon = {
  id: 'string',
  dispatchType: 'string',
  status: 'string',
  name: 'string',
  createdBy: dispatchUser,
  modifiedBy: dispatchUser,
  ...timestamps,
}
const dispatchListItem: Shape = {
  ...dispatchCommon,
  recipients: { agents: [{ id: 'string' }], agentGroups: [{ id: 'string' }] },
  form: 'string',
  project: 'string',
  totalExpectedEntries: 'number',
}
const dispatch: Shape = {
  ...dispatchCommon,
  instructions: { instructions: 'string', attachments: ['string'] },
  recipients: { agents: [agent], agentGroups: [{ id: 'string' }] },
  startDate: 'timestamp',
  dueDate: 'timestamp',
  form,
  project: dispatchProject,
}
const project: Shape = {
  id: 'string',
  dispatches: [{ id: 'string' }],
  name: 'string',
  createdBy: user,
  modifiedBy: user,
  ...timestamps,
}
const entryCommon = {
  id: 'string',
  status: 'string',
  location: {
    address: 'string',
    country: 'string',
    state: 'string',
    lga: 'string',
    city: 'string',
    coordinates: { longitude: 'number', lattitude: 'number' },
  },
  answers: [{ type: 'string', question: 'string', answer: 'answer' }] as [Shape],
  duration: 'number',
  ...timestamps,
}
const entryListItem: Shape = {
  ...entryCommon,
  dispatch: 'string',
  form: 'string',
  project: 'string',
  agent: 'string',
}
const entry: Shape = {
  ...entryCommon,
  dispatch: {
    id: 'string',
    dispatchType: 'string',
    status: 'string',
    name: 'string',
    totalExpectedEntries: 'number',
    ...timestamps,
  },
  form: entryForm,
  project: { ...dispatchProject, modifiedBy: 'string' },
  agent: entryAgent,
}
const pageLinks = { current: 'string', next: 'string', previous: 'string' }
/** Those of the contract, and those of a walk. */
const metadata: Shape = {
  ...{ total: 'number', perPage: 'number', pageCount: 'number', pageLinks },
  ...{ hasMore: 'boolean', nextCursor: 'string' },
}
const list = (item: Shape): Shape => ({ success: 'true', data: [item], _metadata: metadata })
const one = (resource: Shape): Shape => ({ success: 'true', data: resource })

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** The shape of a value, in the words of the tables. */
const shapeOf = (value: unknown): Shape => {
  if (value === true) return 'boolean'
  if (Array.isArray(value)) return value.map(shapeOf) as [Shape]
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, shapeOf(field)]))
  }
  return typeof value === 'string' && TIMESTAMP.test(value) ? 'timestamp' : typeof value
}

/** The differences between a value and a shape, each with its path. */
const differences = (value: unknown, shape: Shape, path: string): string[] => {
  if (shape === 'true') return value === true ? [] : [`${path} is not true`]
  if (shape === 'answer') {
    const isAnswer = typeof value === 'string' || (Array.isArray(value) && value.every((v) => typeof v === 'string'))
    return isAnswer ? [] : [`${path} is no answer`]
  }
  if (typeof shape === 'string') return shapeOf(value) === shape ? [] : [`${path} is no ${shape}`]
  if (Array.isArray(shape)) {
    if (!Array.isArray(value) || value.length === 0) return [`${path} is no array with items`]
    return value.flatMap((item, i) => differences(item, shape[0], `${path}[${i}]`))
  }
  if (typeof value !== 'object' || value === null) return [`${path} is no object`]
  const fields = value as Record<string, unknown>
  return [
    ...Object.keys(fields)
      .filter((name) => !(name in shape))
      .map((name) => `${path}.${name} is not in the contract`),
    ...Object.entries(shape).flatMap(([name, inner]) => differences(fields[name], inner, `${path}.${name}`)),
  ]
}

const responses: [string, Shape][] = [
  ['/v1/dispatches?name=Dispatch%201&perPage=1', list(dispatchListItem)],
  [`/v1/dispatches/${a.dispatch(1)._id}`, one(dispatch)],
  ['/v1/projects?name=Project%201', list(project)],
  [`/v1/projects/${a.project(1)._id}`, one(project)],
  [`/v1/entries?dispatch=${a.dispatch(1)._id}&perPage=1`, list(entryListItem)],
  [`/v1/entries/${a.entry(1)._id}`, one(entry)],
  [`/v1/entries?dispatch=${a.dispatch(1)._id}&perPage=1&expand=dispatch,form,project,agent`, list(entry)],
  ['/v1/forms?status=active', list(form)],
  [`/v1/forms/${a.form._id}`, one(form)],
  ['/v1/agents?status=active', list(agent)],
  [`/v1/agents/${a.agent(1)._id}`, one(agent)],
  ['/v1/users?status=active', list(user)],
  [`/v1/users/${a.user._id}`, one(user)],
]

/** The application of all tests. */
const reading = testApp(t, { fill: fillTenants })

t.test('each response has the fields of the contract and no other', async (t) => {
  const { get } = await reading
  const asked = (path: string) => responses.some(([url]) => url.startsWith(path))
  for (const [name] of eachResource) t.ok(asked(`/v1/${name}?`) && asked(`/v1/${name}/`), `${name}: both are asked for`)
  for (const [url, shape] of responses) {
    const response = await get(url, A)
    t.equal(response.statusCode, 200, url)
    const body = response.json()
    // A page has what leads to its neighbours only if they exist, which another test checks.
    if (body._metadata) {
      const { _metadata } = body
      const links = { next: 'x', previous: 'x', ..._metadata.pageLinks }
      body._metadata = { nextCursor: 'x', ..._metadata, pageLinks: links }
    }
    t.same(differences(body, shape, url), [])
  }
})

t.test('a record that a list expands is the same as in the entry by id', async (t) => {
  const { get } = await reading
  const { data } = (await get('/v1/entries?expand=dispatch,form,project,agent', A)).json()
  t.equal(data.length, 4)
  for (const entry of data) t.same(entry, (await get(`/v1/entries/${entry.id}`, A)).json().data, entry.id)
})

t.test('the answer to a singleChoice question is a string, to a multiChoice question an array', async (t) => {
  const { get } = await reading
  const { data } = (await get(`/v1/entries/${a.entry(1)._id}`, A)).json()
  t.same(data.answers, a.entry(1).answers)
})

t.test('the recipients of a dispatch keep their stored order', async (t) => {
  const { get } = await reading
  const { data } = (await get(`/v1/dispatches/${a.dispatch(1)._id}`, A)).json()
  t.same(
    data.recipients.agents.map(({ id }: { id: string }) => id),
    ['agent2-a', 'agent1-a'],
  )
})
