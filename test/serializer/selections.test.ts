// Responses that have only some fields of each record.
import t from 'tap'
import { Agent } from '../../schemas/agents.js'
import { EntryListItem } from '../../schemas/entries.js'
import { page } from '../../schemas/envelope.js'
import type { Hidden } from '../../schemas/kit.js'
import { Project } from '../../schemas/projects.js'
import { compileSelections } from '../../src/serializer/selections.js'
import { listOf, plain } from '../support/stored.js'

const data = listOf([[plain({ _id: 'a', name: 'é', updatedAt: new Date(0) })]], 'projects')
const write = (fields: string[]) =>
  compileSelections(page(Project), Project)({ fields })({ success: true, data, _metadata: { total: 1 } }).toString()

t.test('the chosen fields are written in the order of the schema, and the id always', async (t) => {
  const rest = '],"_metadata":{"total":1}}'
  t.equal(write(['name']), `{"success":true,"data":[{"id":"a","name":"é"}${rest}`)
  t.equal(write(['name', 'id', 'name']), write(['name']))
  t.equal(write(['id']), `{"success":true,"data":[{"id":"a"}${rest}`)
  t.equal(
    write(['updatedAt', 'createdBy', 'name']),
    `{"success":true,"data":[{"id":"a","name":"é","updatedAt":"1970-01-01T00:00:00.000Z"}${rest}`,
    'a field without a value is left out',
  )
})

t.test('an expanded field holds records, and any other field ids', async (t) => {
  const form = {
    _id: 'f',
    dispatched: true,
    status: 'active',
    name: 'Water',
    createdAt: new Date(0),
    updatedAt: new Date(0),
  }
  const entries = listOf([[plain({ _id: 'a', form, project: 'p' })]], 'entries')
  const serializerOf = compileSelections(page(EntryListItem), EntryListItem)
  const expanded = (fields: string[], expand?: string[]) =>
    JSON.parse(serializerOf({ fields, expand })({ success: true, data: entries }).toString()).data
  t.match(expanded(['form', 'project'], ['form', 'agent']), [
    { id: 'a', form: { id: 'f', name: 'Water' }, project: 'p' },
  ])
  t.same(expanded(['form'], ['form', 'form']), expanded(['form'], ['form']), 'named twice is named once')
  t.throws(() => expanded(['form']), { message: 'entries a: form is BSON document, not a string' })
  t.throws(() => expanded(['project'], ['project']), { message: 'entries a: project is not an id' })
})

t.test(
  'without embedded records, their ids are written as they are stored, and nothing that a join finds',
  async (t) => {
    const stored = { _id: 'a', name: 'é', createdBy: 'u', createdAt: new Date(0), updatedAt: new Date(0) }
    const serializerOf = compileSelections(page(Project), Project)
    const shown = (project: object, fields?: string[]) => {
      const data = listOf([[plain(project)]], 'projects')
      return JSON.parse(serializerOf({ fields, embed: 'false' })({ success: true, data }).toString()).data
    }
    const time = '1970-01-01T00:00:00.000Z'
    t.strictSame(shown(stored), [{ id: 'a', name: 'é', createdBy: 'u', createdAt: time, updatedAt: time }])
    t.strictSame(shown(stored, ['createdBy', 'dispatches']), [{ id: 'a', createdBy: 'u' }])
    t.throws(() => shown({ ...stored, createdBy: { _id: 'u' } }), {
      message: 'projects a: createdBy is BSON document, not a string',
    })
  },
)

t.test('a chosen field that is required and not stored is an error', async (t) => {
  t.throws(() => write(['createdAt']), { message: 'projects a: createdAt is missing' })
})

t.test('one serializer serves a set of fields in any order, until others have taken its place', async (t) => {
  const serializerOf = compileSelections(page(Project), Project, 2)
  const first = serializerOf({ fields: ['name', 'createdAt'] })
  t.equal(serializerOf({ fields: ['createdAt', 'id', 'name'] }), first)
  t.not(serializerOf({ fields: ['name'] }), first)
  t.equal(serializerOf({ fields: ['name', 'createdAt'] }), first)
  serializerOf({ fields: ['createdAt'] })
  serializerOf({ fields: ['updatedAt'] })
  t.not(serializerOf({ fields: ['name', 'createdAt'] }), first)
})

t.test(
  'what a key does not see is never written, and has a serializer of its own among those that are kept',
  async (t) => {
    const serializerOf = compileSelections(page(Agent), Agent, 2)
    const agents = listOf([[plain({ _id: 'a', status: 'active', email: 1, phone: 1, location: 1 })]], 'agents')
    const write = (choice: object, without: Hidden[]) =>
      JSON.parse(serializerOf(choice, without)({ success: true, data: agents }).toString()).data
    const fields = ['status', 'email', 'location']
    for (const choice of [{ fields }, { fields, answers: 'list' }, { fields, embed: 'false' }]) {
      t.same(write(choice, ['personal', 'places']), [{ id: 'a', status: 'active' }])
    }
    t.throws(() => write({ fields }, ['personal']), { message: 'agents a: location is BSON int32, not an array' })
    t.equal(serializerOf({ fields }, ['personal']), serializerOf({ fields }, ['personal']))
    t.not(serializerOf({ fields }, ['places']), serializerOf({ fields }))
    const first = serializerOf({}, ['personal'])
    serializerOf({}, ['places'])
    serializerOf({})
    t.not(serializerOf({}, ['personal']), first, 'no more are kept than without such keys')
  },
)
