// Values from outside that mean something else to a database: as organisation, as id and as value of a filter, each stands
// for itself in every pipeline. The pipelines are found by their files, so that a new one is asked too.
import { readdirSync } from 'node:fs'
import type { TObject, TSchema } from '@sinclair/typebox'
import t, { type Test } from 'tap'
import { Query, type Scope, type Stage } from '../../src/pipelines/stages.js'
import type { Store } from '../../src/store/store.js'
import { objectsOf } from '../support/bson.js'
import { testStore } from '../support/store.js'
import { tenant } from '../support/tenants.js'

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
  'x'.repeat(100_000),
]

interface List {
  readonly query: TObject
  readonly pipeline: (scope: Scope, listing: unknown) => Query
}

const lists: Record<string, List> = {}
const gets: Record<string, (scope: Scope, id: string) => Query> = {}
for (const file of readdirSync('src/pipelines')) {
  const name = file.replace('.ts', '.js')
  const pipelines = Object.entries(await import(`../../src/pipelines/${name}`))
  for (const [name, found] of pipelines.filter(([name]) => name.startsWith('get'))) gets[name] = found as never
  for (const [list, pipeline] of pipelines.filter(([name]) => name.startsWith('list'))) {
    const schemas = Object.entries(await import(`../../schemas/${name}`))
    const [, schema] = schemas.find(([name]) => name.endsWith('ListQuery')) as [string, (limits: object) => TObject]
    lists[list] = { query: schema({ page: 1, perPage: 50, maxPerPage: 1000 }), pipeline: pipeline as never }
  }
}

const listing = { sortBy: 'id', sortOrder: 'asc', page: 1, perPage: 1000 }

/** The filters of a list that take any text. */
const filtersOf = ({ query }: List): string[] =>
  Object.entries<TSchema>(query.properties).flatMap(([name, { type, enum: words }]) =>
    type === 'string' && words === undefined ? [name] : [],
  )

/** Every query that can be made with one value from outside, by its name. */
const queriesWith = (value: string, scope: Scope): [string, Query][] => {
  const all = Object.entries(lists).flatMap(([name, list]): [string, Query][] => {
    const named = filtersOf(list).map((filter) => [filter, value])
    return [
      [name, list.pipeline(scope, listing)],
      [`${name} by all filters`, list.pipeline(scope, { ...listing, ...Object.fromEntries(named) })],
      ...named.map(([filter, value]): [string, Query] => [
        `${name} by ${filter}`,
        list.pipeline(scope, { ...listing, [filter as string]: value }),
      ]),
    ]
  })
  all.push(...Object.entries(gets).map(([name, get]): [string, Query] => [name, get(scope, value)]))
  const references = all.flatMap(([name, { references }]): [string, Query][] =>
    references === undefined ? [] : [[`what ${name} refers to`, references.find([value])]],
  )
  return [...all, ...references]
}

t.test('what a caller may choose is text, a number or one of a few words', async (t) => {
  t.same(Object.keys(lists).sort(), ['listDispatches', 'listEntries', 'listProjects'])
  t.same(Object.keys(gets).sort(), ['getDispatch', 'getEntry', 'getProject'])
  for (const [list, { query }] of Object.entries(lists)) {
    const { page, perPage, ...others } = query.properties
    t.match([page, perPage], [{ type: 'integer' }, { type: 'integer' }], list)
    for (const [name, { type, enum: words }] of Object.entries<TSchema>(others)) {
      t.equal(type, 'string', `${list} ${name}`)
      if (name.startsWith('sort')) t.ok(words, `${list} ${name} is one of a few words`)
      for (const word of words ?? []) t.match(word, /^[a-zA-Z]+$/, `${list} ${name}`)
    }
  }
})

const PLAIN = 'from outside'

/** Where a value stands so that a database reads it as an expression, or as the name of something. */
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

t.test('what comes from outside stands below $literal or in a condition, as a value', async (t) => {
  const plain = queriesWith(PLAIN, { organisation: PLAIN })
  for (const [name, { match, stages }] of plain) {
    t.same([...misplaced([{ $match: match }, ...stages], false, '')], [], name)
    t.match(JSON.stringify(match), PLAIN, `${name}: it is in the match`)
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
    'and what stands elsewhere is found',
  )
})

t.test('whatever the value is, the query is the same but for it', async (t) => {
  const told = (queries: [string, Query][]) =>
    queries.map(([name, { match, stages }]): [string, string] => [name, JSON.stringify([match, stages])])
  const plain = told(queriesWith(PLAIN, { organisation: PLAIN }))
  for (const value of [...hostile, '\ud800']) {
    const inPlace = plain.map(([name, text]) => [
      name,
      text.replaceAll(JSON.stringify(PLAIN), () => JSON.stringify(value)),
    ])
    t.strictSame(told(queriesWith(value, { organisation: value })), inPlace, JSON.stringify(value.slice(0, 50)))
  }
})

t.test('a string that is no path is no expression to the compiler', async (t) => {
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

/** The documents of an organisation, whose id is that of each of them too, and some that point at another's. */
const fill = async (store: Store, id: string, letter: string): Promise<void> => {
  const { user, agent, form, project, dispatch, entry } = tenant(id, letter)
  const own = { dispatch: id, form: id, project: id, agent: id }
  const stolen = { dispatch: VICTIM, form: VICTIM, project: VICTIM, agent: VICTIM }
  const authors = (author: string) => ({ createdBy: author, modifiedBy: author })
  const recipients = (agent: string) => ({ recipients: { agents: [agent], agentGroups: [] } })
  await store.insert('users', [{ ...user, _id: id }])
  await store.insert('agents', [{ ...agent(1), _id: id }])
  await store.insert('forms', [{ ...form, _id: id }])
  await store.insert('projects', [
    { ...project(1), ...authors(id), _id: id, name: id },
    { ...project(2), ...authors(VICTIM), _id: `stolen ${letter}` },
  ])
  await store.insert('dispatches', [
    dispatch(1, { form: id, project: id, ...authors(id), ...recipients(id), _id: id, name: id }),
    dispatch(2, { form: VICTIM, project: VICTIM, ...authors(VICTIM), ...recipients(VICTIM), _id: `stolen ${letter}` }),
  ])
  await store.insert('entries', [
    entry(1, { ...own, _id: id, status: id }),
    entry(2, { ...stolen, _id: `stolen ${letter}` }),
  ])
}

/** The ids in a document, its own and those of what is embedded. */
const idsWithin = (value: unknown): unknown[] =>
  typeof value !== 'object' || value === null
    ? []
    : Object.entries(value).flatMap(([name, inner]) => (name === '_id' ? [inner] : idsWithin(inner)))

t.test('an organisation of any id sees its own records and nothing of another', async (t) => {
  const store = testStore(t)
  await store.ensureIndexes()
  for (const [n, id] of hostile.entries()) await fill(store, id, String(n))
  await fill(store, VICTIM, 'secret')
  const { dispatch } = tenant(VICTIM, 'secret')
  const intruders = hostile.map((project, n) => dispatch(n, { _id: `intruder ${n}`, name: 'secret', project }))
  await store.insert('dispatches', intruders)

  const embedded: Record<string, number> = { getDispatch: 5, getEntry: 4, getProject: 3 }
  const find = async (t: Test, query: Query, name: string): Promise<Record<string, unknown>[]> => {
    const found = objectsOf(await store.aggregate(query))
    t.equal(await store.count(query), found.length, `${name}: the total counts no other`)
    t.notMatch(JSON.stringify(found), /secret|intruder/, `${name}: nothing of the victim's`)
    return found
  }
  const idsOf = (found: Record<string, unknown>[]) => new Set(found.map(({ _id }) => _id))

  for (const [n, organisation] of hostile.entries()) {
    const scope = { organisation }
    const stolen = `stolen ${n}`
    const other = hostile[(n + 1) % hostile.length] as string
    await t.test(JSON.stringify(organisation.slice(0, 50)), async (t) => {
      for (const [name, list] of Object.entries(lists)) {
        const all = await find(t, list.pipeline(scope, listing), name)
        t.same(idsOf(all), new Set([organisation, stolen]), name)
        for (const filter of filtersOf(list)) {
          const by = (value: string) =>
            find(t, list.pipeline(scope, { ...listing, [filter]: value }), `${name} ${filter}`)
          t.same(idsOf(await by(organisation)), new Set([organisation]), `${name} by ${filter}`)
          for (const value of [other, '\ud800']) t.same(await by(value), [], `${name} by another's ${filter}`)
        }
      }
      for (const [name, get] of Object.entries(gets)) {
        const [own, ...more] = await find(t, get(scope, organisation), name)
        t.same(idsWithin(own), Array(1 + Number(embedded[name])).fill(organisation), `${name}: all that is its own`)
        t.same(more, [], name)
        t.same((await find(t, get(scope, stolen), name)).map(idsWithin), [[stolen]], `${name}: nothing embedded`)
        t.same(await find(t, get(scope, other), name), [], `${name}: another's`)
        t.same(await find(t, get(scope, VICTIM), name), [], `${name}: the victim's`)
      }
    })
  }
})
