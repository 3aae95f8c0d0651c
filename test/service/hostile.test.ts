// Values that a database could read as an expression or as a name. In every pipeline each of them is a plain value,
// whether it comes as the organisation, as an id or in a filter.
import type { TSchema } from '@sinclair/typebox'
import t from 'tap'
import { expandable } from '../../schemas/entries.js'
import { resources } from '../../src/core/pipelines/index.js'
import { Query, type Scope, type Stage } from '../../src/core/pipelines/stages.js'
import { readWithReferences } from '../../src/core/store/references.js'
import type { Store } from '../../src/core/store/store.js'
import { objectsOf } from '../support/bson.js'
import { inEach } from '../support/each.js'
import { listQuery, recordQuery } from '../support/queries.js'
import {
  eachResource,
  filtersOf,
  filterValue,
  isRange,
  type Resource,
  type ResourceName,
} from '../support/resources.js'
import { testStore } from '../support/store.js'
import { tenant } from '../support/tenants.js'
import { isThorough, runs } from '../support/thorough.js'

const hostile = [
  '$name',
  '$_id',
  '$organisation',
  '$$ROOT',
  '$$REMOVE',
  '$$this.organisation',
  '$literal',
  '$where',
  'organisation.name',
  '.',
  '__proto__',
  'constructor',
  '',
  ' ',
  '\u0000',
  '🙏',
  '\uff5e',
  '{"$ne":null}',
  '.*',
  '/.*/',
  'x'.repeat(runs(10_000, 100_000)),
]
/** Ids of organisations that are tried on a store. The others differ in little from these. */
const tried = isThorough ? hostile : ['$organisation', '$$ROOT', '__proto__', '', '\u0000', '{"$ne":null}']

const listing = (filters: Record<string, unknown> = {}) =>
  ({ sortBy: 'id', sortOrder: 'asc', page: 1, perPage: 1000, ...filters }) as never

/** The filters of a list that accept any text, each with a function that selects by a text. */
const textFilters = (query: Resource['query']): [string, (text: string) => Record<string, unknown>][] =>
  filtersOf(query).flatMap(([name, schema]) =>
    schema.enum === undefined && name !== 'bbox' && !isRange(name, schema)
      ? [[name, (text: string) => ({ [name]: filterValue(schema, text) })]]
      : [],
  )

/** Every query that can be made with a value, by its name. */
const queriesWith = (value: string, scope: Scope): [string, Query][] => {
  const all = eachResource.flatMap(([name, { query }]): [string, Query][] => {
    const list = (filters = {}) => listQuery(resources[name], scope, listing(filters))
    const filters = textFilters(query)
    const all = Object.assign({}, ...filters.map(([, by]) => by(value)))
    return [
      [`one of ${name}`, recordQuery(resources[name], scope, value)],
      [name, list({ expand: expandable })],
      [`${name} by all filters`, list(all)],
      ...filters.map(([filter, by]): [string, Query] => [`${name} by ${filter}`, list(by(value))]),
    ]
  })
  const references = all.flatMap(([name, { references }]): [string, Query][] =>
    references.map(({ fields, find }): [string, Query] => [`${fields} of ${name}`, find([value])]),
  )
  return [...all, ...references]
}

t.test(
  'what a caller may choose is text, a number or one of a few words',
  inEach(async (each) => {
    for (const [list, { query }] of eachResource) {
      const { page, perPage, ...others } = query.properties
      each.equal([page?.type, perPage?.type], ['integer', 'integer'], list)
      for (const [name, schema] of Object.entries<TSchema>(others)) {
        const { type, enum: words } = schema.type === 'array' ? schema.items : schema
        each.equal(type, 'string', `${list} ${name}`)
        if (/^(sort|fields|expand)/.test(name)) each.ok(words, `${list} ${name} is one of a few words`)
        for (const word of words ?? []) each.ok(/^[a-zA-Z]+$/.test(word), `${list} ${name} ${word}`)
      }
    }
  }),
)

const PLAIN = 'from outside'

/** The places of a pipeline where a database would read a value as an expression or as a name. */
function* misplaced(node: unknown, isPlain: boolean, path: string): Generator<string> {
  if (typeof node === 'string' && node.includes(PLAIN) && !isPlain) yield path
  if (typeof node !== 'object' || node === null) return
  for (const [name, inner] of Object.entries(node)) {
    if (name.includes(PLAIN)) yield `${path}.${name}`
    const isOperator = ['$expr', '$where', '$function', '$regex'].includes(name)
    const isValue = name === '$literal' || name === '$match'
    yield* misplaced(inner, (isPlain || isValue) && !isOperator, `${path}.${name}`)
  }
}

t.test(
  'a value stands only below $literal or in a condition',
  inEach(async (each, t) => {
    for (const [name, { match, stages }] of queriesWith(PLAIN, { organisation: PLAIN })) {
      each.equal([...misplaced([{ $match: match }, ...stages], false, '')], [], name)
      each.ok(JSON.stringify(match).includes(PLAIN), `${name}: it is in the match`)
    }
    t.same(
      [
        ...misplaced(
          [{ $set: { a: { $eq: ['$b', PLAIN] }, [PLAIN]: 1 } }, { $match: { $expr: `$${PLAIN}` } }],
          false,
          '',
        ),
      ],
      ['.0.$set.a.$eq.1', `.0.$set.${PLAIN}`, '.1.$match.$expr'],
      'a value in any other place is recognised',
    )
  }),
)

t.test('the compiler rejects a string in an expression unless it is a path', async (t) => {
  const scope: Scope = { organisation: '$$this.organisation' }
  const stages: Stage[] = [
    // @ts-expect-error
    { $set: { own: { $eq: ['$organisation', scope.organisation] } } },
    // @ts-expect-error
    { $set: { own: scope.organisation } },
    { $set: { own: { $eq: ['$organisation', { $literal: scope.organisation }] } } },
  ]
  // @ts-expect-error
  t.ok(Query.in(scope, 'entries', [{ $expr: { $eq: ['$status', '$name'] } }], stages))
})

const VICTIM = 'victim'

/** Inserts documents that have the id of their organisation, and documents that refer to those of the victim. */
const fill = async (store: Store, id: string, letter: string): Promise<void> => {
  const { user, agent, form, project, dispatch, entry } = tenant(id, letter)
  const own = { dispatch: id, form: id, project: id, agent: id }
  const stolen = { dispatch: VICTIM, form: VICTIM, project: VICTIM, agent: VICTIM }
  const authors = (author: string) => ({ createdBy: author, modifiedBy: author })
  const recipients = (agent: string) => ({ recipients: { agents: [agent], agentGroups: [] } })
  const stolenId = `stolen ${letter}`
  await store.insert('users', [
    { ...user, _id: id, status: id },
    { ...user, _id: stolenId },
  ])
  await store.insert('agents', [
    { ...agent(1), _id: id, status: id },
    { ...agent(2), _id: stolenId },
  ])
  await store.insert('forms', [
    { ...form, _id: id, status: id, name: id },
    { ...form, _id: stolenId },
  ])
  await store.insert('projects', [
    { ...project(1), ...authors(id), _id: id, name: id },
    { ...project(2), ...authors(VICTIM), _id: stolenId },
  ])
  await store.insert('dispatches', [
    dispatch(1, { form: id, project: id, ...authors(id), ...recipients(id), _id: id, name: id }),
    dispatch(2, { form: VICTIM, project: VICTIM, ...authors(VICTIM), ...recipients(VICTIM), _id: stolenId }),
  ])
  const location = { country: id, state: id, lga: id, city: id }
  const answers = [{ type: 'text', question: id, answer: id }]
  await store.insert('entries', [
    entry(1, { ...own, _id: id, status: id, location, answers }),
    entry(2, { ...stolen, _id: stolenId }),
  ])
}

/** The ids in a document, its own and those of what is embedded. */
const idsWithin = (value: unknown): unknown[] =>
  typeof value !== 'object' || value === null
    ? []
    : Object.entries(value).flatMap(([name, inner]) => (name === '_id' ? [inner] : idsWithin(inner)))

const byLength = (one: unknown[], other: unknown[]) => other.length - one.length

t.test(
  'an organisation of any id sees its own records and nothing of another',
  inEach(async (each, t) => {
    const store = testStore(t)
    await store.ensureIndexes()
    for (const [n, id] of tried.entries()) await fill(store, id, String(n))
    await fill(store, VICTIM, 'secret')
    const { dispatch } = tenant(VICTIM, 'secret')
    const intruders = tried.map((project, n) => dispatch(n, { _id: `intruder ${n}`, name: 'secret', project }))
    await store.insert('dispatches', intruders)

    /** How many ids are embedded in a record. */
    const embedded: Record<ResourceName, number> = {
      dispatches: 5,
      entries: 4,
      projects: 3,
      forms: 0,
      agents: 0,
      users: 0,
    }
    const find = async (query: Query, name: string): Promise<Record<string, unknown>[]> => {
      const found = objectsOf(await readWithReferences(store, query))
      each.equal(await store.count(query), found.length, `${name}: the total counts no other`)
      each.ok(!/secret|intruder/.test(JSON.stringify(found)), `${name}: nothing of the victim's`)
      return found
    }
    const idsOf = (found: Record<string, unknown>[]) => new Set(found.map(({ _id }) => _id))

    for (const [n, organisation] of tried.entries()) {
      const scope = { organisation }
      const stolen = `stolen ${n}`
      const other = tried[(n + 1) % tried.length] as string
      for (const [name, { query }] of eachResource) {
        const label = `${JSON.stringify(organisation.slice(0, 50))}: ${name}`
        const list = (filters = {}) => listQuery(resources[name], scope, listing(filters))
        const get = (id: string) => find(recordQuery(resources[name], scope, id), label)
        const all = await find(list(), label)
        each.equal(idsOf(all), new Set([organisation, stolen]), label)
        for (const [filter, selectBy] of textFilters(query)) {
          const by = (value: string) => find(list(selectBy(value)), `${label} ${filter}`)
          each.equal(idsOf(await by(organisation)), new Set([organisation]), `${label} by ${filter}`)
          for (const value of [other, '\ud800']) each.equal(await by(value), [], `${label} by another's ${filter}`)
        }
        const [own, ...more] = await get(organisation)
        each.equal(idsWithin(own), Array(1 + embedded[name]).fill(organisation), `${label}: all that is its own`)
        each.equal(more, [], label)
        each.equal((await get(stolen)).map(idsWithin), [[stolen]], `${label}: nothing embedded`)
        if (name === 'entries') {
          const expanded = await find(list({ expand: expandable }), label)
          const ids = [Array(1 + embedded.entries).fill(organisation), [stolen]]
          each.equal(expanded.map(idsWithin).sort(byLength), ids, `${label} with all that is their own`)
        }
        each.equal(await get(other), [], `${label}: another's`)
        each.equal(await get(VICTIM), [], `${label}: the victim's`)
      }
    }
  }),
)
