// The store on MongoDB, through the official driver. Documents come from the driver as the bytes that the server sent.
import {
  type AggregateOptions,
  MongoClient,
  MongoNetworkError,
  MongoOperationTimeoutError,
  MongoServerError,
  MongoSystemError,
} from 'mongodb'
import type { Query, Stage } from '../pipelines/stages.js'
import { BsonList } from '../serializer/bson.js'
import type { CollectionName, Documents } from './collections.js'
import { QueryTimeout, type Store, StoreUnavailable } from './store.js'

export interface MongoSettings {
  uri: string
  /** How long a query may take on the server, in milliseconds. */
  queryTimeoutMs: number
}

/** How long an operation waits for a server, in milliseconds: a caller must not wait two seconds for a 503. */
const SERVER_SELECTION_MS = 1500
const STREAM_BATCH = 1000
/** The name in MongoDB's list of error codes is MaxTimeMSExpired. */
const MAX_TIME_EXPIRED = 50

/** Connects when it is first used, and again whenever the connection was lost. The URI names the database. */
export const mongoStore = ({ uri, queryTimeoutMs }: MongoSettings): Store => {
  const client = new MongoClient(uri, { appName: 'field-data-api', serverSelectionTimeoutMS: SERVER_SELECTION_MS })
  const db = client.db()

  const cursor = ({ collection, match }: Query, stages: readonly Stage[], options: AggregateOptions = {}) =>
    db.collection(collection).aggregate([{ $match: match }, ...stages], { maxTimeMS: queryTimeoutMs, ...options })

  return {
    description: `MongoDB database ${db.databaseName}`,
    async aggregate(query) {
      const documents = await translated(cursor(query, query.stages, { raw: true }).toArray())
      return new BsonList(query.collection, [bsonArray(documents)])
    },
    async *stream(query) {
      const documents = cursor(query, query.stages, { raw: true, batchSize: STREAM_BATCH })
      try {
        while (await translated(documents.hasNext())) {
          yield new BsonList(query.collection, [bsonArray(documents.readBufferedDocuments())])
        }
      } finally {
        await documents.close()
      }
    },
    async count(query) {
      const [counted] = await translated(cursor(query, [{ $count: 'total' }]).toArray())
      return counted?.total ?? 0
    },
    async dangerouslyFind<C extends CollectionName>(collection: C, id: string) {
      const found = await translated(db.collection<{ _id: string }>(collection).findOne({ _id: id }))
      return (found as Documents[C] | null) ?? undefined
    },
    async insert(collection, documents) {
      await translated(db.collection<{ _id: string }>(collection).insertMany([...documents]))
    },
    async update(collection, id, fields) {
      const { matchedCount } = await translated(
        db.collection<{ _id: string }>(collection).updateOne({ _id: id }, { $set: fields }),
      )
      return matchedCount === 1
    },
    async ping() {
      await translated(db.command({ ping: 1 }))
    },
    close: () => client.close(),
  }
}

/** The driver's errors in the words of the port. */
const translated = async <T>(operation: Promise<T>): Promise<T> => {
  try {
    return await operation
  } catch (error) {
    if (isTimeout(error)) throw new QueryTimeout(error)
    if (isOutage(error)) throw new StoreUnavailable(error)
    throw error
  }
}

const isTimeout = (error: unknown): boolean =>
  error instanceof MongoOperationTimeoutError || (error instanceof MongoServerError && error.code === MAX_TIME_EXPIRED)

const isOutage = (error: unknown): boolean => error instanceof MongoNetworkError || error instanceof MongoSystemError

/** One BSON array of the bytes of documents: to each an element with its number as the name. */
const bsonArray = (documents: readonly unknown[]): Buffer => {
  const parts = documents.flatMap((document, i) => [Buffer.from(`\x03${i}\0`), document as Buffer])
  const size = parts.reduce((sum, part) => sum + part.length, 5)
  const head = Buffer.alloc(4)
  head.writeInt32LE(size)
  return Buffer.concat([head, ...parts, Buffer.alloc(1)], size)
}
