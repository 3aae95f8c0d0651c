// The databases of the benchmark on the server: bench-10000 and so on with one organisation and 200 dispatches each, and
// bench-neighbours with two organisations. They are seeded once and kept. An entry has twice as many answers as in the demo
// data, so that a page of 50 entries is 110 KB.
import { MongoClient } from 'mongodb'
import { type SeedOptions, seedData } from '../seed/index.js'
import { loadConfig, openMongo } from '../src/core/config/config.js'
import type { Documents, EntryDocument, Only } from '../src/core/documents/collections.js'
import { keysOf } from '../src/core/keys/keys.js'
import type { Store } from '../src/core/store/store.js'
import { databaseName } from './trial.js'

export interface Database {
  entries: number
  uri: string
  organisation: string
  key: string
  /** How many entries a second were inserted when the database was seeded. */
  seedRate: number | undefined
}

const DISPATCHES = 200
const ENTRIES_OF_NEIGHBOUR = 2000
const CONCURRENT_INSERTS = 3
const DAY_MS = 86_400_000
/** Ids of the documents in `seeds` that tell when the seeding began and ended. Without the second it is done anew. */
const BEGUN = 'bench-stamped-begun'
const COMPLETE = 'bench-stamped-complete'

/** The URI of a database on a server. */
export const withDatabase = (server: string, name: string): string =>
  server.replace(/^(mongodb(?:\+srv)?:\/\/[^/?]+)\/?[^?]*/, `$1/${name}`)

/** The host and port of a URI that names one server. */
export const addressOf = (uri: string): [host: string, port: string] => {
  const [, host, port = '27017'] = /^mongodb:\/\/([^/?:,@]+)(?::(\d+))?(?:[/?]|$)/.exec(uri) ?? []
  if (host === undefined) throw new Error(`${uri} must name one server and no user, because its replies are replayed`)
  return [host, port]
}

export const open = (uri: string): Store => {
  const { mongo } = loadConfig({ MONGODB_URI: uri, QUERY_TIMEOUT_MS: '600000' })
  return openMongo(mongo as NonNullable<typeof mongo>)
}

export const isReachable = async (server: string): Promise<boolean> => {
  let store: Store | undefined
  try {
    store = open(withDatabase(server, 'admin'))
    await store.ping()
    return true
  } catch {
    return false
  } finally {
    await store?.close()
  }
}

/** The name and version of a server. */
export const describeServer = async (server: string): Promise<string> => {
  const client = new MongoClient(server)
  try {
    const { version, ferretdb } = await client.db('admin').command({ buildInfo: 1 })
    return ferretdb === undefined ? `MongoDB ${version}` : `FerretDB ${ferretdb.version} (MongoDB ${version} protocol)`
  } finally {
    await client.close()
  }
}

/** Issues a key that lasts for a day. */
export const issueKey = (store: Store, organisation: string, only?: Only): Promise<string> =>
  keysOf(store, () => {}).issue({ organisation, name: 'Benchmark', expiresAt: new Date(Date.now() + DAY_MS), only })

/** Seeds a database if it is not seeded yet. Returns each of its organisations with a new API key. */
const prepare = async (
  server: string,
  name: string,
  options: SeedOptions,
  say: (text: string) => void,
): Promise<Database[]> => {
  const uri = withDatabase(server, name)
  const { entries } = options
  const store = open(uri)
  try {
    if ((await store.dangerouslyFind('seeds', COMPLETE)) === undefined) {
      await seed(uri, options, (written) => say(`${name}: ${written} of ${entries} entries`))
      await store.insert('seeds', [{ _id: COMPLETE, createdAt: new Date() }])
    }
    // Also those that have been added since it was seeded.
    say(`${name}: indexes`)
    await store.ensureIndexes()
    const organisations = await store.dangerouslyFindAll('organisations', {})
    const rate = await seedRate(store, entries)
    const prepared: Database[] = []
    for (const { _id: organisation } of organisations) {
      const key = await issueKey(store, organisation)
      prepared.push({ entries: entries / organisations.length, uri, organisation, key, seedRate: rate })
    }
    say(`${name} is ready`)
    return prepared
  } finally {
    await store.close()
  }
}

/** A database with one organisation and this many entries. */
export const prepareDatabase = async (
  server: string,
  entries: number,
  say: (text: string) => void,
): Promise<Database> => {
  const options = { seed: 42, organisations: 1, dispatches: DISPATCHES, entries }
  return (await prepare(server, databaseName(entries), options, say))[0] as Database
}

/** Two organisations in one database. */
export const prepareNeighbours = async (server: string, say: (text: string) => void): Promise<[Database, Database]> => {
  const options = { seed: 42, organisations: 2, dispatches: 40, entries: 2 * ENTRIES_OF_NEIGHBOUR }
  return (await prepare(server, databaseName('neighbours'), options, say)) as [Database, Database]
}

/** An entry in which every question was asked a second time, about the year before. */
const askedAgain = (entry: EntryDocument): EntryDocument => {
  const again = entry.answers.map((answer) => ({ ...answer, question: `Last year: ${answer.question}` }))
  return { ...entry, answers: [...entry.answers, ...again] }
}

/** Fills a database through the driver, which is faster than the store: it stamps the records by the clock of this process. */
const seed = async (uri: string, options: SeedOptions, report: (written: number) => void): Promise<void> => {
  const client = new MongoClient(uri)
  const db = client.db()
  await db.dropDatabase()
  await db.collection<Documents['seeds']>('seeds').insertOne({ _id: BEGUN, createdAt: new Date() })
  const underway = new Set<Promise<void>>()
  let written = 0
  let reported = Date.now()
  for (const batch of seedData(options)) {
    const documents = batch.collection === 'entries' ? batch.documents.map(askedAgain) : batch.documents
    const stamped = documents.map((document) => ({ ...document, changedAt: new Date() }))
    const collection = db.collection<{ _id: string }>(batch.collection)
    const insert = collection.insertMany(stamped).then(() => {
      underway.delete(insert)
      if (batch.collection === 'entries') written += batch.documents.length
      if (Date.now() < reported + 10_000) return
      reported = Date.now()
      report(written)
    })
    underway.add(insert)
    if (underway.size === CONCURRENT_INSERTS) await Promise.race(underway)
  }
  await Promise.all(underway)
  await client.close()
}

const seedRate = async (store: Store, entries: number): Promise<number | undefined> => {
  const begun = await store.dangerouslyFind('seeds', BEGUN)
  const complete = await store.dangerouslyFind('seeds', COMPLETE)
  if (begun === undefined || complete === undefined) return undefined
  return (entries * 1000) / (complete.createdAt.getTime() - begun.createdAt.getTime())
}
