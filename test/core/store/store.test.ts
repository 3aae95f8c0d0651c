// Every query of the service on the embedded store, over all kinds of stored documents. With TEST_MONGODB_URI the same is
// asked of that server, and the results must be the same, byte for byte after serialization.
import { setTimeout } from 'node:timers/promises'
import type { TSchema } from '@sinclair/typebox'
import { BSON, Long, ObjectId } from 'mongodb'
import t from 'tap'
import { type Listing, MAX_PAGE } from '../../../schemas/common.js'
import { dispatchTypes } from '../../../schemas/dispatches.js'
import { expandable } from '../../../schemas/entries.js'
import type { BsonDocument } from '../../../src/core/bson/reader.js'
import type { CollectionName } from '../../../src/core/documents/collections.js'
import { resources as declared } from '../../../src/core/pipelines/index.js'
import type { Resource } from '../../../src/core/pipelines/resource.js'
import { type Condition, Query, type Scope } from '../../../src/core/pipelines/stages.js'
import { type Projection, projectionOf } from '../../../src/core/read/projection.js'
import { embeddedStore } from '../../../src/core/store/embedded.js'
import { readWithReferences } from '../../../src/core/store/references.js'
import type { Store } from '../../../src/core/store/store.js'
import { jsonArray } from '../../../src/core/write/json.js'
import { Output } from '../../../src/core/write/output.js'
import { writeAll } from '../../../src/core/write/rows.js'
import { compileDocuments } from '../../../src/core/write/writer.js'
import { objectsOf } from '../../support/bson.js'
import { type Each, inEach } from '../../support/each.js'
import { listQuery, recordQuery } from '../../support/queries.js'
import { filtersOf, type ResourceName, resources } from '../../support/resources.js'
import { databaseOn } from '../../support/store.js'
import { A, a, B, b, fillTenants } from '../../support/tenants.js'
import { leftToGate } from '../../support/thorough.js'

const server = process.env.TEST_MONGODB_URI
const ownScope: Scope = { organisation: A }

/** Sorted by UTF-8 bytes. By UTF-16 code units, the last two would come before the one in front of them. */
const names = [
  '',
  ' ',
  '10',
  '9',
  'Zebra',
  'zebra',
  'Ärzte',
  'A\u0308rzte',
  'Ọkáfọ̀',
  'مركز',
  '市场',
  '\uff5e',
  '𐐀',
  '🙏',
]
const at = (day: number) => new Date(Date.UTC(2025, 1, day))

/** An organisation whose agent has a location that does not fit. */
const ODD_PLACES = 'odd-places'

/** Documents that this service would not write, but that may be in a database. */
const odd: Partial<Record<CollectionName, object[]>> = {
  users: [
    { ...without(a.user, 'role', 'email', 'lastLogin'), _id: 'user-sparse' },
    { ...a.user, _id: 'user-nulls', role: null, email: null, lastLogin: null },
  ],
  agents: [
    { ...a.agent(3), email: null, phone: null, location: [], lastLogin: null },
    { ...without(a.agent(4), 'email', 'phone', 'lastLogin'), location: [{}, { city: null }, { zone: 'North' }] },
    { ...a.agent(5), _id: '🙏', location: [{ other: 1 }, { city: 'Kano', country: 'Nigeria' }] },
    { ...a.agent(8), organisation: ODD_PLACES, location: [{ other: 1 }, null, 'Kano', { city: 'Kano' }] },
    { ...a.agent(6), _id: '\uff5e' },
    { ...a.agent(7), _id: '$organisation' },
  ],
  forms: [{ ...without(a.form, 'sector', 'reason'), _id: 'form-sparse' }],
  projects: [
    ...names.map((name, i) => ({ ...a.project(100 + i), name, createdAt: at(i % 3) })),
    { ...without(a.project(200), 'createdBy', 'modifiedBy') },
    { ...a.project(201), createdBy: null, modifiedBy: 'nobody' },
    { ...a.project(202), createdBy: 'user-sparse', modifiedBy: 'user-nulls' },
    { ...a.project(203), createdBy: 'user-nulls', modifiedBy: b.user._id },
    { ...a.project(204), _id: '🙏' },
    { ...a.project(205), _id: '\uff5e' },
  ],
  dispatches: [
    ...names.map((name, i) =>
      a.dispatch(100 + i, { name, createdAt: at(i % 3), dispatchType: dispatchTypes[i % 4] as 'basic' }),
    ),
    without(a.dispatch(200), 'instructions', 'startDate', 'dueDate', 'form', 'project', 'totalExpectedEntries'),
    without(a.dispatch(201), 'createdBy', 'modifiedBy'),
    without(a.dispatch(202), 'recipients'),
    { ...a.dispatch(203), recipients: null },
    { ...a.dispatch(204), recipients: {} },
    { ...a.dispatch(205), recipients: { agents: null, agentGroups: null } },
    { ...a.dispatch(206), form: null, project: null, createdBy: null, modifiedBy: null, instructions: null },
    { ...a.dispatch(207), startDate: null, dueDate: null, totalExpectedEntries: null },
    { ...a.dispatch(208), form: 'nothing', project: 'nothing', createdBy: 'nobody', modifiedBy: 'nobody' },
    { ...a.dispatch(209), form: 'form-sparse', createdBy: 'user-sparse', modifiedBy: 'user-nulls' },
    { ...a.dispatch(210), instructions: {} },
    { ...a.dispatch(211), instructions: { attachments: [] } },
    { ...a.dispatch(212), instructions: { instructions: null, attachments: oddValues() } },
    { ...a.dispatch(213), totalExpectedEntries: 2.5 },
    { ...a.dispatch(214), totalExpectedEntries: new BSON.Double(3) },
    { ...a.dispatch(215), totalExpectedEntries: Long.fromString('9007199254740993') },
    ...[
      ['agent2-a', 'agent1-a', 'agent3-a', 'agent4-a'],
      ['agent1-a', 'agent1-a', 'agent2-a', 'agent1-a'],
      ['\uff5e', '🙏', '$organisation', '$_id', '$$ROOT', 'agent1-a'],
      ['nobody', 'agent2-a', 'nobody', 'agent1-b', 'agent1-a'],
      ['agent1-b', 'agent2-b'],
    ].map((agents, i) => a.dispatch(300 + i, { recipients: { agents, agentGroups: ['group2', 'group1', 'group2'] } })),
    { ...a.dispatch(310), _id: '🙏', project: a.project(1)._id },
    { ...a.dispatch(311), _id: '\uff5e', project: a.project(1)._id },
    { ...a.dispatch(312), _id: '', project: '🙏' },
  ],
  entries: [
    // Without null: MongoDB sorts null and missing values alike, but the index of a compatible server does not.
    ...[5, 5, 10, 9, 2.5, -1, 0, undefined, undefined, 1e10].map((duration, i) => ({
      ...without(a.entry(100 + i), 'duration'),
      ...(duration !== undefined && { duration }),
      createdAt: at(i % 3),
      updatedAt: at(i % 4),
    })),
    without(a.entry(200), 'dispatch', 'form', 'project', 'agent', 'location', 'duration'),
    { ...a.entry(201), dispatch: null, form: null, project: null, agent: null, location: null },
    { ...a.entry(202), dispatch: 'nothing', form: 'nothing', project: 'nothing', agent: 'nobody' },
    { ...a.entry(203), dispatch: 'dispatch200-a', form: 'form-sparse', project: 'project200-a', agent: 'agent3-a' },
    { ...a.entry(204), project: 'project201-a', agent: 'agent4-a', location: {}, answers: [] },
    { ...a.entry(205), agent: '🙏', location: { city: null, coordinates: null } },
    { ...a.entry(206), agent: '$organisation', location: { other: 1, coordinates: { longitude: 1, lattitude: -0.5 } } },
    {
      ...a.entry(207),
      answers: [
        { type: 'multiChoice', question: '"Quoted"\\\u0001\u2028', answer: [] },
        { type: 'singleChoice', question: 'Nothing said' },
        { type: 'singleChoice', question: 'Said null', answer: null, other: true },
      ],
    },
    { ...a.entry(210), location: { coordinates: { longitude: 179.5, lattitude: -17 } } },
    { ...a.entry(211), location: { coordinates: { longitude: -180, lattitude: -16 } } },
    { ...a.entry(208), status: '$status', createdAt: new Date(-1), updatedAt: new Date(253_402_300_799_999) },
    { ...a.entry(209), status: '' },
  ],
}

/** Documents that do not fit their response schema, each in an organisation of its own. */
const unfit: Record<string, object[]> = {
  'no-name': [{ ...without(a.dispatch(1), 'name') }],
  'null-agent': [a.dispatch(1, { recipients: { agents: [null as never], agentGroups: [] } })],
  'text-recipients': [{ ...a.dispatch(1), recipients: 'all' }],
  'text-agents': [{ ...a.dispatch(1), recipients: { agents: 'agent1-a', agentGroups: [] } }],
  'no-instructions': [{ ...a.dispatch(1), instructions: 5 }],
  'object-groups': [{ ...a.dispatch(1), recipients: { agents: [], agentGroups: { id: 'x' } } }],
  'number-agents': [a.dispatch(1, { recipients: { agents: [5 as never], agentGroups: [] } })],
  'many-forms': [{ ...a.dispatch(1), form: ['nothing', 'form-a'] }],
  'number-name': [{ ...a.dispatch(1), name: 5 }],
  'date-as-text': [{ ...a.dispatch(1), createdAt: '2025-01-01T00:00:00.000Z' }],
}

function without<T extends object>(document: T, ...fields: (keyof T)[]): Partial<T> {
  return Object.fromEntries(
    Object.entries(document).filter(([name]) => !fields.includes(name as keyof T)),
  ) as Partial<T>
}

/** Values for a field of Type.Unknown. */
function oddValues(): unknown[] {
  return [
    'text',
    { url: 'https://files.example.org/a.pdf', pages: 3, size: 1.5, nested: { deep: [[], {}, [null]] } },
    new ObjectId('665f1c2ab8d4e0a1c3f20b17'),
    at(1),
    true,
    null,
    Long.fromString('9007199254740993'),
    2 ** 40,
    -0.25,
    ['$name', '$$ROOT'],
    { $name: 1, 'a.b': 2 },
  ]
}

const fill = async (store: Store): Promise<void> => {
  await fillTenants(store)
  for (const [collection, documents] of Object.entries(odd)) {
    await store.insert(collection as CollectionName, documents as never)
  }
  for (const [organisation, documents] of Object.entries(unfit)) {
    const owned = documents.map((document) => ({ ...document, _id: organisation, organisation }))
    await store.insert('dispatches', owned as never)
  }
}

/** The values that each filter is tried with. A value with `nothing` in it may find nothing. */
const filterValues: Record<ResourceName, Record<string, unknown[]>> = {
  dispatches: {
    dispatchType: ['survey', 'basic', 'prefilled', 'hybrid'],
    name: ['Dispatch 1', 'Zebra', 'A\u0308rzte', '🙏', '', 'nothing', '$nothing'],
    status: ['dispatch', 'dispatched', 'supended', 'suspended', 'draft'],
    form: [a.form._id, 'form-sparse', b.form._id],
    project: [a.project(1)._id, a.project(2)._id, b.project(1)._id, '🙏'],
    agent: [a.agent(1)._id, a.agent(3)._id, b.agent(1)._id, 'nobody', '$organisation', '🙏'],
  },
  projects: { name: ['Project 1', 'zebra', 'Ärzte', '\uff5e', 'nothing'] },
  entries: {
    dispatch: [a.dispatch(1)._id, a.dispatch(2)._id, b.dispatch(1)._id],
    form: [a.form._id, b.form._id, 'form-sparse'],
    project: [a.project(1)._id, 'project200-a', b.project(1)._id],
    agent: [a.agent(1)._id, a.agent(2)._id, b.agent(1)._id, '🙏', '$organisation'],
    status: ['accepted', 'rejected', '$status', '', 'nothing'],
    country: ['Nigeria', 'nothing'],
    state: ['Kano', 'nothing'],
    lga: ['Tarauni', 'nothing'],
    city: ['Kano', 'nothing'],
    answered: [
      [{ key: '', question: 'Source?' }],
      [{ key: '', question: 'Source?', answer: 'Borehole' }],
      [
        { key: '', question: 'Uses?', answer: 'Washing' },
        { key: '', question: 'Source?', answer: 'Borehole' },
      ],
      [{ key: '', question: 'nothing', answer: '5' }],
    ],
    bbox: [
      { west: 8.5387, south: 11.9805, east: 8.5387, north: 11.9805 },
      { west: 0, south: -1, east: 8, north: 0 },
      { west: 178, south: -20, east: -178, north: -10 },
      { west: 8.6, south: -90, east: 8.5, north: 90 },
    ],
  },
  forms: { name: [a.form.name, 'nothing'], status: ['active', 'nothing'] },
  agents: { status: ['active', 'nothing'] },
  users: { status: ['active', 'nothing'] },
}

/** The values of the filters that every list has. */
const commonValues = (name: ResourceName): Record<string, unknown[]> => {
  const { createdAt, updatedAt } = a.user
  const { idOf } = resources[name]
  return {
    ids: [[idOf(a), idOf(b), idOf(a), '🙏'], ['nothing']],
    idFrom: [idOf(a)],
    idTo: ['🙏', `${idOf(a)}~`],
    updatedSince: [updatedAt],
    updatedBefore: [new Date(updatedAt.getTime() + 1), at(2)],
    createdSince: [createdAt],
    createdBefore: [new Date(createdAt.getTime() + 1), at(2)],
  }
}

const title =
  server === undefined
    ? 'The embedded store serves every query (with TEST_MONGODB_URI its results are compared with that server)'
    : 'The embedded store gives the same results as the server of TEST_MONGODB_URI'
t.test(title, { skip: leftToGate }, async (t) => {
  const mongo = server === undefined ? undefined : (await databaseOn(t, server)).store
  const embedded = embeddedStore()
  await Promise.all([mongo && fill(mongo), fill(embedded)])

  /** Asks the embedded store, and the server too if there is one. The results must be the same. */
  const compare = async (
    each: Each,
    ask: (store: Store) => Promise<string>,
    name: string,
    isRefused = false,
  ): Promise<string> => {
    const [expected, found] = await Promise.all([mongo && told(ask(mongo)), told(ask(embedded))])
    if (expected !== undefined) each.equal(found, expected, name)
    each.equal(found === REFUSED, isRefused, name)
    return found
  }

  t.test(
    'Writes and deletions',
    inEach(async (each) => {
      /** What is stored, and whether it was written at a time or after it. */
      const state = async (store: Store, since: number): Promise<string> => {
        const found = (await store.dangerouslyFindAll('forms', { _id: /^w-/ })) as object[] as Record<string, unknown>[]
        const texts = found.map(({ changedAt, deletedAt, ...rest }) => {
          const time = changedAt ?? deletedAt
          const written = time instanceof Date && Number(time) >= since ? 'now' : 'before'
          return JSON.stringify({ ...rest, [deletedAt === undefined ? 'changed' : 'deleted']: written })
        })
        return texts.sort().join('\n') // by the id, which comes first
      }
      const form = (id: string, name: string, owner = a) => ({ ...owner.form, _id: `w-${id}`, name })
      const ids = (...names: string[]) => names.map((name) => `w-${name}`)
      const erased = async (store: Store, condition: Condition): Promise<number> => {
        let count = 0
        for await (const more of store.dangerouslyErase('forms', condition)) count += more
        return count
      }
      type Step = (store: Store) => Promise<unknown>
      type Form = ReturnType<typeof form>
      const add =
        (...forms: Form[]): Step =>
        (store) =>
          store.insert('forms', forms)
      const addFree =
        (...forms: Form[]): Step =>
        (store) =>
          store.insert('forms', forms, { skipTaken: true })
      const change =
        (...forms: Form[]): Step =>
        (store) =>
          store.upsert('forms', forms)
      const remove =
        (organisation: string, ...names: string[]): Step =>
        (store) =>
          store.remove('forms', organisation, ids(...names))
      /** Each has its result, and the names of the forms that are stored then; of a deleted one a dash. */
      const steps: [title: string, step: Step, result: unknown, names: string][] = [
        ['records are added', add(form('1', 'one'), form('2', 'two'), form('3', 'b', b)), undefined, 'one two b'],
        ['an id that is taken', add(form('1', 'x')), REFUSED, 'one two b'],
        ['also by another organisation', add(form('3', 'x')), REFUSED, 'one two b'],
        [
          'ids taken are skipped',
          addFree(form('1', 'x'), form('3', 'x'), form('4', 'four')),
          undefined,
          'one two b four',
        ],
        ['a change replaces or adds', change(form('1', 'new'), form('5', 'five')), undefined, 'new two b four five'],
        ['but no record of another organisation', change(form('3', 'x')), REFUSED, 'new two b four five'],
        ['records are deleted', remove(A, '1', '2', '2', 'none'), 2, '- - b four five'],
        ['none is deleted twice', remove(A, '1', '4'), 1, '- - b - five'],
        ['none of another organisation', remove(A, '3'), 0, '- - b - five'],
        ['a tombstone keeps its id', add(form('1', 'x', b)), REFUSED, '- - b - five'],
        ['also when ids taken are skipped', addFree(form('1', 'x', b)), undefined, '- - b - five'],
        ['and from changes', change(form('2', 'x', b)), REFUSED, '- - b - five'],
        ['and from deletions', remove(B, '1'), 0, '- - b - five'],
        ['a deleted record is added again', add(form('1', 'again')), undefined, 'again - b - five'],
        ['also when ids taken are skipped', addFree(form('2', 'again')), undefined, 'again again b - five'],
        ['also by a change', change(form('4', 'again')), undefined, 'again again b again five'],
        [
          'a record without an owner keeps its id',
          async (store) => {
            await store.update('forms', 'w-5', { organisation: null } as never)
            return store.insert('forms', [form('5', 'x')])
          },
          REFUSED,
          'again again b again five',
        ],
        ['also from changes', change(form('5', 'x')), REFUSED, 'again again b again five'],
        [
          'only records without a stamp get one',
          async (store) => {
            await store.update('forms', 'w-1', { changedAt: 'never' } as never)
            await store.remove('forms', A, ids('2'))
            let count = 0
            for await (const more of store.stamp('forms')) count += more
            return count
          },
          1,
          'again - b again five',
        ],
        [
          'records are erased',
          (store) => erased(store, { organisation: { $eq: A, $not: { $type: 'array' } }, _id: /^w-[123]/ }),
          1,
          '- b again five',
        ],
        [
          'and tombstones, whose ids are free then',
          async (store) => {
            const count = await erased(store, { deletedFrom: A, organisation: { $exists: false }, _id: /^w-/ })
            await store.insert('forms', [form('2', 'free', b)])
            return count
          },
          1,
          'free b again five',
        ],
      ]
      for (const [title, step, result, names] of steps) {
        const since = new Map<Store, number>()
        for (const store of [embedded, ...(mongo ? [mongo] : [])]) since.set(store, (await store.now()).now)
        const done = await compare(each, async (store) => `${await step(store)}`, title, result === REFUSED)
        each.equal(done, `${result}`, title)
        const stored = await compare(
          each,
          (store) => state(store, since.get(store) as number),
          `${title}: what is stored`,
        )
        const found = stored.split('\n').map((text) => JSON.parse(text).name ?? '-')
        each.equal(found.join(' '), names, `${title}: the names`)
        await setTimeout(2) // so that the next step is later
      }
    }),
  )

  const lists = (name: ResourceName, resource: Resource) => {
    const { query: schema } = resources[name]
    const values = { ...commonValues(name), ...filterValues[name] }
    const ask =
      (chosen: Partial<Listing>, scope = ownScope) =>
      async (store: Store): Promise<string> => {
        const listing = { sortBy: 'id', sortOrder: 'asc', page: 1, perPage: 1000, ...chosen }
        const query = listQuery(resource, scope, listing as never)
        const [list, total] = await Promise.all([readWithReferences(store, query), store.count(query)])
        return `${written(list.documents, projectionOf(resource, undefined, listing as Listing))} of ${total}`
      }
    const sortFields = (schema.properties.sortBy as TSchema).enum as string[]
    const all = sortFields.flatMap((sortBy) => (['asc', 'desc'] as const).map((sortOrder) => ({ sortBy, sortOrder })))
    // Without a server there is nothing to compare with, so that two sorts show enough.
    const sorts = server === undefined ? all.filter((_, i) => i === 0 || i === all.length - 1) : all
    const filters = Object.entries<unknown[]>(values)
    const fields = Object.keys(resource.item.schema.properties)

    t.test(
      `List of ${name}: every filter with every sort`,
      inEach(async (each, t) => {
        t.same(
          Object.keys(values).sort(),
          filtersOf(schema)
            .map(([name]) => name)
            .sort(),
          'no filter is left out',
        )
        const cases = filters.flatMap(([filter, options]) => options.map((option) => ({ [filter]: option })))
        const all = Object.fromEntries(filters.map(([filter, options]) => [filter, options[0]]))
        for (const filter of [{}, ...cases, all]) {
          for (const sort of sorts) {
            const text = await compare(each, ask({ ...sort, ...filter }), JSON.stringify({ ...sort, ...filter }))
            const what = filter === all ? 'a record has the first value of every filter' : 'finds something'
            if (!JSON.stringify(filter).includes('nothing'))
              each.ok(/\] of [1-9]/.test(text), `${JSON.stringify(filter)}: ${what}`)
          }
        }
      }),
    )

    t.test(
      `List of ${name}: every page with every sort`,
      inEach(async (each) => {
        for (const sort of sorts) {
          for (const perPage of [1, 7, 1000]) {
            for (const page of [1, 2, 3, 4, 9, 1000, MAX_PAGE]) {
              await compare(each, ask({ ...sort, page, perPage }), JSON.stringify({ ...sort, page, perPage }))
            }
          }
        }
      }),
    )

    t.test(
      `List of ${name}: each field alone, and with or without embedded records, with every sort`,
      inEach(async (each, t) => {
        for (const choice of fields.flatMap((field) => [{ fields: [field] }, { fields: [field], embed: 'false' }])) {
          for (const sort of sorts) {
            const chosen = { ...sort, ...choice } as const
            const text = await compare(each, ask(chosen as never), JSON.stringify(chosen))
            each.ok(text.includes('{"id":'), JSON.stringify(chosen))
          }
        }
        t.match(await compare(each, ask({ embed: 'false' }), 'whole'), '{"id":')
      }),
    )

    t.test(
      `List of ${name}: other organisations`,
      inEach(async (each) => {
        for (const organisation of [B, 'nothing', ODD_PLACES, ...Object.keys(unfit)]) {
          await compare(each, ask({}, { organisation }), organisation)
        }
      }),
    )

    const expands = [...expandable.map((field) => [field]), [...expandable]]
    for (const expand of name === 'entries' ? expands : []) {
      t.test(
        `List of ${name}: ${expand} expanded`,
        inEach(async (each) => {
          for (const chosen of [undefined, ['form'], ['id', 'agent', 'project']]) {
            const choice = { expand, ...(chosen && { fields: chosen }) }
            await compare(each, ask(choice), JSON.stringify(choice))
          }
        }),
      )
    }
  }

  for (const [name, resource] of Object.entries(declared) as [ResourceName, Resource][]) {
    lists(name, resource)

    t.test(
      `Each of the ${name} by its id`,
      inEach(async (each) => {
        const projection = projectionOf(resource, undefined, {}, 'record')
        for (const organisation of [A, B, ODD_PLACES, ...Object.keys(unfit)]) {
          const every = Query.in({ organisation }, name, [], [{ $sort: { _id: 1 } }])
          const ids = objectsOf(await embedded.aggregate(every)).map(({ _id }) => _id)
          for (const id of [...ids, 'nothing']) {
            const ask = async (store: Store) => {
              const [found] = (await readWithReferences(store, recordQuery(resource, { organisation }, id))).documents
              return found === undefined ? 'nothing' : written([found], projection)
            }
            await compare(each, ask, `${organisation} ${id}`)
          }
        }
      }),
    )
  }
})

/** The JSON of documents, as responses have it. */
const written = (documents: readonly BsonDocument[], projection: Projection): string => {
  const out = new Output()
  for (const _ of writeAll(documents, jsonArray(projection.compiled(compileDocuments)), out));
  return out.take().toString()
}

const REFUSED = 'refused'

/** The result, or the error: its message if a document does not fit, else only that the store refused the query. */
const told = (result: Promise<string>): Promise<string> =>
  result.catch((error) => (error.name === 'UnreadableDocument' ? error.message : REFUSED))
