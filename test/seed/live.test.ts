// The operations of growth in real time.
import { TypeCompiler } from '@sinclair/typebox/compiler'
import t from 'tap'
import type { Batch } from '../../seed/index.js'
import { type LiveOperation, liveOperations } from '../../seed/live.js'
import { type Scenario, scenarioNames } from '../../seed/options.js'
import { scenarioData } from '../../seed/scenarios.js'
import {
  collections,
  type Documents,
  isRecordCollection,
  type RecordCollection,
  recordCollections,
} from '../../src/core/documents/collections.js'
import { inEach } from '../support/each.js'

const schemas = new Map(recordCollections.map((name) => [name, TypeCompiler.Compile(collections[name].schema)]))

/** The data of each scenario, made once. */
const dataOf = Object.fromEntries(
  scenarioNames.map((scenario) => [scenario, [...scenarioData({ scenario })]]),
) as Record<Scenario, Batch[]>

/** The first operations, a second apart. */
const take = (count: number, scenario: Scenario, { seed = 42, data = dataOf[scenario] } = {}): LiveOperation[] => {
  let second = 0
  const now = () => new Date(Date.UTC(2026, 0, 1, 0, 0, second++))
  return Array.from({ length: count }, liveOperations(data, seed, now))
}
/** The operations of each scenario. */
const operationsOf = new Map(scenarioNames.map((scenario) => [scenario, take(2000, scenario)]))

t.test('the same data and seed give the same operations, and another seed gives others', async (t) => {
  t.same(take(200, 'tiny', { data: [...scenarioData({ scenario: 'tiny' })] }), take(200, 'tiny'))
  t.not(JSON.stringify(take(200, 'tiny', { seed: 43 })), JSON.stringify(take(200, 'tiny')))
})

t.test('every operation fits: a new record is added, one that exists is changed or deleted', async (t) => {
  for (const scenario of scenarioNames) {
    const existing = new Map<string, Set<string>>(recordCollections.map((name) => [name, new Set()]))
    const owners = new Set<string>()
    for (const { collection, documents } of dataOf[scenario]) {
      for (const { _id } of documents) existing.get(collection)?.add(_id)
      if (!isRecordCollection(collection)) continue
      for (const { organisation } of documents as Documents[RecordCollection][])
        owners.add(`${collection} of ${organisation}`)
    }
    const operations = operationsOf.get(scenario) as LiveOperation[]
    for (const { kind, collection, document } of operations) {
      const ids = existing.get(collection) as Set<string>
      if (ids.has(document._id) === (kind === 'add')) t.fail(`${scenario}: ${kind} ${collection} ${document._id}`)
      if (kind === 'delete') ids.delete(document._id)
      else ids.add(document._id)
      if (!schemas.get(collection)?.Check(document)) t.fail(`${scenario}: ${collection} does not fit`)
      if (document.updatedAt < document.createdAt && scenario !== 'worst-case')
        t.fail(`${scenario}: it changes earlier`)
    }
    const kinds = operations.map(({ kind, collection }) => `${kind} ${collection}`)
    t.equal(new Set(kinds).size, 3 * recordCollections.length, `${scenario}: every kind in every collection`)
    const own = ({ collection, document }: Pick<LiveOperation, 'collection' | 'document'>) =>
      `${collection} of ${document.organisation}`
    t.same(new Set(operations.map(own)), owners, `${scenario}: every organisation in every collection that it has`)
    const count = (wanted: string) => operations.filter(({ kind }) => kind === wanted).length
    t.ok(count('add') > 2 * count('delete') && count('delete') > 0, `${scenario}: it grows`)
  }
})

t.test(
  'some changes move an entry or a dispatch to another project of its organisation',
  inEach(async (each, t) => {
    for (const scenario of scenarioNames) {
      /** The project of each record that has one, and the organisation of each project. */
      const places = new Map<string, string | undefined>()
      const owners = new Map<string, string>()
      const keep = (collection: string, document: object) => {
        const { _id, organisation, project } = document as Documents['entries']
        if (collection === 'projects') owners.set(_id, organisation)
        else places.set(`${collection} ${_id}`, project)
      }
      for (const { collection, documents } of dataOf[scenario])
        for (const document of documents) keep(collection, document)
      const moved = new Set<string>()
      for (const { kind, collection, document } of operationsOf.get(scenario) as LiveOperation[]) {
        const { _id, organisation, project } = document as Documents['entries']
        if (kind === 'change' && places.get(`${collection} ${_id}`) !== project) {
          moved.add(collection)
          each.equal(owners.get(`${project}`), organisation, `${scenario}: ${collection} ${_id} is now in ${project}`)
        }
        if (kind === 'delete' && collection === 'projects') owners.delete(_id)
        else keep(collection, document)
      }
      t.same([...moved].sort(), ['dispatches', 'entries'], scenario)
    }
  }),
)
