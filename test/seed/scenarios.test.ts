// Every scenario fits the stored schemas, is the same at every call, and is served without an error.
import { createHash } from 'node:crypto'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { BSON } from 'mongodb'
import t from 'tap'
import type { Batch } from '../../seed/index.js'
import { type Scenario, scenarioNames } from '../../seed/options.js'
import { scenarioData } from '../../seed/scenarios.js'
import { collections, type Documents, recordCollections } from '../../src/core/documents/collections.js'
import { testApp } from '../support/app.js'
import { eachResource } from '../support/resources.js'
import { testStore } from '../support/store.js'
import { isThorough, leftToGate } from '../support/thorough.js'

type Data = { [C in Batch['collection']]: Documents[C][] }

const inCollections = (batches: Iterable<Batch>): Data => {
  const data = Object.fromEntries(['organisations', ...recordCollections].map((name) => [name, []])) as unknown as Data
  for (const { collection, documents } of batches) data[collection].push(...(documents as never[]))
  return data
}

/** The data of each scenario, made once. */
const batchesOf = Object.fromEntries(
  scenarioNames.map((scenario) => [scenario, [...scenarioData({ scenario })]]),
) as Record<Scenario, Batch[]>
const loaded = new Map(scenarioNames.map((scenario) => [scenario, inCollections(batchesOf[scenario])]))
const dataOf = (scenario: Scenario): Data => loaded.get(scenario) as Data

const digest = (batches: Iterable<Batch>): string => {
  const hash = createHash('sha256')
  for (const batch of batches) hash.update(BSON.serialize(batch))
  return hash.digest('hex')
}

const idsOf = (documents: readonly { _id: string }[]) => new Set(documents.map(({ _id }) => _id))

t.test('every document fits its schema and has its own id', async (t) => {
  for (const scenario of scenarioNames) {
    for (const [name, documents] of Object.entries(dataOf(scenario))) {
      const schema = TypeCompiler.Compile(collections[name as Batch['collection']].schema)
      const unfit = documents.find((document) => !schema.Check(document))
      t.equal(unfit, undefined, `${scenario}: ${name}`)
      t.equal(idsOf(documents).size, documents.length, `${scenario}: ${name}`)
    }
  }
})

t.test('a scenario is the same at every call, and the demo the same as ever', async (t) => {
  const digests = new Map(scenarioNames.map((scenario) => [scenario, digest(batchesOf[scenario])]))
  for (const scenario of isThorough ? scenarioNames : (['tiny', 'campaign'] as const))
    t.equal(digests.get(scenario), digest(scenarioData({ scenario })))
  t.equal(digests.get('demo'), 'ee16d9353559400b65e6f7626d02c5df4c6d8d4d458d833ce685a3ec00441761')
  t.not(digests.get('campaign'), digest(scenarioData({ scenario: 'campaign', seed: 7 })))
})

t.test('data up to another day differs by its times and ids alone, and still fits together', async (t) => {
  const until = new Date('2027-01-31T00:00:00Z')
  const moved = inCollections(scenarioData({ scenario: 'demo', until }))
  const latest = moved.entries.reduce((last, { createdAt }) => (createdAt > last ? createdAt : last), new Date(0))
  t.match(latest.toISOString(), /^2027-01-31T/)
  const before = dataOf('demo')
  t.equal(moved.entries[0]?.createdAt.getUTCHours(), before.entries[0]?.createdAt.getUTCHours(), 'at the same hours')
  t.same(moved.entries[0]?.answers, before.entries[0]?.answers)
  const dispatches = idsOf(moved.dispatches)
  t.ok(moved.entries.every(({ dispatch = '' }) => dispatches.has(dispatch)))
  const earlier = idsOf(before.dispatches)
  t.notOk(moved.dispatches.some(({ _id }) => earlier.has(_id)))
  for (const { _id, createdAt } of moved.entries.slice(0, 10)) {
    t.equal(Number.parseInt(_id.slice(0, 8), 16), Math.floor(createdAt.getTime() / 1000))
  }
})

/** All times in the data of a scenario but those of plans. */
const timesIn = (value: unknown): number[] => {
  if (value instanceof Date) return [value.getTime()]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) =>
    name === 'startDate' || name === 'dueDate' ? [] : timesIn(inner),
  )
}

t.test('nothing happens in the data after its last day, nor on that day after now', async (t) => {
  const until = new Date('2026-03-14T00:00:00Z')
  for (const scenario of isThorough ? (['tiny', 'survey'] as const) : (['tiny'] as const)) {
    for (const [now, end] of [
      [undefined, '2026-03-14T23:59:59.999Z'],
      ['2026-05-01T12:00:00Z', '2026-03-14T23:59:59.999Z'],
      ['2026-03-14T07:30:00Z', '2026-03-14T07:30:00Z'],
      ['2026-03-13T07:30:00Z', '2026-03-14T23:59:59.999Z'],
    ] as const) {
      const data = inCollections(scenarioData({ scenario, until, ...(now && { now: new Date(now) }) }))
      const latest = timesIn(data).reduce((last, time) => Math.max(last, time), 0)
      t.ok(latest <= Date.parse(end), `${scenario}, now ${now}: ${new Date(latest).toISOString()}`)
      t.ok(latest >= Date.parse('2026-03-14T00:00:00Z'), `${scenario}, now ${now}: up to that day`)
      t.ok(data.dispatches.some(({ dueDate = until }) => dueDate > until) || scenario === 'tiny', 'dispatches are open')
      const untimely = data.entries.find(({ createdAt, updatedAt }) => updatedAt < createdAt)
      t.equal(untimely, undefined)
    }
  }
})

t.test('each scenario has what it is for', async (t) => {
  const tiny = dataOf('tiny')
  t.equal(Object.values(tiny).flat().length, 1 + 12)
  const survey = dataOf('survey')
  t.ok((survey.entries[0]?.answers.length ?? 0) > 40)
  t.ok(new Set(survey.entries[0]?.answers.map(({ type }) => type)).size > 10)
  t.ok(survey.entries.some(({ answers }) => answers.some(({ answer }) => answer === undefined)))
  const outliers = survey.entries.filter(({ answers }) => answers[1]?.answer === '150')
  t.ok(outliers.length > 0 && outliers.length < 20)
  const { agents, dispatches, projects } = dataOf('campaign')
  t.ok(projects.length > 50 && dispatches.length > 300)
  const statusOf = new Map(agents.map(({ _id, status }) => [_id, status]))
  t.ok(
    dispatches.some(({ recipients }) => new Set(recipients.agents.map((id) => statusOf.get(id))).size >= 5),
    'recipients of all statuses',
  )
  t.ok(dispatches.some(({ recipients }) => recipients.agents.length === 0))
  const worst = dataOf('worst-case')
  t.ok(worst.dispatches.some(({ recipients }) => recipients.agents.length >= 2000))
  t.ok(worst.entries.some(({ createdAt }) => createdAt.getTime() === Date.parse('0001-01-01T00:00:00.000Z')))
  t.ok(worst.entries.some(({ updatedAt }) => updatedAt.toISOString() === '9999-12-31T23:59:59.999Z'))
})

/** Those that are served in whole. The large ones take longer. */
const served = isThorough ? scenarioNames : (['tiny', 'worst-case'] as const)

/** How many records of each resource are asked for by their ids at once. The lists show all. */
const BY_ID = 5

t.test(
  'all lists of a scenario are served to their organisation, and its records by their ids',
  { skip: leftToGate },
  async (t) => {
    for (const scenario of served) {
      const store = testStore(t)
      const data = dataOf(scenario)
      for (const [name, documents] of Object.entries(data)) await store.insert(name as Batch['collection'], documents)
      const { app, get } = await testApp(t, { store })
      const check = async (organisation: string, name: keyof Data, owned: readonly Documents['entries'][]) => {
        const expected = owned.filter((document) => document.organisation === organisation).map(({ _id }) => _id)
        const seen: string[] = []
        for (let cursor = '*'; cursor !== ''; ) {
          const url = `/v1/${name}?perPage=1000&sortBy=createdAt&cursor=${encodeURIComponent(cursor)}`
          const { data, _metadata } = (await get(url, organisation)).json()
          for (const { id } of data) seen.push(id)
          cursor = _metadata.hasMore ? _metadata.nextCursor : ''
        }
        t.same(seen.sort(), expected.sort(), `${scenario}: the list of ${name}`)
        const some = seen.filter((_, n) => n % Math.ceil(seen.length / BY_ID) === 0)
        const records = await Promise.all(some.map((id) => get(`/v1/${name}/${encodeURIComponent(id)}`, organisation)))
        t.ok(
          records.every(({ statusCode }) => statusCode === 200),
          `${scenario}: ${name} by id`,
        )
      }
      for (const { _id } of data.organisations) {
        for (const [name] of eachResource) await check(_id, name, data[name] as Documents['entries'][])
      }
      await app.close()
    }
  },
)
