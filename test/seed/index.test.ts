// The demo data at every size: it fits the stored schemas, each organisation is complete in itself, and it is repeatable.
import { createHash } from 'node:crypto'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { BSON } from 'mongodb'
import t from 'tap'
import { dispatchStatuses, dispatchTypes } from '../../schemas/dispatches.js'
import { BATCH_SIZE, type Batch, demoOptions, type SeedOptions, seedData } from '../../seed/index.js'
import { surveys } from '../../seed/surveys.js'
import { collections, type Documents } from '../../src/core/documents/collections.js'

type SeededName = Batch['collection']
type Data = { [C in SeededName]: Documents[C][] }
type Owned = Documents[Exclude<SeededName, 'organisations'>]

const names = Object.keys(collections).filter((name) => name !== 'apiKeys' && name !== 'seeds') as SeededName[]

const batchesOf = (options: Partial<SeedOptions>) => seedData({ ...demoOptions, ...options })

function load(options: Partial<SeedOptions> = {}): Data {
  const data = Object.fromEntries(names.map((name) => [name, []])) as unknown as Data
  for (const { collection, documents } of batchesOf(options)) data[collection].push(...(documents as never[]))
  return data
}

/** The data of each organisation. */
const perOrganisation = (data: Data): Data[] =>
  data.organisations.map((organisation) => {
    const own = names.map((name) => [
      name,
      name === 'organisations'
        ? [organisation]
        : (data[name] as Owned[]).filter((document) => document.organisation === organisation._id),
    ])
    return Object.fromEntries(own) as Data
  })

function digest(options: Partial<SeedOptions> = {}): string {
  const hash = createHash('sha256')
  for (const batch of batchesOf(options)) hash.update(BSON.serialize(batch))
  return hash.digest('hex')
}

const idsOf = (documents: readonly { _id: string }[]) => new Set(documents.map(({ _id }) => _id))
const byId = <T extends { _id: string }>(documents: readonly T[]) => new Map(documents.map((one) => [one._id, one]))

const demo = load()
const sizes: Partial<SeedOptions>[] = [
  {},
  { organisations: 1, dispatches: 1, entries: 10 },
  { organisations: 1, dispatches: 0, entries: 0 },
  { organisations: 5, dispatches: 1, entries: 0 },
  { organisations: 3, dispatches: 700, entries: 2500 },
]
/** The data of each size, made once. */
const ofSizes = sizes.map((size) => ({ size, data: Object.keys(size).length === 0 ? demo : load(size) }))

t.test('The totals are as requested, spread evenly over the organisations', async (t) => {
  for (const { size, data } of ofSizes) {
    const { organisations, dispatches, entries } = { ...demoOptions, ...size }
    t.equal(data.organisations.length, organisations)
    t.equal(data.dispatches.length, dispatches)
    t.equal(data.entries.length, entries)
    for (const own of perOrganisation(data)) {
      t.ok(Math.abs(own.dispatches.length - dispatches / organisations) < 1)
      t.ok(Math.abs(own.entries.length - entries / organisations) < 1)
    }
  }
})

t.test('Every document fits its schema, has its own id, and was not changed before it was created', async (t) => {
  const schemas = new Map(names.map((name) => [name, TypeCompiler.Compile(collections[name].schema)]))
  for (const { data } of ofSizes) {
    for (const name of names) {
      t.equal(
        data[name].find((document) => !schemas.get(name)?.Check(document)),
        undefined,
      )
    }
    const all = Object.values(data).flat()
    t.ok(all.every(({ createdAt, updatedAt }) => createdAt <= updatedAt))
    t.equal(idsOf(all).size, all.length)
    t.ok(all.every(({ _id }) => /^[0-9a-f]{24}$/.test(_id)))
  }
})

t.test('The ids of a collection in an organisation sort by the time of creation', async (t) => {
  for (const own of ofSizes.flatMap(({ data }) => perOrganisation(data))) {
    for (const name of names) {
      const documents = own[name]
      t.ok(
        documents.every(({ _id, createdAt }, n) => {
          const before = documents[n - 1]
          return before === undefined || (before._id < _id && before.createdAt <= createdAt)
        }),
      )
    }
  }
})

t.test('References name documents of the same organisation that were created before', async (t) => {
  for (const own of ofSizes.flatMap(({ data }) => perOrganisation(data))) {
    const users = idsOf(own.users)
    const made = [...own.projects, ...own.dispatches]
    t.ok(made.every(({ createdBy = '', modifiedBy = '' }) => users.has(createdBy) && users.has(modifiedBy)))

    const others = byId([...own.agents, ...own.forms, ...own.projects])
    t.ok(
      own.dispatches.every(({ form = '', project = '', recipients, createdAt }) =>
        [form, project, ...recipients.agents].every((id) => (others.get(id)?.createdAt ?? Infinity) < createdAt),
      ),
    )
    t.ok(
      own.dispatches.every(({ recipients: { agents } }) => new Set(agents).size === agents.length && agents.length > 0),
    )
    t.ok(own.dispatches.every(({ startDate = 0, dueDate = 0 }) => startDate < dueDate))
  }
})

t.test('An entry agrees with its dispatch and is created after the dispatch has started', async (t) => {
  for (const { dispatches, entries } of ofSizes.map(({ data }) => data)) {
    const dispatchOf = byId(dispatches)
    t.ok(
      entries.every(({ organisation, dispatch = '', form, project, agent = '', createdAt }) => {
        const answered = dispatchOf.get(dispatch)
        return (
          answered?.organisation === organisation &&
          answered.form === form &&
          answered.project === project &&
          (agent === '' || answered.recipients.agents.includes(agent)) &&
          (answered.startDate ?? Infinity) <= createdAt
        )
      }),
    )
  }
})

t.test('An entry answers each question of its form with options of that question', async (t) => {
  const formOf = byId(demo.forms)
  for (const { form = '', answers } of demo.entries) {
    if (answers.length === 2) continue // broken off
    const survey = surveys.find(({ name }) => name === formOf.get(form)?.name)
    const ok = survey?.questions.every(({ type, question, options, none = '' }, n) => {
      const given = answers[n]
      const { answer } = given ?? {}
      if (given?.question !== question || given.type !== type) return false
      if (type === 'singleChoice') return typeof answer === 'string' && options.includes(answer)
      if (answer?.includes(none)) return answer.length === 1
      const ordered = options.filter((option) => answer?.includes(option))
      return Array.isArray(answer) && answer.length > 0 && answer.join('|') === ordered.join('|')
    })
    const isTyped = answers.slice(-2).every(({ type, answer }) => type === 'number' && /^\d+$/.test(String(answer)))
    if (!ok || !isTyped || answers.length !== Number(survey?.questions.length) + 2)
      return t.fail('answers do not match', { form, answers })
  }
  t.ok(demo.entries.some(({ answers }) => answers.some(({ answer }) => Array.isArray(answer) && answer.length > 1)))
})

t.test('The demo documents have all optional fields', async (t) => {
  for (const name of names) {
    for (const field of Object.keys(collections[name].schema.properties)) {
      const without = demo[name].filter((document) => !Object.hasOwn(document, field)).length
      const odd = name === 'entries' && ['agent', 'location', 'duration'].includes(field)
      t.equal(without, odd ? 2 * 3 : 0, `seed/${name}.ts: ${field}`)
    }
  }
  t.ok(demo.entries.every(({ duration = 1 }) => Number.isInteger(duration) && duration > 0))
  t.ok(demo.dispatches.every(({ totalExpectedEntries = 0 }) => Number.isInteger(totalExpectedEntries)))
})

t.test('Each organisation has every kind of dispatch, form, project and agent', async (t) => {
  const organisations = perOrganisation(demo)
  t.ok(organisations.length >= 2)
  for (const { agents, dispatches, entries, forms, projects, users } of organisations) {
    t.same(new Set(dispatches.map(({ dispatchType }) => dispatchType)), new Set(dispatchTypes))
    t.same(new Set(dispatches.map(({ status }) => status)), new Set(dispatchStatuses))
    t.equal(new Set(users.map(({ role }) => role?.name)).size, 3)
    t.ok(agents.length >= 24)
    t.ok(agents.some(({ location }) => location.length === 1) && agents.some(({ location }) => location.length === 2))
    t.ok(agents.some(({ _id }) => dispatches.filter(({ recipients }) => recipients.agents.includes(_id)).length > 5))
    t.ok(forms.length >= 8 && forms.some(({ dispatched }) => !dispatched))
    t.ok(projects.some(({ _id }) => !dispatches.some(({ project }) => project === _id)))
    t.equal(dispatches.at(-1)?.name, dispatches[0]?.name)

    const answered = new Set(entries.map(({ dispatch }) => dispatch))
    t.notOk(dispatches.some(({ _id, status }) => status === 'draft' && answered.has(_id)))
    t.ok(dispatches.some(({ _id, status }) => status !== 'draft' && !answered.has(_id)))

    const share = (wanted: string) => entries.filter(({ status }) => status === wanted).length / entries.length
    t.ok(share('accepted') > 0.7 && share('pending') > 0 && share('rejected') > 0)
    t.ok(entries.some(({ createdAt, updatedAt }) => createdAt < updatedAt))
  }
})

t.test('The same options give the same bytes in every time zone, and another seed gives other bytes', async (t) => {
  const before = process.env.TZ
  const entries = 600
  const here = digest({ entries })
  process.env.TZ = 'Pacific/Auckland'
  t.equal(digest({ entries }), here)
  if (before === undefined) delete process.env.TZ
  else process.env.TZ = before
  t.not(digest({ entries, seed: 43 }), here)
})

t.test('Two runs at the same time do not affect each other', async (t) => {
  const [one, other] = [batchesOf({ entries: 600 }), batchesOf({ entries: 600 })]
  for (const batch of one) t.same(other.next().value, batch)
  t.equal(other.next().done, true)
})

t.test('Batches have a maximum size, and entries are generated on demand', async (t) => {
  for (const { documents } of batchesOf({ dispatches: 3000 })) {
    t.ok(documents.length > 0 && documents.length <= BATCH_SIZE)
  }
  let seen = 0
  for (const { collection, documents } of batchesOf({ entries: 1e12 })) {
    if (collection === 'entries') seen += documents.length
    if (seen === 3 * BATCH_SIZE) break
  }
  t.equal(seen, 3 * BATCH_SIZE)
})

t.test('Nobody can be reached by an address or a number of the data', async (t) => {
  t.ok([...demo.users, ...demo.agents].every(({ email = '' }) => /^[a-z]+\.[a-z]+\.[ua]\d+@example\.org$/.test(email)))
  t.ok(demo.agents.every(({ phone = '' }) => /^\+234800\d{7}$/.test(phone)))
})

t.test('Entries require a dispatch in each organisation', async (t) => {
  t.throws(() => batchesOf({ dispatches: 1, entries: 1 }).next(), RangeError)
})
