// All pipelines: each query has a scope and only reads.
import t from 'tap'
import { expandable } from '../../../schemas/entries.js'
import type { CollectionName, Only } from '../../../src/core/documents/collections.js'
import { hasBeenWithin, isInScope, narrowed, Query, type Stage } from '../../../src/core/pipelines/stages.js'
import { eachResource, filtersOf, filterValue } from '../../support/resources.js'

const scope = { organisation: 'org' }

const queries = Object.fromEntries(
  eachResource.flatMap(([name, { query, list, get }]): [string, Query][] => {
    const filters = Object.fromEntries(filtersOf(query).map(([name, schema]) => [name, filterValue(schema)]))
    const all = list(scope, { ...filters, expand: expandable })
    return [
      [`list of ${name}`, all],
      [`one of ${name}`, get(scope, 'x')],
      ...all.references.map(({ fields, find }): [string, Query] => [`${fields} of ${name}`, find(['x'])]),
    ]
  }),
)

t.test('Every query is limited to one organisation, whatever its filters are', async (t) => {
  for (const [name, { match }] of Object.entries(queries)) {
    const conditions = match.$and as object[]
    t.same(Object.keys(match), ['$and'], name)
    t.same(conditions.at(-1), { organisation: 'org' }, name)
  }
})

t.test('Every join is checked for the organisation', async (t) => {
  let joins = 0
  for (const [name, { stages }] of Object.entries(queries)) {
    stages.forEach((stage, i) => {
      const join = stage.$lookup
      if (join === undefined) return
      joins += 1
      const check = { input: `$${join.as}`, cond: { $eq: ['$$this.organisation', { $literal: 'org' }] } }
      t.match(JSON.stringify(stages[i + 1]), JSON.stringify({ $filter: check }), `${name}: ${join.as}`)
    })
  }
  t.ok(joins > 0)
})

t.test(
  'A join reads one document by its id, or only documents of the organisation and few fields of each',
  async (t) => {
    const joins = Object.values(queries).flatMap(({ stages }) => stages.flatMap(({ $lookup }) => $lookup ?? []))
    const others = joins.filter(({ foreignField }) => foreignField !== '_id')
    t.same(new Set(others.map(({ as }) => as)), new Set(['dispatches']))
    for (const { pipeline, foreignField } of others) {
      t.same(pipeline, [
        { $match: { $and: [{ organisation: 'org' }] } },
        { $project: { organisation: 1, [foreignField]: 1 } },
      ])
    }
  },
)

t.test('A stage that writes is an error, even if a cast hides it from the compiler', async (t) => {
  for (const stage of [{ $out: 'entries' }, { $merge: { into: 'entries' } }]) {
    t.throws(() => Query.in(scope, 'entries', [], [stage as unknown as Stage]), {
      message: /^A query must not contain/,
    })
  }
})

t.test('A query for tombstones is limited to one organisation, and cannot write', async (t) => {
  const { match } = Query.deletedFrom(scope, 'entries', [{ deletedFrom: 'other' }], [])
  t.same((match.$and as object[]).at(-1), { deletedFrom: 'org', organisation: { $exists: false } })
  const writing = { $out: 'entries' } as unknown as Stage
  t.throws(() => Query.deletedFrom(scope, 'entries', [], [writing]), { message: /^A query must not contain/ })
})

t.test('A scope is narrowed to what all of its restrictions allow', async (t) => {
  t.equal(narrowed(scope, {}), scope)
  t.same(narrowed(scope, { project: ['b', 'a', 'b'] }), { ...scope, only: { project: ['a', 'b'] } })
  const only = { project: ['a', 'b'], form: ['f'] }
  t.same(narrowed({ ...scope, only }, { project: ['c', 'b'] }).only, { project: ['b'], form: ['f'] })
  t.same(narrowed({ ...scope, only }, {}).only, only)
})

t.test('A query in a narrower scope has a condition for each restriction, or is refused', async (t) => {
  const within = (collection: CollectionName, only: Only) =>
    (Query.in({ ...scope, only }, collection, [], []).match.$and as object[]).slice(0, -2)
  const notArray = (field: string) => ({ [field]: { $not: { $type: 'array' } } })
  t.same(within('entries', { project: ['a'] }), [{ project: 'a' }, notArray('project')])
  const both = [{ project: { $in: ['a', 'b'] } }, notArray('project'), { form: 'f' }, notArray('form')]
  t.same(within('dispatches', { project: ['a', 'b'], form: ['f'] }), both)
  t.same(within('projects', { project: ['a'] }), [{ _id: 'a' }])
  t.same(within('forms', { form: ['f'] }), [{ _id: 'f' }])
  for (const [collection, only] of [
    ['agents', { project: ['a'] }],
    ['users', { form: ['f'] }],
    ['forms', { project: ['a'] }],
    ['projects', { project: ['a'], form: ['f'] }],
  ] as const) {
    t.equal(isInScope(collection, { ...scope, only }), false)
    t.throws(() => within(collection, only), { code: 'not_in_scope', status: 403 })
  }
  t.equal(isInScope('forms', { ...scope, only: { form: ['f'] } }), true)
  t.same(hasBeenWithin({ ...scope, only: { form: ['f'] } }, 'forms'), [{ _id: 'f' }])
})
