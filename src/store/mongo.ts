// The store on MongoDB, through the official driver. Documents come from the driver as the bytes that the server sent.
import { accessSync } from 'node:fs'
import {
  type AggregateOptions,
  type Document,
  MongoBulkWriteError,
  MongoClient,
  type MongoClientOptions,
  MongoNetworkError,
  MongoServerError,
  MongoSystemError,
  type ReadPreferenceMode,
  type RunCommandOptions,
} from 'mongodb'
import { arrayOf, BsonList, bsonArray, MAX_RESPONSE_BYTES, ResponseTooLarge } from '../bson/reader.js'
import { type CollectionName, collections, type Documents } from '../documents/collections.js'
import type { Condition, Query } from '../pipelines/stages.js'
import { withReferences } from './references.js'
import { QueryTimeout, type Store, StoreUnavailable } from './store.js'
import { whenStuck, within } from './stuck.js'

/** How to reach MongoDB. An option that the URI names goes before the setting of the same meaning. */
export interface MongoSettings {
  uri: string
  /** How long a query may take on the server, in milliseconds; before, it may wait as long for a connection that is free. */
  queryTimeoutMs: number
  /** How many connections to each server there are at the most. */
  poolSize: number
  /** How long an operation waits for a server that is not there, in milliseconds. */
  timeoutMs: number
  readPreference: ReadPreferenceMode
}

/**
 * How often the driver looks whether the server still responds, and how long it waits for that and for a new connection,
 * in milliseconds: after both together it breaks off whatever waits for a server that has gone silent.
 */
const HEARTBEAT_MS = 2000
const CONNECT_MS = 2000
const STREAM_BATCH = 1000
/**
 * What has documents come as bytes, and an error all the same as objects: the driver, which reads them, would fail on the
 * `topologyVersion` of a second one. It sets the latter option by itself, but for `find` alone.
 */
const RAW = { raw: true, documentsReturnedIn: 'firstBatch' }
/** Larger than any page: without it the server would keep what goes beyond 101 documents for a second round trip. */
const WHOLE_PAGE = 0x7fffffff
/** The name in MongoDB's list of error codes is MaxTimeMSExpired. */
const MAX_TIME_EXPIRED = 50
const DUPLICATE_KEY = 11_000
const AUTHENTICATION_FAILED = 18
/** Codes of a server that has no data for us at the moment: the primary changes, or a router misses a shard. */
const OUTAGES = new Set([
  AUTHENTICATION_FAILED,
  6, // HostUnreachable
  7, // HostNotFound
  89, // NetworkTimeout
  91, // ShutdownInProgress
  133, // FailedToSatisfyReadPreference
  134, // ReadConcernMajorityNotAvailableYet
  189, // PrimarySteppedDown
  262, // ExceededTimeLimit
  9001, // SocketException
  10_107, // NotWritablePrimary
  11_600, // InterruptedAtShutdown
  11_602, // InterruptedDueToReplStateChange
  13_435, // NotPrimaryNoSecondaryOk
  13_436, // NotPrimaryOrSecondary
])
/** Errors of the driver's pool, of which it exports no classes: it is exhausted, or its server has left the cluster. */
const POOL_ERRORS = new Set(['MongoWaitQueueTimeoutError', 'MongoPoolClosedError', 'MongoServerClosedError'])

type Read = Pick<Query, 'collection' | 'match'>

/** Connects when it is first used, and again whenever the connection was lost. The URI names the database. */
export const mongoStore = (settings: MongoSettings): Store => {
  const client = new MongoClient(settings.uri, clientOptions(settings))
  // What the driver finds out when it connects is told at once: a file that is not there, a pool that cannot be.
  const { tlsCAFile, tlsCRLFile, tlsCertificateKeyFile, minPoolSize, maxPoolSize } = client.options
  const { serverSelectionTimeoutMS, waitQueueTimeoutMS, connectTimeoutMS } = client.options
  for (const file of [tlsCAFile, tlsCRLFile, tlsCertificateKeyFile]) if (file !== undefined) accessSync(file)
  if (minPoolSize > maxPoolSize) throw new Error(`minPoolSize ${minPoolSize} is larger than maxPoolSize ${maxPoolSize}`)
  const db = client.db()
  const limit = { maxTimeMS: settings.queryTimeoutMs }
  /** What a read may wait for: a server, a connection, perhaps a new one, and the reply. */
  const longestReadMs = serverSelectionTimeoutMS + waitQueueTimeoutMS + connectTimeoutMS + settings.queryTimeoutMs

  let connected: Promise<unknown> | undefined
  /** A client whose first try to connect failed is closed, and stays so until it is told to connect again. */
  const connect = (): Promise<unknown> => {
    connected ??= client.connect().catch((error) => {
      connected = undefined
      throw error
    })
    return connected
  }

  whenStuck(client, () => {
    connected = client.close().then(() => client.connect())
    // Who asks next is told, and connects again.
    connected.catch(() => {
      connected = undefined
    })
  })

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

  const runRead = <T>(operation: () => Promise<T>): Promise<T> => within(longestReadMs, run(operation))

  const collection = (name: CollectionName) => db.collection<{ _id: string }>(name)

  const cursor = (query: Read, stages: readonly Document[], options: AggregateOptions = {}) =>
    collection(query.collection).aggregate([{ $match: query.match }, ...stages], { ...limit, ...options })

  /** The command of a query: a cursor of the driver's costs more than all else that it does for a page. */
  const commandOf = ({ collection, match }: Read, stages: readonly Document[]) => ({
    aggregate: collection,
    pipeline: [{ $match: match }, ...stages],
    cursor: { batchSize: WHOLE_PAGE },
    ...limit,
    ...(db.readConcern && { readConcern: db.readConcern }),
  })

  /** Sends a command, which takes nothing from the URI by itself. */
  const send = (command: object, options: RunCommandOptions = {}) =>
    db.command(command, { readPreference: db.readPreference, ...options })

  /** Runs an operation that the driver does not repeat by itself, and another one if the connection was lost meanwhile. */
  const orAgain = <T>(operation: () => Promise<T>, again: () => Promise<T>): Promise<T> =>
    runRead(operation).catch((error) => {
      if (isWorthAgain(error)) return again()
      throw error
    })

  /** The first document of a query as an object. */
  const firstOf = async (query: Read, stages: readonly Document[] = []): Promise<Document | undefined> => {
    const command = commandOf(query, stages)
    const [first] = await orAgain(
      async () => (await send(command)).cursor.firstBatch,
      () => runRead(() => cursor(query, stages).toArray()),
    )
    return first
  }

  /**
   * The documents in one reply, as the bytes of the array that the server sent; undefined if there are more. The driver's
   * cursor would make an object and a copy of each.
   */
  const wholeBatch = async (query: Query, signal?: AbortSignal): Promise<Buffer | undefined> => {
    const options = { fieldsAsRaw: { firstBatch: true }, promoteLongs: false, ...(signal && { signal }) }
    const { cursor } = await send(commandOf(query, query.stages), options)
    if (cursor.id.isZero()) return arrayOf(cursor.firstBatch)
    // It may meet another server than the cursor is on, which then forgets it by itself.
    await send({ killCursors: query.collection, cursors: [cursor.id] })
    return undefined
  }

  /** The documents through a cursor of the driver's, which takes as many replies as are needed. */
  async function* batches(query: Query, signal?: AbortSignal): AsyncGenerator<BsonList> {
    const documents = cursor(query, query.stages, { ...RAW, batchSize: STREAM_BATCH, ...(signal && { signal }) })
    try {
      while (await runRead(() => documents.hasNext())) {
        // Bytes, because of RAW, of which the driver's types say nothing.
        yield new BsonList(query.collection, [bsonArray(documents.readBufferedDocuments() as unknown as Buffer[])])
      }
    } finally {
      await documents.close()
    }
  }

  const read = async (query: Query, signal?: AbortSignal): Promise<BsonList> => {
    const batch = await orAgain(
      () => wholeBatch(query, signal),
      async () => undefined,
    )
    if (batch !== undefined) return new BsonList(query.collection, [batch])
    const list = lastLarge.then(() => readLarge(query, signal))
    lastLarge = list.catch(() => {})
    return list
  }

  let lastLarge: Promise<unknown> = Promise.resolve()
  /** What does not fit into one reply may take 64 MiB: such reads come one after the other. */
  const readLarge = async (query: Query, signal?: AbortSignal): Promise<BsonList> => {
    // After a connection was lost the cursor tries once more by itself.
    const found: Buffer[] = []
    let size = 0
    for await (const list of batches(query, signal)) {
      found.push(...list.batches)
      for (const { length } of list.batches) size += length
      if (size > MAX_RESPONSE_BYTES) throw new ResponseTooLarge()
    }
    return new BsonList(query.collection, found)
  }

  return {
    description: `MongoDB database ${db.databaseName}`,
    async aggregate(query, signal) {
      return withReferences(await read(query, signal), query.references, (found) => read(found, signal))
    },
    async *stream(query, signal) {
      for await (const list of batches(query, signal)) {
        yield await withReferences(list, query.references, (found) => read(found, signal))
      }
    },
    async count(query) {
      return (await firstOf(query, [{ $count: 'total' }]))?.total ?? 0
    },
    async dangerouslyFind<C extends CollectionName>(name: C, id: string) {
      return (await firstOf({ collection: name, match: { _id: id } })) as Documents[C] | undefined
    },
    async dangerouslyFindAll<C extends CollectionName>(name: C, condition: Condition, most = 0) {
      const found = runRead(() =>
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
      await runRead(() => send({ ping: 1 }))
    },
    close: () => client.close(),
  }
}

/** The driver's options: what the URI says, else the settings. */
const clientOptions = ({
  uri,
  queryTimeoutMs,
  poolSize,
  timeoutMs,
  readPreference,
}: MongoSettings): MongoClientOptions => {
  const options: MongoClientOptions = {
    appName: 'field-data-api',
    maxPoolSize: poolSize,
    serverSelectionTimeoutMS: timeoutMs,
    connectTimeoutMS: CONNECT_MS,
    waitQueueTimeoutMS: Math.max(timeoutMs, queryTimeoutMs),
    heartbeatFrequencyMS: HEARTBEAT_MS,
    readPreference,
  }
  const named = new Set([...new URLSearchParams(uri.replace(/^[^?]*/, '')).keys()].map((name) => name.toLowerCase()))
  return Object.fromEntries(Object.entries(options).filter(([name]) => !named.has(name.toLowerCase())))
}

const isTimeout = (error: unknown): boolean => error instanceof MongoServerError && error.code === MAX_TIME_EXPIRED

/** Whether all that went wrong with an insert is that some documents are there already. */
const isAllTaken = (error: unknown): boolean =>
  error instanceof MongoBulkWriteError &&
  error.code === DUPLICATE_KEY &&
  [error.writeErrors].flat().every(({ code }) => code === DUPLICATE_KEY) &&
  error.result.getWriteConcernError() === undefined

const isOutage = (error: unknown): boolean =>
  error instanceof MongoNetworkError ||
  error instanceof MongoSystemError ||
  POOL_ERRORS.has((error as Error).name) ||
  (error instanceof MongoServerError && OUTAGES.has(Number(error.code))) ||
  isSystemError(error)

/** Errors that the driver hands on as Node makes them: of DNS for a mongodb+srv URI, and of writing to a lost connection. */
const isSystemError = (error: unknown): boolean => {
  const { code, syscall } = error as NodeJS.ErrnoException
  return syscall?.startsWith('query') === true || code === 'EPIPE' || code === 'ECONNRESET'
}

/** Whether there was a server and a second try may find another; who has waited for one does not wait again. */
const isWorthAgain = (error: unknown): boolean => {
  if (!(error instanceof StoreUnavailable)) return false
  const { cause } = error
  if (cause instanceof MongoServerError) return cause.code !== AUTHENTICATION_FAILED
  return cause instanceof MongoNetworkError || isSystemError(cause)
}
