// The plan of every query that the service makes, on the server of TEST_MONGODB_URI: indexes find the documents and give
// them in order. Each filter is tried with values that match many documents, few and none.
import { setTimeout } from 'node:timers/promises'
import type { Document } from 'mongodb'
import t from 'tap'
import { MAX_IDS } from '../schemas/common.js'
import { expandable } from '../schemas/entries.js'
import { dispatches } from '../src/pipelines/dispatches.js'
import { type Position, rangesAfter } from '../src/pipelines/keyset.js'
import { projects } from '../src/pipelines/projects.js'
import { type Condition, type Listing, orderOf, type Query, type Scope } from '../src/pipelines/stages.js'
import { digestOf, type FeedRange, hasNoStamps, newestIn, rowsIn } from '../src/pipelines/sync.js'
import type { Store } from '../src/store/store.js'
import {
  eachResource,
  filtersOf,
  isRange,
  isUnordered,
  type ResourceName,
  resources,
} from '../test/support/resources.js'
import { databaseOn } from '../test/support/store.js'
import { A, a, b } from '../test/support/tenants.js'
import { planErrors } from './support/plans.js'

const server = process.env.TEST_MONGODB_URI

/** PostgreSQL needs statistics to plan well, and updates them once a minute. MongoDB needs none. */
const STATISTICS_MS = 75_000

const scope: Scope = { organisation: A }
const values = (kind: string) => [`${kind}-1`, `${kind}-rare`, `${kind}-none`] as const

/** For each filter a value that matches many documents, one that matches few and one that matches none. */
const filterValues: Record<ResourceName, Record<string, readonly [string, string, string]>> = {
  entries: {
    dispatch: values('dispatch'),
    form: values('form'),
    project: values('project'),
    agent: values('agent'),
    status: values('status'),
  },
  dispatches: {
    dispatchType: ['survey', 'hybrid', 'prefilled'],
    name: values('name'),
    status: ['dispatched', 'suspended', 'draft'],
    form: values('form'),
    project: values('project'),
    agent: values('agent'),
  },
  projects: { name: values('name') },
  forms: { name: values('name'), status: values('status') },
  agents: { status: values('status') },
  users: { status: values('status') },
}

const day = (n: number) => new Date(Date.UTC(2025, 0, 1 + n))

/** Times that select many documents, a few and none. */
const timeSelections = (field: 'created' | 'updated') => [
  { [`${field}Since`]: day(10) },
  { [`${field}Since`]: day(100), [`${field}Before`]: day(103) },
  { [`${field}Before`]: day(-1) },
]
/** A position in the middle of every list: values by sort field, and an id. */
const middle: Record<string, Position['value']> = {
  createdAt: day(180),
  updatedAt: day(180),
  duration: 500,
  name: 'name-2',
  dispatchType: 'survey',
}
const middleId = 'm'

/** The value of document `n`: one document in a hundred has the rare value, the others share four. */
const value = (kind: string, n: number): string => (n % 100 === 7 ? `${kind}-rare` : `${kind}-${n % 4}`)

const range = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n))

/** Inserts documents that are in no order of time, name or duration, so that only an index can give one. */
const fill = async (store: Store): Promise<void> => {
  for (const { tenant, share } of [
    { tenant: a, share: 2 },
    { tenant: b, share: 1 },
  ]) {
    const dates = (n: number) => ({ createdAt: day((n * 7919) % 365), updatedAt: day((n * 104_729) % 365) })
    const entry = (n: number) =>
      tenant.entry(n, {
        dispatch: value('dispatch', n),
        form: value('form', n),
        project: value('project', n),
        agent: value('agent', n),
        status: value('status', n),
        duration: (n * 7919) % 1000,
        ...dates(n),
      })
    const dispatch = (n: number) =>
      tenant.dispatch(n, {
        name: value('name', n),
        form: value('form', n),
        project: value('project', n),
        dispatchType: n % 100 === 7 ? 'hybrid' : 'survey',
        status: n % 100 === 7 ? 'supended' : 'dispatched',
        recipients: { agents: range(4, (i) => value('agent', n + i)), agentGroups: [] },
        ...dates(n),
      })
    const project = (n: number) => ({
      ...tenant.project(n),
      name: value('name', n),
      ...dates(n),
    })
    const account = (n: number) => ({ status: value('status', n), ...dates(n) })
    const user = (n: number) => ({ ...tenant.user, _id: `${tenant.user._id}${n}`, ...account(n) })
    const agent = (n: number) => ({ ...tenant.agent(n), ...account(n) })
    const form = (n: number) => ({
      ...tenant.form,
      _id: `${tenant.form._id}${n}`,
      name: value('name', n),
      ...account(n),
    })
    await store.insert('users', [tenant.user, ...range(300 * share, user)])
    await store.insert('agents', range(300 * share, agent))
    await store.insert('forms', [tenant.form, ...range(300 * share, form)])
    await store.insert('projects', range(300 * share, project))
    await store.insert('dispatches', range(300 * share, dispatch))
    await store.insert('entries', range(2000 * share, entry))
  }
  // Every tenth entry of A is deleted.
  await store.remove(
    'entries',
    A,
    range(400, (n) => a.entry(10 * n)._id),
  )
  // Projects of A that dispatches of both organisations name.
  await store.insert(
    'projects',
    [0, 1, 2, 3].map((n) => ({ ...a.project(n), _id: `project-${n}` })),
  )
}

type Explain = (collection: string, pipeline: Document[], fields?: readonly string[]) => Promise<string[]>

const explainQuery = (explain: Explain, { collection, match, stages }: Query, after: readonly Document[] = stages) =>
  explain(collection, [{ $match: match }, ...after])

/**
 * Fields that need not bound an index scan. That a tombstone has no organisation leaves out none. On the compatible server,
 * an index on an array gives no order, so it finds the dispatches of an agent among all in the order of the list.
 */
const UNBOUNDED = ['organisation', 'recipients.agents']

/**
 * The errors of a query whose index scan must be bounded by all fields of its conditions, so that it reads no other rows.
 * What it joins to its rows is not explained. A union is explained together with the query, and alone for its bounds.
 */
const explainRange = async (explain: Explain, query: Query): Promise<string[]> => {
  const { collection, union } = query
  const own = await explain(collection, rowsOf(query), bounding(query))
  if (union === undefined) return own
  const both = [...rowsOf(query), { $unionWith: { coll: union.collection, pipeline: rowsOf(union) } }]
  return [...own, ...(await explain(collection, both)), ...(await explainRange(explain, union))]
}

/** The fields that must bound the index scans of a query. */
const bounding = ({ match }: Query): string[] =>
  (match.$and as Condition[]).flatMap(Object.keys).filter((field) => !UNBOUNDED.includes(field))

/** The stages of a query that select its rows. */
const rowsOf = ({ match, stages }: Query): Document[] => [
  { $match: match },
  ...stages.slice(0, stages.findIndex((stage) => '$limit' in stage || '$group' in stage) + 1),
]

t.test('there are values to try for every filter and every sort', async (t) => {
  for (const [name, { query }] of eachResource) {
    const filters = filtersOf(query).flatMap(([name, schema]) =>
      isUnordered(name) || isRange(name, schema) ? [] : name,
    )
    t.same(Object.keys(filterValues[name]).sort(), filters.sort(), `filterValues of ${name}`)
    const sorts: string[] = query.properties.sortBy?.enum
    for (const by of sorts) t.ok(by === 'id' || by in middle, `middle: ${by}, of ${name}`)
  }
})

// Thousands of plans, after the statistics: on a busy machine that takes longer than other test files may.
t.setTimeout(300_000)

const title = 'indexes serve every documented query (needs the server of TEST_MONGODB_URI)'
t.test(title, { skip: server === undefined }, async (t) => {
  const { store, client } = await databaseOn(t, String(server))
  await fill(store)
  const explain: Explain = async (collection, pipeline, fields) =>
    planErrors(await client.db().collection(collection).aggregate(pipeline).explain('executionStats'), fields)

  const listed = { sortBy: 'createdAt', sortOrder: 'asc', page: 1, perPage: 50 }
  const settled = async () => {
    const found = eachResource.flatMap(([, resource]) => [
      resource.list(scope, listed as never),
      rowsIn(scope, resource, 'changedAt', { stamp: null }, 50),
    ])
    return (await Promise.all(found.map((query) => explainQuery(explain, query)))).flat().length === 0
  }
  const deadline = performance.now() + STATISTICS_MS
  while (!(await settled()) && performance.now() < deadline) await setTimeout(500)

  t.test('a query that no index serves is recognised', async (t) => {
    const scan = /COLLSCAN|Seq Scan|foreign rows of _id_|lookup/
    const place = 'location.city'
    const own = { $match: { $and: [scope] } }
    t.match((await explain('entries', [{ $match: { [place]: 'Kano' } }])).join(), scan)
    t.match((await explain('entries', [own, { $sort: { [place]: 1 } }, { $limit: 50 }])).join(), /sort/i)
    for (const [from, foreignField] of [
      ['entries', place],
      ['dispatches', 'project'],
    ]) {
      const lookup = { $lookup: { from, localField: '_id', foreignField, as: 'found' } }
      t.match((await explain('projects', [own, { $sort: { _id: 1 } }, { $limit: 1 }, lookup])).join(), scan)
    }
  })

  for (const [name, { query, list, idOf }] of eachResource) {
    const filters = filterValues[name]
    const { sortBy, sortOrder } = query.properties
    const [sorts, orders]: [string[], string[]] = [sortBy?.enum, sortOrder?.enum]
    const first = Object.fromEntries(Object.entries(filters).map(([name, [value]]) => [name, value]))
    const selections: Record<string, string>[] = [
      {},
      ...Object.entries(filters).flatMap(([name, values]) => values.map((value) => ({ [name]: value }))),
      first,
    ]

    t.test(`a page of ${name} by each filter and all of them, in each order`, async (t) => {
      for (const selection of selections) {
        for (const by of sorts) {
          for (const order of orders) {
            const listing = { ...selection, sortBy: by, sortOrder: order, page: 1, perPage: 50 }
            const found = list(scope, listing as never)
            t.same(await explainQuery(explain, found), [], JSON.stringify(listing))
          }
        }
      }
    })

    // Few records or none have both values. Of those that have one value, most have the other that is as frequent.
    const pairs = Object.entries(filters).flatMap(([one, [many, few]], n, all) =>
      all.slice(n + 1).flatMap(([other, [more, fewer]]) => [
        { [one]: many, [other]: fewer },
        { [one]: few, [other]: more },
      ]),
    )
    const both = `${name} by any two filters, in the order of ids, and their count read only what matches both`
    if (pairs.length > 0)
      t.test(both, async (t) => {
        for (const selection of pairs) {
          for (const order of orders) {
            const found = list(scope, { ...selection, sortBy: 'id', sortOrder: order, page: 1, perPage: 50 } as never)
            t.same(await explainRange(explain, found), [], `${order} ${JSON.stringify(selection)}`)
            const count = [{ $match: found.match }, { $count: 'total' }]
            t.same(await explain(found.collection, count, bounding(found)), [], `count of ${JSON.stringify(selection)}`)
          }
        }
      })

    t.test(`a page of ${name} by time, in the order of that time, with each filter`, async (t) => {
      for (const field of ['created', 'updated'] as const) {
        for (const time of timeSelections(field)) {
          for (const selection of [{}, ...Object.entries(first).map(([name, value]) => ({ [name]: value }))]) {
            for (const order of orders) {
              const listing = { ...selection, ...time, sortBy: `${field}At`, sortOrder: order, page: 1, perPage: 50 }
              t.same(await explainRange(explain, list(scope, listing as never)), [], JSON.stringify(listing))
            }
          }
        }
      }
    })

    t.test(`a page of ${name} from a position, by each filter and all of them, in each order`, async (t) => {
      for (const selection of selections) {
        for (const by of sorts) {
          for (const order of orders) {
            const listing = { ...selection, sortBy: by, sortOrder: order, page: 1, perPage: 50 } as const
            const { field, direction } = orderOf(listing as never, false)
            const ofOneKind = by === 'id' ? [] : [{ $exists: false }, { $type: 'null' }]
            const ranges = [
              ...rangesAfter(field, direction, { value: middle[by] ?? null, id: middleId }),
              ...ofOneKind.map((kind) => ({ [field]: kind, _id: { $gt: middleId, $lte: 'p' } })),
            ]
            for (const range of ranges) {
              const slice = { range, isBackward: false, skip: 0, limit: 51 }
              const found = list(scope, listing as never, slice)
              const check = Object.keys(selection).length > 1 ? explainQuery : explainRange
              t.same(await check(explain, found), [], JSON.stringify([listing, range]))
            }
          }
        }
      }
    })

    t.test(`a page of ${name} by a range of ids, with each filter`, async (t) => {
      for (const selection of [{}, ...Object.entries(first).map(([name, value]) => ({ [name]: value }))]) {
        const listing = { ...selection, idFrom: 'c', idTo: 'f', sortBy: 'id', sortOrder: 'asc', page: 1, perPage: 50 }
        t.same(await explainRange(explain, list(scope, listing as never)), [], JSON.stringify(listing))
      }
    })

    t.test(`a page of ${name} by ids reads them alone`, async (t) => {
      const ids = range(MAX_IDS, (n) => idOf(n % 2 === 0 ? a : b).replace('1', String(n)))
      for (const order of orders) {
        const listing = { ids, sortBy: 'id', sortOrder: order, page: 1, perPage: 50 }
        t.same(await explainQuery(explain, list(scope, listing as never)), [], JSON.stringify(listing))
      }
    })

    t.test(`the count of ${name} by each filter and all of them`, async (t) => {
      for (const selection of [...selections, ...timeSelections('updated'), { ids: [idOf(a), idOf(b)] }]) {
        const listing: Listing = { ...selection, sortBy: 'id', sortOrder: 'asc', page: 1, perPage: 50 }
        const found = list(scope, listing as never)
        t.same(await explainQuery(explain, found, [{ $count: 'total' }]), [], JSON.stringify(selection))
      }
    })
  }

  t.test('the entries of a box: its index finds and counts them, and only their order may need a sort', async (t) => {
    const boxes = [
      { west: 0, south: 0, east: 1, north: 1 },
      { west: 8, south: 11, east: 9, north: 12 },
      { west: -180, south: -90, east: 180, north: 90 },
      { west: 179, south: -20, east: -179, north: -10 },
    ]
    for (const bbox of boxes) {
      // The compatible server does not bound a scan by ranges that are alternatives.
      const isCrossing = bbox.west > bbox.east
      const place = [...(isCrossing ? [] : ['location.coordinates.longitude']), 'location.coordinates.lattitude']
      for (const sortBy of ['id', 'createdAt']) {
        const found = resources.entries.list(scope, { bbox, sortBy, sortOrder: 'asc', page: 1, perPage: 50 } as never)
        const errors = (await explainQuery(explain, found)).filter((error) => !/^\$?sort$/i.test(error))
        t.same(errors, [], JSON.stringify({ bbox, sortBy }))
      }
      const { counted } = resources.entries.list(scope, { bbox, ...listed } as never)
      const count = [{ $match: counted }, { $count: 'total' }]
      t.same(await explain('entries', count, place), [], `count of ${JSON.stringify(bbox)}`)
    }
  })

  t.test('a record by its id, with all that is joined', async (t) => {
    for (const [name, { get, idOf }] of eachResource) {
      t.same(await explainQuery(explain, get(scope, idOf(a))), [], name)
    }
    t.same(await explainQuery(explain, projects.get(scope, 'project-1')), [], 'project that dispatches name')
  })

  for (const [name, resource] of eachResource) {
    t.test(`the feed and the digest of ${name}`, async (t) => {
      const $lt = new Date(Date.now() + 1000)
      const ranges: FeedRange[] = [
        { stamp: null },
        { stamp: null, afterId: 'entry5' },
        { stamp: { $gte: new Date(-8.64e15), $lt } },
        { stamp: { $gt: day(100), $lt } },
        { stamp: { $gte: $lt, $lt: new Date($lt.getTime() + 1000) } },
        { stamp: day(100), afterId: 'entry5' },
        { stamp: { $exists: false }, afterId: 'entry5', lastId: 'entry7' },
        { stamp: { $type: 'null' }, lastId: 'entry7' },
      ]
      for (const range of ranges) {
        for (const stamp of ['changedAt', 'updatedAt'] as const) {
          t.same(
            await explainRange(explain, rowsIn(scope, resource, stamp, range, 50)),
            [],
            `${stamp} ${JSON.stringify(range)}`,
          )
        }
        if (hasNoStamps(range)) continue
        t.same(
          await explainRange(explain, newestIn(scope, name, 'changedAt', range)),
          [],
          `newest of ${JSON.stringify(range)}`,
        )
      }
      for (const range of [{}, { from: 'a' }, { from: 'd', to: 'e' }]) {
        t.same(await explainRange(explain, digestOf(scope, name, range)), [], JSON.stringify(range))
      }
    })
  }

  t.test('the documents that replace ids in a page', async (t) => {
    const own = (collection: string, n: number) =>
      collection === 'users' ? a.user._id : `${collection.replace('entries', 'entry').replace(/e?s$/, '')}${n}-a`
    const queries = [
      ...eachResource.map(([, { list }]) => list(scope, { ...listed, expand: expandable } as never)),
      dispatches.get(scope, a.dispatch(1)._id),
    ]
    const references = queries.flatMap(({ references }) => references)
    t.equal(references.length, 7)
    for (const { find } of references) {
      const { collection } = find([])
      const found = find(range(200, (n) => own(collection, n)))
      t.same(await explainQuery(explain, found), [], collection)
    }
  })
})

t.test('a plan of MongoDB is read as well', async (t) => {
  const bounded = { stage: 'IXSCAN', indexName: 'organisation_1__id_1', indexBounds: { organisation: ['["a", "a"]'] } }
  const inOrder = { stage: 'LIMIT', inputStage: { stage: 'FETCH', inputStage: bounded } }
  const plan = (winningPlan: object) => ({
    command: { pipeline: [{ $match: { stage: 'COLLSCAN' } }, { $sort: { _id: 1 } }] },
    stages: [{ $cursor: { queryPlanner: { winningPlan, rejectedPlans: [{ stage: 'SORT' }] } } }],
  })
  t.same(planErrors(plan(inOrder)), [])
  t.same(planErrors(plan({ stage: 'SORT', inputStage: { stage: 'COLLSCAN' } })), ['SORT', 'COLLSCAN'])
  const whole = { ...bounded, indexName: '_id_', indexBounds: { _id: ['[MinKey, MaxKey]'] } }
  t.same(planErrors(plan({ stage: 'FETCH', inputStage: whole })), ['foreign rows of _id_'])
  t.same(planErrors(plan(inOrder), ['organisation']), [])
  const half = { ...bounded, indexBounds: { organisation: ['["a", "a"]'], name: ['[MinKey, MaxKey]'] } }
  t.same(planErrors(plan(half), ['organisation', 'name', '_id']), [
    'name does not bound the index',
    '_id does not bound the index',
  ])
  const others = { ...bounded, indexName: 'project_1', indexBounds: { project: ['["p", "p"]'] } }
  t.same(planErrors(plan({ stage: 'FETCH', inputStage: others })), ['foreign rows of project_1'])
  t.same(planErrors({ stages: [{ $cursor: plan(inOrder) }, { $sort: { sortKey: { name: 1 } } }] }), ['$sort'])
  const unaided = ['$lookup of too much']
  t.same(planErrors({ stages: [{ $lookup: {}, collectionScans: 2n, indexesUsed: [] }] }), unaided)
  t.same(planErrors(plan({ stage: 'EQ_LOOKUP', strategy: 'NestedLoopJoin', inputStage: bounded })), unaided)
  t.same(planErrors({ stages: [{ $lookup: {}, collectionScans: 0n, indexesUsed: ['project_1__id_1'] }] }), unaided)
  for (const name of ['_id_', 'organisation_1_project_1__id_1']) {
    t.same(planErrors({ stages: [{ $lookup: {}, collectionScans: 0n, indexesUsed: [name] }] }), [])
  }
})

t.test('a join that reads rows of others, or too much of its own, is found in a plan of PostgreSQL', async (t) => {
  const scan = { 'Node Type': 'Index Scan', Filter: 'bson_dollar_lookup_join_filter(document, …)' }
  const equality = '@*= bson_dollar_lookup_extract_filter_expression(…)'
  const own = "@= 'BSONHEX30000000026f7267616e69736174696f6e0019000000…'"
  const errors = (name: string, condition: string) =>
    planErrors({ Plan: { Plans: [{ ...scan, 'Index Name': name, 'Index Cond': condition }] } })
  t.same(errors('organisation_1_project_1__id_1', `(${own} AND ${equality})`), [])
  t.same(planErrors({ 'Index Name': 'organisation_1__id_1', 'Index Cond': own }, ['organisation', '_id']), [
    '_id does not bound the index',
  ])
  t.same(errors('_id_', `object_id = ANY (${equality})`), [])
  t.same(errors('organisation_1__id_1', own), ['$lookup of too much'])
  t.same(errors('project_1__id_1', equality), ['foreign rows of project_1__id_1'])
  const gathered = { 'Node Type': 'Function Scan', 'Function Name': 'bson_lookup_unwind' }
  t.same(planErrors({ Plan: { Plans: [gathered] } }), ['$lookup of too much'])
})
