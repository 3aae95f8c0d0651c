// The plan of every query that the service makes, on the server of TEST_MONGODB_URI: indexes find the documents and give
// them in order. Each filter is tried with values that match many documents, few and none.
import { setTimeout } from 'node:timers/promises'
import { type Document, MongoClient } from 'mongodb'
import t from 'tap'
import { getDispatch, listDispatches } from '../../src/pipelines/dispatches.js'
import { getEntry } from '../../src/pipelines/entries.js'
import { type Position, rangesAfter } from '../../src/pipelines/keyset.js'
import { getProject, listProjects } from '../../src/pipelines/projects.js'
import { type Listing, orderOf, type Query, type Scope } from '../../src/pipelines/stages.js'
import { mongoStore } from '../../src/store/mongo.js'
import type { Store } from '../../src/store/store.js'
import { planFaults } from '../support/plans.js'
import { eachResource, filtersOf, type ResourceName } from '../support/resources.js'
import { mongoSettings, ownDatabase } from '../support/store.js'
import { A, a, b } from '../support/tenants.js'

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
}

const day = (n: number) => new Date(Date.UTC(2025, 0, 1 + n))

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
    const entry = (n: number) =>
      tenant.entry(n, {
        dispatch: value('dispatch', n),
        form: value('form', n),
        project: value('project', n),
        agent: value('agent', n),
        status: value('status', n),
        duration: (n * 7919) % 1000,
        createdAt: day((n * 7919) % 365),
        updatedAt: day((n * 104_729) % 365),
      })
    const dispatch = (n: number) =>
      tenant.dispatch(n, {
        name: value('name', n),
        form: value('form', n),
        project: value('project', n),
        dispatchType: n % 100 === 7 ? 'hybrid' : 'survey',
        status: n % 100 === 7 ? 'supended' : 'dispatched',
        recipients: { agents: range(4, (i) => value('agent', n + i)), agentGroups: [] },
        createdAt: day((n * 7919) % 365),
      })
    const project = (n: number) => ({
      ...tenant.project(n),
      name: value('name', n),
      createdAt: day((n * 7919) % 365),
    })
    await store.insert('users', [tenant.user])
    await store.insert('agents', range(200, tenant.agent))
    await store.insert('forms', [tenant.form])
    await store.insert('projects', range(300 * share, project))
    await store.insert('dispatches', range(300 * share, dispatch))
    await store.insert('entries', range(2000 * share, entry))
  }
  // Projects of A that dispatches of both organisations name.
  await store.insert(
    'projects',
    [0, 1, 2, 3].map((n) => ({ ...a.project(n), _id: `project-${n}` })),
  )
}

type Explain = (collection: string, pipeline: Document[]) => Promise<string[]>

const explainQuery = (explain: Explain, { collection, match, stages }: Query, after: readonly Document[] = stages) =>
  explain(collection, [{ $match: match }, ...after])

const title = 'indexes serve every documented query (needs the server of TEST_MONGODB_URI)'
t.test(title, { skip: server === undefined }, async (t) => {
  const uri = ownDatabase(t, String(server))
  const client = new MongoClient(uri)
  t.teardown(() => client.close())
  const store = mongoStore(mongoSettings(uri))
  t.teardown(() => store.close())
  await store.ensureIndexes()
  await fill(store)
  const explain: Explain = async (collection, pipeline) =>
    planFaults(await client.db().collection(collection).aggregate(pipeline).explain('executionStats'))

  const unfiltered = (sortBy: string) => ({ sortBy, sortOrder: 'asc', page: 1, perPage: 50 }) as never
  const settled = async () => {
    const found = eachResource.map(([, { list }]) => list(scope, unfiltered('createdAt')))
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

  for (const [name, { query, list }] of eachResource) {
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
      t.same(Object.keys(filters).sort(), Object.keys(filtersOf(query)).sort(), 'no filter is left out')
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

    t.test(`a page of ${name} from a position, by each filter and all of them, in each order`, async (t) => {
      for (const selection of selections) {
        for (const by of sorts) {
          for (const order of orders) {
            const listing = { ...selection, sortBy: by, sortOrder: order, page: 1, perPage: 50 } as const
            const { field, direction } = orderOf(listing as never, false)
            for (const range of rangesAfter(field, direction, { value: middle[by] ?? null, id: middleId })) {
              const slice = { range, isBackward: false, skip: 0, limit: 51 }
              const found = list(scope, { ...listing, slice } as never)
              t.same(await explainQuery(explain, found), [], JSON.stringify([listing, range]))
            }
          }
        }
      }
    })

    t.test(`the count of ${name} by each filter and all of them`, async (t) => {
      for (const selection of selections) {
        const listing: Listing = { ...selection, sortBy: 'id', sortOrder: 'asc', page: 1, perPage: 50 }
        const found = list(scope, listing as never)
        t.same(await explainQuery(explain, found, [{ $count: 'total' }]), [], JSON.stringify(selection))
      }
    })
  }

  t.test('a record by its id, with all that is joined', async (t) => {
    t.same(await explainQuery(explain, getEntry(scope, a.entry(1)._id)), [], 'entry')
    t.same(await explainQuery(explain, getDispatch(scope, a.dispatch(1)._id)), [], 'dispatch')
    t.same(await explainQuery(explain, getProject(scope, a.project(1)._id)), [], 'project')
    t.same(await explainQuery(explain, getProject(scope, 'project-1')), [], 'project that dispatches name')
  })

  t.test('the documents that replace ids in a page', async (t) => {
    for (const [query, ids] of [
      [listDispatches(scope, unfiltered('id')), [a.user._id, b.user._id]],
      [listProjects(scope, unfiltered('id')), [a.user._id, b.user._id]],
      [getDispatch(scope, a.dispatch(1)._id), range(200, (n) => a.agent(n)._id)],
    ] as const) {
      const found = query.references?.find(ids) as Query
      t.same(await explainQuery(explain, found), [], found.collection)
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
  t.same(planFaults(plan(inOrder)), [])
  t.same(planFaults(plan({ stage: 'SORT', inputStage: { stage: 'COLLSCAN' } })), ['SORT', 'COLLSCAN'])
  const whole = { ...bounded, indexName: '_id_', indexBounds: { _id: ['[MinKey, MaxKey]'] } }
  t.same(planFaults(plan({ stage: 'FETCH', inputStage: whole })), ['foreign rows of _id_'])
  const others = { ...bounded, indexName: 'project_1', indexBounds: { project: ['["p", "p"]'] } }
  t.same(planFaults(plan({ stage: 'FETCH', inputStage: others })), ['foreign rows of project_1'])
  t.same(planFaults({ stages: [{ $cursor: plan(inOrder) }, { $sort: { sortKey: { name: 1 } } }] }), ['$sort'])
  const unaided = ['$lookup of too much']
  t.same(planFaults({ stages: [{ $lookup: {}, collectionScans: 2n, indexesUsed: [] }] }), unaided)
  t.same(planFaults(plan({ stage: 'EQ_LOOKUP', strategy: 'NestedLoopJoin', inputStage: bounded })), unaided)
  t.same(planFaults({ stages: [{ $lookup: {}, collectionScans: 0n, indexesUsed: ['project_1__id_1'] }] }), unaided)
  for (const name of ['_id_', 'organisation_1_project_1__id_1']) {
    t.same(planFaults({ stages: [{ $lookup: {}, collectionScans: 0n, indexesUsed: [name] }] }), [])
  }
})

t.test('a join that reads rows of others, or too much of its own, is found in a plan of PostgreSQL', async (t) => {
  const scan = { 'Node Type': 'Index Scan', Filter: 'bson_dollar_lookup_join_filter(document, …)' }
  const equality = '@*= bson_dollar_lookup_extract_filter_expression(…)'
  const own = "@= 'BSONHEX30000000026f7267616e69736174696f6e0019000000…'"
  const faults = (name: string, condition: string) =>
    planFaults({ Plan: { Plans: [{ ...scan, 'Index Name': name, 'Index Cond': condition }] } })
  t.same(faults('organisation_1_project_1__id_1', `(${own} AND ${equality})`), [])
  t.same(faults('_id_', `object_id = ANY (${equality})`), [])
  t.same(faults('organisation_1__id_1', own), ['$lookup of too much'])
  t.same(faults('project_1__id_1', equality), ['foreign rows of project_1__id_1'])
  const gathered = { 'Node Type': 'Function Scan', 'Function Name': 'bson_lookup_unwind' }
  t.same(planFaults({ Plan: { Plans: [gathered] } }), ['$lookup of too much'])
})
