// What all resources have in common: the conditions of their filters, and what the database sends for a list and a feed.
import t from 'tap'
import { dispatches } from '../../src/pipelines/dispatches.js'
import { entries } from '../../src/pipelines/entries.js'
import { projects } from '../../src/pipelines/projects.js'
import { type FeedResource, rowsIn } from '../../src/pipelines/sync.js'

const scope = { organisation: 'org' }
const listing = { sortBy: 'id', sortOrder: 'asc', page: 1, perPage: 50 } as const

t.test('since is inclusive and before is exclusive', async (t) => {
  const [one, other] = [new Date(1), new Date(2)]
  const times = { updatedSince: one, updatedBefore: other, createdSince: other, createdBefore: one }
  t.same((entries.list(scope, { ...listing, ...times, ids: ['a', 'b'] }).match.$and as unknown[]).slice(0, 5), [
    { _id: { $in: ['a', 'b'] } },
    { updatedAt: { $gte: one } },
    { updatedAt: { $lt: other } },
    { createdAt: { $gte: other } },
    { createdAt: { $lt: one } },
  ])
})

t.test('the database sends the chosen fields, the id and the field of the sort', async (t) => {
  const sent = (fields: string[], sortBy: 'id' | 'duration' = 'id') =>
    entries.list(scope, { ...listing, sortBy, fields }).stages.at(-1)
  t.same(sent(['updatedAt']), { $project: { _id: 1, updatedAt: 1 } })
  t.same(sent(['id', 'form'], 'duration'), { $project: { _id: 1, form: 1, duration: 1 } })
})

t.test('nothing is joined for a field that is not shown', async (t) => {
  const stagesOf = (fields: string[]) => [
    projects.list(scope, { ...listing, fields }).stages.map((stage) => Object.keys(stage)[0]),
    dispatches.list(scope, { ...listing, fields }).stages.map((stage) => Object.keys(stage)[0]),
  ]
  const page = ['$sort', '$skip', '$limit']
  t.same(stagesOf(['name']), [
    [...page, '$project'],
    [...page, '$project'],
  ])
  t.same(stagesOf(['dispatches', 'recipients']), [
    [...page, '$lookup', '$set', '$project'],
    [...page, '$set', '$set', '$project'],
  ])
})

t.test('each field to expand is looked up once, however often it is named', async (t) => {
  const { references } = entries.list(scope, { ...listing, expand: ['form', 'agent', 'form'] })
  t.same(
    references.map(({ fields, find }) => [fields, find(['x']).collection]),
    [
      [['form'], 'forms'],
      [['agent'], 'agents'],
    ],
  )
})

t.test(
  'a feed has the shape of the list without joins, with the stamp; where nothing is made, records are sent as they are',
  async (t) => {
    const read = (resource: FeedResource) => rowsIn(scope, resource, 'changedAt', { stamp: null }, 2)
    const stagesOf = (resource: FeedResource) => read(resource).stages.slice(2)
    for (const resource of [entries, projects]) t.same(stagesOf(resource), [], resource.name)
    const listed = dispatches.list(scope, { ...listing, embed: 'false' })
    const fields = listed.stages.at(-1)?.$project
    t.same(stagesOf(dispatches), [...listed.stages.slice(3, -1), { $project: { ...fields, changedAt: 1 } }])
    for (const resource of [entries, projects, dispatches]) t.same(read(resource).references, [], resource.name)
  },
)
