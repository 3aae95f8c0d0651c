// The plans of the queries that the service makes, on the server of TEST_MONGODB_URI. For what the service takes for small,
// indexes find the documents and give them in order. Two filters read the range of one. All else is bounded by the time that a
// query may take. Each filter is tried with values that match many documents, few and none.
import { setTimeout } from 'node:timers/promises'
import type { Document } from 'mongodb'
import t from 'tap'
import { type Listing, MAX_IDS } from '../schemas/common.js'
import { expandable } from '../schemas/entries.js'
import { indexesOf } from '../src/core/documents/indexes.js'
import { type Position, rangesAfter } from '../src/core/pipelines/keyset.js'
import { type Condition, Query, type Scope, type Slice } from '../src/core/pipelines/stages.js'
import { isLargePage } from '../src/core/read/cost.js'
import { projectionOf } from '../src/core/read/projection.js'
import { selectionOf } from '../src/core/read/selection.js'
import { mongoStore } from '../src/core/store/mongo.js'
import type { Store } from '../src/core/store/store.js'
import { rangesOf } from '../src/sync/changes.js'
import { digestOf } from '../src/sync/digest.js'
import { changesIn, deletionsIn, rowAt } from '../src/sync/queries.js'
import { testApp } from '../test/support/app.js'
import { listQuery, recordQuery } from '../test/support/queries.js'
import {
  eachResource,
  filtersOf,
  isRange,
  isUnordered,
  type Resource,
  type ResourceName,
  resources,
} from '../test/support/resources.js'
import { databaseOn, mongoSettings } from '../test/support/store.js'
import { A, a, b } from '../test/support/tenants.js'
import { isThorough } from '../test/support/thorough.js'
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
    state: values('state'),
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
  for (const [tenant, share] of [
    [a, 2],
    [b, 1],
  ] as const) {
    const dates = (n: number) => ({ createdAt: day((n * 7919) % 365), updatedAt: day((n * 104_729) % 365) })
    const common = (n: number) => ({ name: value('name', n), status: value('status', n), ...dates(n) })
    const named = (n: number) => ({ form: value('form', n), project: value('project', n) })
    const entry = (n: number) => ({
      ...tenant.entry(n, { dispatch: value('dispatch', n), agent: value('agent', n), ...named(n), ...dates(n) }),
      status: value('status', n),
      location: { state: value('state', n) },
      duration: (n * 7919) % 1000,
    })
    const dispatch = (n: number) =>
      tenant.dispatch(n, {
        ...{ name: value('name', n), ...named(n), ...dates(n) },
        dispatchType: n % 100 === 7 ? 'hybrid' : 'survey',
        status: n % 100 === 7 ? 'supended' : 'dispatched',
        recipients: { agents: range(4, (i) => value('agent', n + i)), agentGroups: [] },
      })
    const many = range(300 * share, (n) => n)
    const { user, form } = tenant
    await store.insert('users', [
      user,
      ...many.map((n) => ({ ...user, ...dates(n), status: value('status', n), _id: user._id + n })),
    ])
    await store.insert(
      'agents',
      many.map((n) => ({ ...tenant.agent(n), status: value('status', n), ...dates(n) })),
    )
    await store.insert('forms', [form, ...many.map((n) => ({ ...form, ...common(n), _id: form._id + n }))])
    await store.insert(
      'projects',
      many.map((n) => ({ ...tenant.project(n), name: value('name', n), ...dates(n) })),
    )
    await store.insert('dispatches', many.map(dispatch))
    await store.insert('entries', range(2000 * share, entry))
  }
  // Every tenth entry of A is deleted.
  const deleted = range(400, (n) => a.entry(10 * n)._id)
  await store.remove('entries', A, deleted)
  // Projects of A that dispatches of both organisations name.
  const shared = range(4, (n) => ({ ...a.project(n), _id: `project-${n}` }))
  await store.insert('projects', shared)
}

type Explain = (collection: string, pipeline: Document[], fields?: readonly string[]) => Promise<string[]>

/**
 * Fields that need not bound an index scan. That a tombstone has no organisation leaves out none. On the compatible server,
 * an index on an array gives no order, so it finds the dispatches of an agent among all in the order of the list.
 */
const UNBOUNDED = ['organisation', 'recipients.agents']

/** The fields that must bound the index scans of a query. */
const bounding = ({ match }: Query): string[] =>
  (match.$and as Condition[]).flatMap(Object.keys).filter((field) => !UNBOUNDED.includes(field))

/** The stages of a query that select its rows. */
const rowsOf = ({ match, stages }: Query): Document[] => [
  { $match: match },
  ...stages.slice(0, stages.findIndex((stage) => '$limit' in stage || '$group' in stage) + 1),
]

const explainQuery = (explain: Explain, { collection, match, stages }: Query) =>
  explain(collection, [{ $match: match }, ...stages])

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

/** The query of a page of 50 records. */
const pageOf = (resource: Resource, listing: Listing, slice?: Slice): Query =>
  listQuery(resource as never, scope, listing as never, slice)

const inOrder = (sortBy: string, sortOrder: string, selection: object = {}): Listing =>
  ({ ...selection, sortBy, sortOrder, page: 1, perPage: 50 }) as Listing

const orders = ['asc', 'desc']
/** The orders of the `n`th listing of a test: both in a thorough run, else one and the other in turns. */
const ordersOf = (n: number): string[] => (isThorough ? orders : [orders[n % 2] as string])

/** Each selection in each order. */
const listingsOf = (selections: readonly object[], sorts: readonly string[]): Listing[] =>
  selections.flatMap((selection, n) =>
    sorts.flatMap((by, m) => ordersOf(n + m).map((order) => inOrder(by, order, selection))),
  )

/** Each filter of a resource with each of its values. */
const oneFilter = (name: ResourceName): object[] =>
  Object.entries(filterValues[name]).flatMap(([filter, values]) => values.map((value) => ({ [filter]: value })))

/** Two filters. Few records or none have both values; of those with one value, most have the other that is as frequent. */
const twoFilters = (name: ResourceName): object[] =>
  Object.entries(filterValues[name]).flatMap(([one, [many, few]], n, all) =>
    all.slice(n + 1).flatMap(([other, [more, fewer]]) => [
      { [one]: many, [other]: fewer },
      { [one]: few, [other]: more },
    ]),
  )

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

const skip = server === undefined && 'TEST_MONGODB_URI is not set'
t.test('queries read no more than they must', { skip }, async (t) => {
  const { uri, store, client } = await databaseOn(t, String(server))
  await fill(store)
  const explain: Explain = async (collection, pipeline, fields) =>
    planErrors(await client.db().collection(collection).aggregate(pipeline).explain('executionStats'), fields)
  const feedOf = (resource: Resource) => ({
    ...{ scope, collection: resource.collection },
    projection: projectionOf(resource as never, scope.without, { embed: 'false' }),
  })

  const settled = async () => {
    const found = eachResource.flatMap(([, resource]) => [
      pageOf(resource, inOrder('createdAt', 'asc')),
      changesIn(feedOf(resource), 'changedAt', { stamp: null }, 50),
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
      ['dispatches', 'status'],
    ]) {
      const lookup = { $lookup: { from, localField: '_id', foreignField, as: 'found' } }
      t.match((await explain('projects', [own, { $sort: { _id: 1 } }, { $limit: 1 }, lookup])).join(), scan)
    }
  })

  for (const [name, resource] of eachResource) {
    const sorts: string[] = resource.query.properties.sortBy?.enum
    const isSmall = (listing: Listing) =>
      !isLargePage({ knownIndexes: indexesOf }, selectionOf(resource as never, undefined, listing), listing.perPage)

    t.test(`a page of ${name} that counts as small reads its rows alone, in their order`, async (t) => {
      const flat = [
        ...[{}, ...oneFilter(name)].map((selection) => ['id', selection] as const),
        ...timeSelections('created').map((selection) => ['createdAt', selection] as const),
        ...timeSelections('updated').map((selection) => ['updatedAt', selection] as const),
        ...['createdAt', 'updatedAt'].map((by) => [by, {}] as const),
      ]
      for (const [by, selection] of flat)
        for (const order of orders) t.ok(isSmall(inOrder(by, order, selection)), `${by} ${JSON.stringify(selection)}`)
      const ranges = [...[...timeSelections('created'), ...timeSelections('updated')], { idFrom: 'c', idTo: 'f' }]
      const selections = [{}, ...oneFilter(name), ...ranges, ...twoFilters(name)]
      for (const listing of listingsOf(selections, sorts).filter(isSmall)) {
        t.same(await explainQuery(explain, pageOf(resource, listing)), [], JSON.stringify(listing))
        t.same(await explainRange(explain, pageOf(resource, listing)), [], `the range of ${JSON.stringify(listing)}`)
      }
    })

    t.test(`a page of ${name} by ids reads them alone, and sorts them if need be`, async (t) => {
      const ids = range(MAX_IDS, (n) => resource.idOf(n % 2 === 0 ? a : b) + n)
      for (const by of sorts) {
        const errors = await explainQuery(explain, pageOf(resource, inOrder(by, 'asc', { ids })))
        const others = errors.filter((error) => by === 'id' || !/^\$?sort$/i.test(error))
        t.same(others, [], by)
      }
    })

    t.test(`a page of ${name} by any two filters, without a total, reads the range of one of them`, async (t) => {
      for (const [n, selection] of twoFilters(name).entries()) {
        for (const order of ordersOf(n)) {
          const found = pageOf(resource, inOrder('id', order, selection))
          const fields = Object.values(resource.conditions(selection)).flatMap(Object.keys)
          const unbounded = fields.map((field) => `${field} does not bound the index`)
          const errors = await explain(found.collection, rowsOf(found), bounding(found))
          const others = errors.filter((error) => !unbounded.includes(error))
          const title = `${order} ${JSON.stringify(selection)}`
          t.same(others, [], title)
          t.notOk(
            unbounded.every((error) => errors.includes(error)),
            `${title}: one of them bounds it`,
          )
        }
      }
    })

    t.test(`a page of ${name} from a position costs the same`, async (t) => {
      for (const listing of listingsOf([{}, ...oneFilter(name)], sorts).filter(isSmall)) {
        const { field, direction } = selectionOf(resource as never, undefined, listing).order
        const isOfOneKind = field === '_id'
        const ranges = [
          ...rangesAfter(field, direction, { value: middle[field] ?? null, id: middleId }),
          ...(isOfOneKind ? [] : [{ $exists: false }, { $type: 'null' }]).map((kind) => ({
            [field]: kind,
            _id: { $gt: middleId, $lte: 'p' },
          })),
        ]
        for (const range of ranges) {
          const slice = { range, isBackward: false, skip: 0, limit: 51 }
          t.same(await explainRange(explain, pageOf(resource, listing, slice)), [], JSON.stringify([listing, range]))
        }
      }
    })

    t.test(`the count of ${name} by one filter reads what matches`, async (t) => {
      for (const selection of [{}, ...oneFilter(name), ...timeSelections('updated'), ...timeSelections('created')]) {
        const counted = Query.in(scope, name, Object.values(resource.conditions(selection)), [])
        const count = [{ $match: counted.counted }, { $count: 'total' }]
        t.same(await explain(name, count), [], JSON.stringify(selection))
      }
    })

    t.test(`the feed and the digest of ${name}`, async (t) => {
      const feed = feedOf(resource)
      const times = { horizon: day(300).getTime(), now: Date.now() }
      const positions = [null, day(100).getTime()].flatMap((stamp) => [null, 'entry5'].map((id) => ({ stamp, id })))
      const fresh = { stamp: day(310).getTime(), id: 'entry5' }
      const ranges = positions.flatMap((settled) =>
        [null, fresh].flatMap((fresh) => rangesOf({ since: 0, isSettledOnly: fresh === null, settled, fresh }, times)),
      )
      for (const range of ranges) {
        const shown = JSON.stringify(range)
        const isWithoutStamp = range.stamp === null
        for (const stamp of ['changedAt', 'updatedAt'] as const) {
          const changes = changesIn(feed, stamp, range, 50)
          const query = isWithoutStamp ? changes : changes.and(deletionsIn(feed, stamp, range, 50))
          t.same(await explainRange(explain, query), [], `${stamp} ${shown}`)
        }
        if (isWithoutStamp) continue
        t.same(await explainRange(explain, rowAt(feed, 'changedAt', range, 0, -1)), [], `newest of ${shown}`)
      }
      for (const range of [{}, { from: 'a' }, { from: 'd', to: 'e' }])
        t.same(await explainRange(explain, digestOf(scope, name, range)), [], JSON.stringify(range))
    })
  }

  t.test('the entries of a box: its index finds them, and only their order may need a sort', async (t) => {
    const boxes = [
      { west: 0, south: 0, east: 1, north: 1 },
      { west: 8, south: 11, east: 9, north: 12 },
      { west: 179, south: -20, east: -179, north: -10 },
    ]
    for (const bbox of boxes) {
      for (const sortBy of ['id', 'createdAt']) {
        const found = pageOf(resources.entries, inOrder(sortBy, 'asc', { bbox }))
        const errors = (await explainQuery(explain, found)).filter((error) => !/^\$?sort$/i.test(error))
        t.same(errors, [], JSON.stringify({ bbox, sortBy }))
      }
    }
  })

  t.test('a record by its id, and the documents that replace ids in a page', async (t) => {
    const own = (collection: string, n: number) =>
      collection === 'users' ? a.user._id : `${collection.replace('entries', 'entry').replace(/e?s$/, '')}${n}-a`
    const references: Query['references'][number][] = []
    for (const [name, resource] of eachResource) {
      const record = recordQuery(resource as never, scope, resource.idOf(a))
      t.same(await explainQuery(explain, record), [], name)
      const page = pageOf(resource, inOrder('id', 'asc', { expand: expandable }))
      references.push(...record.references, ...page.references)
    }
    t.same(await explainQuery(explain, recordQuery(resources.projects as never, scope, 'project-1')), [])
    t.equal(references.length, 7)
    for (const { find } of references) {
      const { collection } = find([])
      t.same(await explainQuery(explain, find(range(200, (n) => own(collection, n)))), [], collection)
    }
  })

  t.test('what no index serves ends within QUERY_TIMEOUT_MS, and its problem says what would help', async (t) => {
    const slow = mongoStore(mongoSettings(uri, { QUERY_TIMEOUT_MS: '1' }))
    t.teardown(() => slow.close())
    const aggregate: Store['aggregate'] = (query, reading) =>
      (query.collection === 'entries' ? slow : store).aggregate(query, reading)
    const { get } = await testApp(t, { store: { ...store, aggregate } })
    const response = await get('/v1/entries?status=status-1&sortBy=duration&total=false', A)
    t.equal(response.statusCode, 503)
    t.match(response.json(), {
      code: 'query_timeout',
      detail: /for status, sortBy: the index 'entries: status, duration' would serve it/,
    })
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
  const joined = { stage: 'IXSCAN', indexName: 'organisation_1_project_1__id_1' }
  const join = { stage: 'EQ_LOOKUP', strategy: 'IndexedLoopJoin', inputStage: bounded, rightStage: joined }
  t.same(planErrors(plan(join), ['organisation']), [])
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
