// What all lists have in common: what the database sends for a choice of fields.
import t from 'tap'
import { getEntry, listEntries } from '../../src/pipelines/entries.js'
import { listProjects } from '../../src/pipelines/projects.js'
import type { Query } from '../../src/pipelines/stages.js'
import { objectsOf } from '../support/bson.js'
import { testStore } from '../support/store.js'
import { A, fillTenants } from '../support/tenants.js'

const scope = { organisation: A }
const listing = { sortBy: 'id', sortOrder: 'asc', page: 1, perPage: 50 } as const

t.test(
  'the database sends the chosen fields, the id and the field of the sort, and joins nothing for others',
  async (t) => {
    const store = testStore(t)
    await fillTenants(store)
    const sent = async (query: Query) => Object.keys(objectsOf(await store.aggregate(query))[0] ?? {}).sort()
    t.same(await sent(listEntries(scope, { ...listing, fields: ['updatedAt'] })), ['_id', 'updatedAt'])
    t.same(await sent(listEntries(scope, { ...listing, sortBy: 'duration', fields: ['id', 'form'] })), [
      '_id',
      'duration',
      'form',
    ])
    t.same(await sent(listProjects(scope, { ...listing, fields: ['name'] })), ['_id', 'name'])
    t.same(await sent(listProjects(scope, { ...listing, fields: ['dispatches'] })), ['_id', 'dispatches'])
  },
)

t.test('of an embedded record the database sends the fields of the response', async (t) => {
  const store = testStore(t)
  await fillTenants(store)
  const [entry] = objectsOf(await store.aggregate(getEntry(scope, 'entry1-a'))) as { agent: object }[]
  const fields = ['_id', 'createdAt', 'email', 'firstName', 'lastName', 'location', 'phone', 'status', 'updatedAt']
  t.same(Object.keys(entry?.agent ?? {}).sort(), fields)
})

t.test('each field to expand is looked up once, however often it is named', async (t) => {
  const { references } = listEntries(scope, { ...listing, expand: ['form', 'agent', 'form'] })
  t.same(
    references.map(({ fields, find }) => [fields, find(['x']).collection]),
    [
      [['form'], 'forms'],
      [['agent'], 'agents'],
    ],
  )
})
