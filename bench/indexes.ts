// What indexes cost those who write, with those of this release, with one more that an operator may add for a scope, and
// with those of the release before in turn; and what lists cost that have no index of their own. On the server, with
// `npm run bench -- --indexes`.
import { BSON, MongoClient } from 'mongodb'
import { seedData } from '../seed/index.js'
import type { EntryDocument } from '../src/core/documents/collections.js'
import { hasIndex, type Index, indexBy, indexesOf, TOMBSTONE_INDEX } from '../src/core/documents/indexes.js'
import { type Database, withDatabase } from './databases.js'
import { startService } from './peers.js'
import { type Server, startLoad } from './processes.js'
import { type Case, measureRounds, ROUNDS, ratio } from './rounds.js'
import { median } from './timing.js'
import { databaseName, usually } from './trial.js'

const ENTRIES = usually(20_000, 1000)
const UPDATES = usually(5000, 500)
const BATCH = 500
const WRITE_ROUNDS = usually(3, 1)
const QUERY_TIMEOUT_MS = 10_000

const now: readonly Index[] = [...indexesOf('entries'), TOMBSTONE_INDEX, ['deletedAt']]
/** What release 1.0.0 had besides: an index for each sort, for each filter with each sort, and for any two filters. */
const earlier = (): Index[] => {
  const lists = [[], ...filters.map((filter) => [filter])]
  const pairs = filters.flatMap((filter, n) => filters.slice(n + 1).map((other) => [filter, other]))
  const all = [...lists.flatMap((list) => sorts.slice(1).map((sort) => [...list, sort])), ...pairs]
  return all.map(indexBy).filter((index) => !hasIndex(now, index))
}
const filters = ['dispatch', 'form', 'project', 'agent', 'status'] as const
const sorts = ['id', 'createdAt', 'updatedAt', 'duration'] as const
const indexSets = { earlier: [...now, ...earlier()], now, added: [...now, indexBy(['project', 'createdAt'])] }
export type IndexSet = keyof typeof indexSets
const setNames = Object.keys(indexSets) as IndexSet[]

interface Writes {
  /** A second. */
  readonly inserts: number
  readonly updates: number
  /** Of all indexes, against those of the documents as BSON. */
  readonly bytes: number
}

export interface IndexCosts {
  readonly writes: Record<IndexSet, Writes>
  readonly counts: Record<IndexSet, number>
  /** The slowest of the lists by two filters, in milliseconds. */
  readonly pair: Slowest
  /** The slowest of the lists by one filter in any order, and how many of them took too long. */
  readonly filtered: Slowest & { readonly timeouts: number }
  readonly ratios: Record<string, number>
}

interface Slowest {
  readonly path: string
  readonly ms: number
  readonly requests: number
}

/** Inserts and updates entries of a new database, as other programs do. */
const measureWrites = async (uri: string, set: IndexSet, entries: readonly EntryDocument[]): Promise<Writes> => {
  const client = new MongoClient(uri)
  try {
    const db = client.db()
    await db.dropDatabase()
    const collection = db.collection<EntryDocument>('entries')
    const specs = indexSets[set].map((fields) => ({
      key: Object.fromEntries(fields.map((field) => [field, 1 as const])),
    }))
    await collection.createIndexes(specs)
    const inserting = performance.now()
    for (let start = 0; start < entries.length; start += BATCH) {
      await collection.insertMany(entries.slice(start, start + BATCH))
    }
    const inserted = performance.now()
    for (let start = 0; start < UPDATES; start += BATCH) {
      const time = new Date()
      const $set = { status: 'rejected', duration: start, updatedAt: time, changedAt: time }
      const some = entries.slice(start, start + BATCH)
      await collection.bulkWrite(some.map(({ _id }) => ({ updateOne: { filter: { _id }, update: { $set } } })))
    }
    const updated = performance.now()
    const { totalIndexSize } = await db.command({ collStats: 'entries' })
    return {
      inserts: (1000 * entries.length) / (inserted - inserting),
      updates: (1000 * UPDATES) / (updated - inserted),
      bytes: totalIndexSize / entries.reduce((sum, entry) => sum + BSON.calculateObjectSize(entry), 0),
    }
  } finally {
    await client.close()
  }
}

const measureAllWrites = async (server: string, say: (text: string) => void) => {
  const uri = withDatabase(server, databaseName('indexes'))
  const options = { seed: 42, organisations: 1, dispatches: 200, entries: ENTRIES }
  const entries = [...seedData(options)].flatMap(({ collection, documents }) =>
    collection === 'entries' ? documents.map((each) => ({ ...each, changedAt: each.updatedAt })) : [],
  )
  const measured: Record<IndexSet, Writes[]> = { earlier: [], now: [], added: [] }
  for (let round = 1; round <= WRITE_ROUNDS; round++) {
    for (const set of round % 2 === 0 ? setNames : setNames.toReversed()) {
      measured[set].push(await measureWrites(uri, set, entries))
    }
    say(`writes: round ${round} of ${WRITE_ROUNDS}`)
  }
  const medians = (set: IndexSet): Writes => {
    const of = (name: keyof Writes) => median(measured[set].map((writes) => writes[name]))
    return { inserts: of('inserts'), updates: of('updates'), bytes: of('bytes') }
  }
  const between = (set: IndexSet, other: IndexSet, name: keyof Writes) =>
    median(measured[set].map((writes, round) => writes[name] / (measured[other][round] as Writes)[name]))
  return {
    writes: { earlier: medians('earlier'), now: medians('now'), added: medians('added') },
    ratios: {
      'indexes.bytes': medians('now').bytes,
      'indexes.inserts': between('now', 'earlier', 'inserts'),
      'indexes.updates': between('now', 'earlier', 'updates'),
      'indexes.addedBytes': between('added', 'now', 'bytes'),
      'indexes.addedInserts': between('added', 'now', 'inserts'),
      'indexes.addedUpdates': between('added', 'now', 'updates'),
    },
  }
}

type Sample = Readonly<Record<'id' | 'createdAt' | 'updatedAt' | (typeof filters)[number], string>>

const samplesOf = async (service: Server, entries: number): Promise<[Sample, Sample]> => {
  const at = async (share: number) => {
    const page = Math.round(entries * share)
    const { data } = (await service.get(`/v1/entries?page=${page}&perPage=1&total=false`)) as { data: [Sample] }
    return data[0]
  }
  return [await at(0.5), await at(0.6)]
}

/** Sends each request twice, one after the other: the second time counts. Returns the slowest, and how many got a 503. */
const slowestOf = async (service: Server, key: string, paths: readonly string[]) => {
  let slowest = { path: '', ms: 0 }
  let timeouts = 0
  for (const path of paths) {
    for (const counts of [false, true]) {
      const start = performance.now()
      const response = await fetch(`${service.url}${path}`, { headers: { authorization: `Bearer ${key}` } })
      const text = await response.text()
      const ms = performance.now() - start
      if (!response.ok && !text.includes('query_timeout')) throw new Error(`${path}: ${text}`)
      if (!counts) continue
      if (!response.ok) timeouts += 1
      if (ms > slowest.ms) slowest = { path, ms }
    }
  }
  return { ...slowest, requests: paths.length, timeouts }
}

/** The lists that cost the same at any size, each with a page of 50. */
const flatPaths = ({ id, updatedAt, ...sample }: Sample): Record<string, string> => ({
  'in the order of ids': '/v1/entries?total=false',
  ...Object.fromEntries(filters.map((name) => [`by ${name}`, `/v1/entries?total=false&${name}=${sample[name]}`])),
  'updated since': `/v1/entries?total=false&sortBy=updatedAt&updatedSince=${updatedAt}`,
  'in the order of createdAt': '/v1/entries?total=false&sortBy=createdAt&sortOrder=desc',
  feed: '/v1/sync/entries?cursor=*',
  'digest of the last ids': `/v1/sync/entries/digest?from=${id}&to=${id}0`,
})

/** How much longer lists of the largest database take than those of the smallest: the most of all. */
const measureFlat = async (small: Database, large: Database, ms: number, say: (text: string) => void) => {
  const load = startLoad()
  const cases: Record<string, Case> = {}
  const names: string[] = []
  for (const database of [small, large]) {
    const service = await startService(database, { uri: database.uri })
    const paths = flatPaths((await samplesOf(service, database.entries))[0])
    for (const [name, path] of Object.entries(paths)) {
      cases[`${name} ${database.entries}`] = () => service.measure(load, path, 1, ms)
      if (database === small) names.push(name)
    }
  }
  const results = await measureRounds(cases, ROUNDS, say)
  return Object.fromEntries(
    names.map((name) => [
      `flat.${name}`,
      ratio('p50', results[`${name} ${large.entries}`] ?? [], results[`${name} ${small.entries}`] ?? []),
    ]),
  )
}

/** @param middle the database in which any two filters are tried */
export const indexCosts = async (
  server: string,
  { small, middle, large }: { small: Database; middle: Database; large: Database },
  ms: number,
  say: (text: string) => void,
): Promise<IndexCosts> => {
  const { writes, ratios } = await measureAllWrites(server, say)

  const open = (database: Database) => startService(database, { uri: database.uri, queryTimeoutMs: QUERY_TIMEOUT_MS })
  const ofMiddle = await open(middle)
  const [one, other] = await samplesOf(ofMiddle, middle.entries)
  // Values of one entry find some together; those of two entries may find many each and none together.
  const pairs = filters.flatMap((name, n) =>
    filters
      .slice(n + 1)
      .flatMap((second) =>
        [one, other].map((sample) => `/v1/entries?total=false&${name}=${one[name]}&${second}=${sample[second]}`),
      ),
  )
  const pair = await slowestOf(ofMiddle, middle.key, pairs)
  say('two filters')

  const ofLarge = await open(large)
  const [sample] = await samplesOf(ofLarge, large.entries)
  const conditions = [
    ...filters.map((name) => `${name}=${sample[name]}`),
    'bbox=2.6,4.2,14.7,13.9',
    `updatedSince=${sample.updatedAt}`,
    `createdSince=${sample.createdAt}`,
  ]
  const paths = conditions.flatMap((condition) =>
    sorts.flatMap((sortBy) =>
      ['asc', 'desc'].map((order) => `/v1/entries?total=false&${condition}&sortBy=${sortBy}&sortOrder=${order}`),
    ),
  )
  const filtered = await slowestOf(ofLarge, large.key, paths)
  say('any filter in any order')

  const flat = await measureFlat(small, large, ms, say)
  return {
    writes,
    // With the index of `_id`.
    counts: { earlier: indexSets.earlier.length + 1, now: indexSets.now.length + 1, added: indexSets.added.length + 1 },
    pair,
    filtered,
    ratios: { ...ratios, 'indexes.pairMs': pair.ms, ...flat },
  }
}
