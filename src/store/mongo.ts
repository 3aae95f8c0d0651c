// The store on MongoDB, through the official driver. Documents come from the driver as the bytes that the server sent.
import {
  type AggregateOptions,
  MongoBulkWriteError,
  MongoClient,
  MongoNetworkError,
  MongoServerError,
  MongoSystemError,
} from 'mongodb'
import type { Condition, Query, Stage } from '../pipelines/stages.js'
import { BsonList } from '../serializer/bson.js'
import { type CollectionName, collections, type Documents } from './collections.js'
import { QueryTimeout, type Store, StoreUnavailable } from './store.js'

export interface MongoSettings {
  uri: string
  /** How long a query may take on the server, in milliseconds. */
  queryTimeoutMs: number
}

/** How long an operation waits for a server, in milliseconds: a caller must not wait two seconds for a 503. */
const SERVER_SELECTION_MS = 1500
/**
 * How often the driver looks whether the server still answers, and how long it waits for that, in milliseconds: after
 * both together it breaks off whatever waits for a server that has gone silent without closing its connections.
 */
const HEARTBEAT_MS = 2000
const CONNECT_MS = 1500
const STREAM_BATCH = 1000
/** Larger than any page: without it the server would keep what goes beyond 101 documents for a second round trip. */
const WHOLE_PAGE = 0x7fffffff
/** The name in MongoDB's list of error codes is MaxTimeMSExpired. */
const MAX_TIME_EXPIRED = 50
const DUPLICATE_KEY = 11_000
/** Codes of a server that is there and takes nothing from us: a wrong password, or a change of the primary. */
const OUTAGES = new Set([
  18, // AuthenticationFailed
  91, // ShutdownInProgress
  189, // PrimarySteppedDown
  10_107, // NotWritablePrimary
  11_600, // InterruptedAtShutdown
  11_602, // InterruptedDueToReplStateChange
  13_435, // NotPrimaryNoSecondaryOk
  13_436, // NotPrimaryOrSecondary
])

/** Connects when it is first used, and again whenever the connection was lost. The URI names the database. */
export const mongoStore = ({ uri, queryTimeoutMs }: MongoSettings): Store => {
  const client = new MongoClient(uri, {
    appName: 'field-data-api',
    serverSelectionTimeoutMS: SERVER_SELECTION_MS,
    connectTimeoutMS: CONNECT_MS,
    heartbeatFrequencyMS: HEARTBEAT_MS,
  })
  const db = client.db()
  const limit = { maxTimeMS: queryTimeoutMs }

  let connected: Promise<unknown> | undefined
  /** A client whose first try to connect failed is closed, and stays so until it is told to connect again. */
  const connect = (): Promise<unknown> => {
    connected ??= client.connect().catch((error) => {
      connected = undefined
      throw error
    })
    return connected
  }

  /** Runs an operation, with the driver's errors in the words of the port. */
  const run = async <T>(operation: () => Promise<T>): Promise<T> => {
    try {
      await connect()
      return await operation()
    } catch (thrown) {
      // Whatever ends an insert of many comes inside an error of its own.
      const error =
        thrown instanceof MongoBulkWriteError && isOutage(thrown.errorResponse) ? thrown.errorResponse : thrown
      if (isTimeout(error)) throw new QueryTimeout(error)
      if (isOutage(error)) throw new StoreUnavailable(error)
      throw error
    }
  }

  const collection = (name: CollectionName) => db.collection<{ _id: string }>(name)

  const cursor = (query: Query, stages: readonly Stage[], options: AggregateOptions = {}) =>
    collection(query.collection).aggregate([{ $match: query.match }, ...stages], { ...limit, ...options })

  return {
    description: `MongoDB database ${db.databaseName}`,
    async aggregate(query) {
      const documents = await run(() => cursor(query, query.stages, { raw: true, batchSize: WHOLE_PAGE }).toArray())
      return new BsonList(query.collection, [bsonArray(documents)])
    },
    async *stream(query) {
      const documents = cursor(query, query.stages, { raw: true, batchSize: STREAM_BATCH })
      try {
        while (await run(() => documents.hasNext())) {
          yield new BsonList(query.collection, [bsonArray(documents.readBufferedDocuments())])
        }
      } finally {
        await documents.close()
      }
    },
    async count(query) {
      const [counted] = await run(() => cursor(query, [{ $count: 'total' }]).toArray())
      return counted?.total ?? 0
    },
    async dangerouslyFind<C extends CollectionName>(name: C, id: string) {
      const found = await run(() => collection(name).findOne({ _id: id }, limit))
      return (found as Documents[C] | null) ?? undefined
    },
    async dangerouslyFindAll<C extends CollectionName>(name: C, condition: Condition, most = 0) {
      const found = run(() =>
        collection(name)
          .find(condition, { ...limit, limit: most })
          .toArray(),
      )
      return (await found) as unknown[] as Documents[C][]
    },
    async insert(name, documents, options) {
      try {
        await run(() => collection(name).insertMany([...documents], { ordered: options?.skipTaken !== true }))
      } catch (error) {
        if (options?.skipTaken !== true || !isAllTaken(error)) throw error
      }
    },
    async update(name, id, fields) {
      const { matchedCount } = await run(() => collection(name).updateOne({ _id: id }, { $set: fields }))
      return matchedCount === 1
    },
    async ensureIndexes() {
      for (const [name, { indexes }] of Object.entries(collections)) {
        const specs = indexes.map((fields) => ({ key: Object.fromEntries(fields.map((field) => [field, 1 as const])) }))
        if (specs.length > 0) await run(() => collection(name as CollectionName).createIndexes(specs))
      }
    },
    async ping() {
      await run(() => db.command({ ping: 1 }))
    },
    close: () => client.close(),
  }
}

const isTimeout = (error: unknown): boolean => error instanceof MongoServerError && error.code === MAX_TIME_EXPIRED

/** Whether all that went wrong with an insert is that some documents are there already. */
const isAllTaken = (error: unknown): boolean =>
  error instanceof MongoBulkWriteError &&
  error.code === DUPLICATE_KEY &&
  [error.writeErrors].flat().every(({ code }) => code === DUPLICATE_KEY) &&
  error.result.getWriteConcernError() === undefined

/** Of a mongodb+srv URI the servers are looked up in DNS, whose errors come as Node makes them. */
const isOutage = (error: unknown): boolean =>
  error instanceof MongoNetworkError ||
  error instanceof MongoSystemError ||
  (error instanceof MongoServerError && OUTAGES.has(Number(error.code))) ||
  (error as NodeJS.ErrnoException).syscall?.startsWith('query') === true

/** One BSON array of the bytes of documents: to each an element with its number as the name. */
const bsonArray = (documents: readonly unknown[]): Buffer => {
  const parts = documents.flatMap((document, i) => [Buffer.from(`\x03${i}\0`), document as Buffer])
  const size = parts.reduce((sum, part) => sum + part.length, 5)
  const head = Buffer.alloc(4)
  head.writeInt32LE(size)
  return Buffer.concat([head, ...parts, Buffer.alloc(1)], size)
}
