// Stored records that do not match the contract: the error names the record and the field at any depth, and no value is
// silently left out.
import t from 'tap'
import { expandable } from '../../schemas/entries.js'
import { testApp } from '../support/app.js'
import { inEach } from '../support/each.js'
import { A, a, B, b } from '../support/tenants.js'
import { isThorough } from '../support/thorough.js'

/** Fields of a stored record, and the errors of the list and of the record by id: empty if the field is not shown. */
const cases: [collection: 'dispatches' | 'entries', fields: object, list: string, byId: string][] = [
  ['dispatches', { instructions: 5 }, '', 'instructions is BSON int32, not an object'],
  [
    'dispatches',
    { recipients: { agents: [], agentGroups: 'x' } },
    ...both('recipients.agentGroups is BSON string, not an array'),
  ],
  [
    'dispatches',
    { recipients: { agents: {}, agentGroups: [] } },
    'recipients.agents is BSON document, not an array',
    'recipients.agents is not an array of ids',
  ],
  [
    'dispatches',
    { recipients: { agents: ['agent1-a', null], agentGroups: [] } },
    'recipients.agents.1._id is missing',
    'recipients.agents.1 is not an id',
  ],
  ['dispatches', { form: 5 }, 'form is BSON int32, not a string', 'form is not an id'],
  ['entries', { location: 'Kano' }, ...both('location is BSON string, not an object')],
  ['entries', { location: { coordinates: 5 } }, ...both('location.coordinates is BSON int32, not an object')],
  ['entries', { answers: 5 }, ...both('answers is BSON int32, not an array')],
  ['entries', { answers: [{ type: 'x', question: 'y' }, 'z'] }, ...both('answers.1 is BSON string, not an object')],
]

function both(error: string): [string, string] {
  return [error, error]
}

t.test('a value of the wrong type is an error that names its record and field', async (t) => {
  const { get, store } = await testApp(t)
  for (const [i, [collection, fields, list, byId]] of cases.entries()) {
    const organisation = `org-${i}`
    const _id = `wrong-${i}`
    const record = collection === 'dispatches' ? a.dispatch(1) : a.entry(1)
    await store.insert(collection, [{ ...record, ...fields, _id, organisation } as never])
    for (const [url, message] of [
      [`/v1/${collection}`, list],
      [`/v1/${collection}/${_id}`, byId],
    ] as const) {
      const expected = message === '' ? undefined : [{ in: 'record', name: `${collection}/${_id}`, message }]
      t.same((await get(url, organisation)).json().errors, expected, `${url} ${JSON.stringify(fields)}`)
    }
  }
})

t.test('a record that does not fit is named to its owner, and its other records are served', async (t) => {
  const { get, store } = await testApp(t)
  await store.insert('agents', [{ ...a.agent(1), firstName: 5 } as never])
  await store.insert('forms', [{ ...a.form, name: ['x'] } as never])
  const recipients = { agents: [a.agent(1)._id], agentGroups: [] }
  const wrong = { ...a.entry(2, { form: 'nothing', agent: 'nobody', dispatch: 'nothing' }), answers: 5 } as never
  await store.insert('dispatches', [a.dispatch(1, { recipients, form: 'nothing' }), a.dispatch(2)])
  await store.insert('entries', [a.entry(1, { agent: 'nobody', dispatch: 'nothing', status: 'fit' }), wrong])
  const agent = { name: 'agents/agent1-a', message: 'firstName is BSON int32, not a string' }
  const entry = { name: 'entries/entry2-a', message: 'answers is BSON int32, not an array' }
  const form = { name: 'forms/form-a', message: 'name is BSON array, not a string' }
  for (const [url, error] of [
    ['/v1/entries', entry],
    ['/v1/entries/entry2-a', entry],
    ['/v1/entries/entry1-a', form],
    ['/v1/dispatches/dispatch1-a', agent],
  ] as const) {
    const response = await get(url, A)
    t.equal(response.statusCode, 500, url)
    t.match(response.json(), { code: 'internal_error', detail: /^A stored record cannot be shown/ })
    t.same(response.json().errors, [{ in: 'record', ...error }], url)
  }
  t.equal((await get('/v1/entries?status=fit', A)).statusCode, 200)
  t.equal((await get('/v1/entries', B)).statusCode, 200)
  t.equal((await get('/v1/entries/entry2-a', B)).statusCode, 404)
})

/** What other writers may store in place of an id: among it, an object that looks like the record with the id. */
const notIds = [{ ...b.agent(1), firstName: 'Secret' }, { _id: 'x', firstName: 5 }, {}, ['agent1-a'], [], 5, false]

const inRecipients = (value: unknown) => ({ recipients: { agents: ['nobody', value], agentGroups: [] } })
/** The places of ids in stored records, and how an error names them. */
const idPlaces: [collection: 'dispatches' | 'projects' | 'entries', place: string, put?: (value: unknown) => object][] =
  [
    ...expandable.map((field) => ['entries', field] as ['entries', string]),
    ...['form', 'project', 'createdBy', 'modifiedBy'].map((field) => ['dispatches', field] as ['dispatches', string]),
    ...['createdBy', 'modifiedBy'].map((field) => ['projects', field] as ['projects', string]),
    ['dispatches', 'recipients.agents.1', inRecipients],
  ]

t.test(
  'what is stored in place of an id passes nowhere as a record, and the error names it',
  inEach(async (each, t) => {
    const { get, store } = await testApp(t, { settings: { SYNC_SETTLE_MS: '0' } })
    let organisations = 0
    for (const [n, [collection, place, put = (value: unknown) => ({ [place]: value })]] of idPlaces.entries()) {
      // Each place has two of them, so that each of them has several places.
      const tried = isThorough ? notIds : [0, 1].map((more) => notIds[(2 * n + more) % notIds.length])
      for (const value of tried) {
        const organisation = `org-${organisations++}`
        const record = { entries: a.entry(1), dispatches: a.dispatch(1), projects: a.project(1) }[collection]
        const id = `unfit-${organisation}`
        await store.insert(collection, [{ ...record, ...put(value), _id: id, organisation } as never])
        const until = (await store.now()).now
        while ((await store.now()).now <= until);
        const [field] = place.split('.')
        const title = `${collection} ${place} ${JSON.stringify(value)}`
        for (const path of [
          ...['', '?cursor=*', `?fields=${field}`, `/${id}`].map((rest) => `/v1/${collection}${rest}`),
          ...(collection === 'entries' ? [`?expand=${field}`, `?fields=${field}&expand=${expandable}`] : []).map(
            (rest) => `/v1/entries${rest}`,
          ),
        ]) {
          const response = await get(path, organisation)
          each.equal(response.statusCode, 500, `${title} ${path}`)
          const [{ name, message }] = response.json().errors
          each.equal(name, `${collection}/${id}`, `${title} ${path}`)
          each.ok(message.startsWith(place), `${title} ${path}: ${message}`)
          each.ok(!response.body.includes('Secret'), `${title} ${path}`)
        }
        const feed = await get(`/v1/sync/${collection}`, organisation)
        const [{ changedAt, ...item }] = feed.json().data
        each.equal({ ...item, message: '' }, { id, unreadable: true, message: '' }, title)
        each.ok(item.message.startsWith(place), `${title}: ${item.message}`)
      }
    }
  }),
)

t.test('null and an id that nobody has are left out wherever a record would be embedded', async (t) => {
  const { get, store } = await testApp(t)
  const none = { dispatch: null, form: 'nobody', project: null, agent: 'nobody' } as never
  await store.insert('entries', [a.entry(1, none)])
  for (const path of ['/v1/entries/entry1-a', `/v1/entries?expand=${expandable}`]) {
    const { data } = (await get(path, A)).json()
    const [entry] = [data].flat()
    t.notOk(
      expandable.some((field) => field in entry),
      path,
    )
  }
})
