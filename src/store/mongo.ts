// The store on MongoDB, through the official driver. The driver returns documents as the bytes that the server sent.
import { accessSync } from 'node:fs'
import {
  type AggregateOptions,
  BSON,
  type Document,
  MongoBulkWriteError,
  MongoClient,
  type MongoClientOptions,
  MongoNetworkError,
  MongoServerError,
  MongoSystemError,
  ReadConcern,
  type ReadPreferenceMode,
  type RunCommandOptions,
} from 'mongodb'
import { arrayOf, BsonList, bsonArray, MAX_RESPONSE_BYTES, ResponseTooLarge } from '../bson/reader.js'
import {
  CHANGED_AT,
  type Collection,
  type CollectionName,
  collections,
  DELETED_AT,
  type Documents,
  isRecordCollection,
  type RecordCollection,
  TOMBSTONE_INDEX,
  UNSTAMPED,
} from '../documents/collections.js'
import type { Condition, Query } from '../pipelines/stages.js'
import { Connections } from './connections.js'
import { withReferences } from './references.js'
import { QueryTimeout, type Reading, type Store, StoreUnavailable, storedOf } from './store.js'
import { Running, whenStuck } from './stuck.js'

/** How to connect to MongoDB. Options in the URI override the settings below. */
export interface MongoSettings {
  uri: string
  /** The maximum time of a query on the server, in milliseconds. It may wait as long for a free connection. */
  queryTimeoutMs: number
  /** The maximum number of connections to each server. */
  poolSize: number
  /** How long an operation waits for a server that cannot be reached, in milliseconds. */
  timeoutMs: number
  readPreference: ReadPreferenceMode
  /** How long the database keeps tombstones. */
  tombstoneDays: number
  /** How long after its stamp a write may be committed, in milliseconds. */
  settleMs: number
}

/**
 * The driver's interval between heartbeats, and its time limit for a heartbeat and for a new connection, in
 * milliseconds. After both together the driver aborts all operations on a server that no longer responds. One that waits
 * for a new connection may wait for two in a row.
 */
const HEARTBEAT_MS = 1500
const CONNECT_MS = 1800
/** How often a read is tried again, and how long after it began, in milliseconds. */
const RETRIES = 2
const RETRY_MS = 1000
const STREAM_BATCH = 1000
/** How long a reply to a query tells that the database responds, in milliseconds. */
const RESPONDED_MS = 1000
/** A write may always take as long, in milliseconds: a database far away needs some time even for a single record. */
const LEAST_WRITE_MS = 1000
/**
 * With these options the driver returns documents as bytes. The second one, which it sets only for `find`, keeps the rest
 * of a reply as objects, because otherwise the driver fails when it compares the `topologyVersion` of errors.
 */
const RAW = { raw: true, documentsReturnedIn: 'firstBatch' }
/** Larger than any page. Without it, the server sends 101 documents, and the others need a second request. */
const WHOLE_PAGE = 0x7fffffff
/** MongoDB's error code MaxTimeMSExpired. */
const MAX_TIME_EXPIRED = 50
const DUPLICATE_KEY = 11_000
const INDEX_OPTIONS_CONFLICT = 85
const SECONDS_A_DAY = 86_400
/** Tombstones outlive the cursors that need them, so that none is deleted while a page is read. */
const SPARE_SECONDS = 3600
const AUTHENTICATION_FAILED = 18
/** Error codes of a server that cannot serve data at the moment, for example because the primary changes. */
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
/**
 * What FerretDB says, under the code of any internal error, when its PostgreSQL does not run, starts or stops, or has closed the
 * connection.
 */
const INTERNAL_ERROR = 1
const WITHOUT_POSTGRESQL =
  /failed to connect to|the database system is|terminating connection|too many clients|unexpected EOF|conn closed|connection reset/
/** Errors of the driver when its pool is exhausted, or when the server, the pool or the client was closed meanwhile. */
const POOL_ERRORS = new Set([
  'MongoWaitQueueTimeoutError',
  'MongoPoolClosedError',
  'MongoServerClosedError',
  'MongoTopologyClosedError',
  'MongoNotConnectedError',
  'MongoClientClosedError',
])

type Owned = Pick<Documents[RecordCollection], '_id' | 'organisation'>

type Read = Pick<Query, 'collection' | 'match'>

/** Where a query is read, if not where the URI says. */
interface ReadFrom {
  readonly readPreference?: 'primary'
  readonly readConcern?: ReadConcern
}
const MAJORITY: ReadFrom = { readPreference: 'primary', readConcern: new ReadConcern('majority') }

/** The stages of a query after its `$match`, and those of its union. */
const stagesOf = ({ stages, union }: Query): readonly Document[] =>
  union === undefined
    ? stages
    : [...stages, { $unionWith: { coll: union.collection, pipeline: [{ $match: union.match }, ...stagesOf(union)] } }]

/** A store that connects at its first use, and reconnects after the connection was lost. The URI names the database. */
export const mongoStore = (settings: MongoSettings): Store => {
  let client = new MongoClient(settings.uri, clientOptions(settings))
  // The driver would find these errors only when it connects: a missing file, and contradictory sizes of the pool.
  const { tlsCAFile, tlsCRLFile, tlsCertificateKeyFile, minPoolSize, maxPoolSize } = client.options
  const { serverSelectionTimeoutMS, waitQueueTimeoutMS, connectTimeoutMS } = client.options
  for (const file of [tlsCAFile, tlsCRLFile, tlsCertificateKeyFile]) if (file !== undefined) accessSync(file)
  if (minPoolSize > maxPoolSize) throw new Error(`minPoolSize ${minPoolSize} is larger than maxPoolSize ${maxPoolSize}`)
  let db = client.db()
  const limit = { maxTimeMS: settings.queryTimeoutMs }
  /** A read may wait for a server, for a connection of the pool, for a new connection, and for the reply. */
  const longestReadMs = serverSelectionTimeoutMS + waitQueueTimeoutMS + connectTimeoutMS + settings.queryTimeoutMs

  /** Called with each new client. */
  let onClient = (_client: MongoClient): void => {}
  let connected: Promise<unknown> | undefined
  /** Connects the client. If its first try fails, the client stays closed until connect() is called again. */
  const connect = (): Promise<unknown> => {
    connected ??= client.connect().catch((error) => {
      connected = undefined
      throw error
    })
    return connected
  }

  const running = new Running()
  /** When the last reply to a query came. */
  let responded = Number.NEGATIVE_INFINITY

  /**
   * Takes a new client for all further operations if this one is stuck. Nothing waits for the old one to close,
   * because that may hang as well.
   */
  const watch = (): void =>
    whenStuck(client, running, () => {
      client.close().catch(() => {})
      client = new MongoClient(settings.uri, clientOptions(settings))
      db = client.db()
      connected = undefined
      onClient(client)
      watch()
    })
  watch()

  /** Runs an operation, and turns the driver's errors into those of the Store interface. */
  const run = async <T>(operation: () => Promise<T>): Promise<T> => {
    try {
      await connect()
      return await operation()
    } catch (thrown) {
      // The driver wraps the error that ended a bulk insert.
      const error =
        thrown instanceof MongoBulkWriteError && isOutage(thrown.errorResponse) ? thrown.errorResponse : thrown
      if (error instanceof MongoServerError && error.code === MAX_TIME_EXPIRED) throw new QueryTimeout(error)
      if (isOutage(error)) throw new StoreUnavailable(error)
      throw error
    }
  }

  const runRead = <T>(operation: () => Promise<T>): Promise<T> => running.wait(longestReadMs, run(operation))

  const collection = (name: CollectionName) => db.collection<{ _id: string }>(name)

  /** The command for a query. A cursor of the driver would take longer than all else that it does for a page. */
  const commandOf = (
    { collection, match }: Read,
    stages: readonly Document[],
    { readConcern = db.readConcern } = {},
  ) => ({
    aggregate: collection,
    pipeline: [{ $match: match }, ...stages],
    cursor: { batchSize: WHOLE_PAGE },
    ...limit,
    ...(readConcern && { readConcern }),
  })

  /** Sends a command. The driver does not add the read preference of the URI to a command, so this function does. */
  const send = (command: object, options: RunCommandOptions = {}) =>
    db.command(command, { readPreference: db.readPreference, ...options })

  /**
   * Runs a read, and again if the connection was lost: the driver does not retry commands. The second try may find that the
   * pool is being cleared, hence a third. A read that has waited for long is not tried again: its server is gone, while a
   * connection that was closed meanwhile fails at once.
   */
  const withRetry = <T>(
    operation: () => Promise<T>,
    triesLeft = RETRIES,
    until = performance.now() + RETRY_MS,
  ): Promise<T> =>
    runRead(operation).catch((error) => {
      if (triesLeft === 0 || !isWorthAgain(error) || performance.now() > until) throw error
      return withRetry(operation, triesLeft - 1, until)
    })

  /** The first document of a query, as an object. */
  const firstOf = async (query: Read, stages: readonly Document[] = []): Promise<Document | undefined> => {
    const reply = await withRetry(() => send(commandOf(query, stages)))
    return reply.cursor.firstBatch[0]
  }

  /**
   * The documents of a query as the array of bytes that the server sent, and whether these are all: they may not fit into
   * one reply. A cursor of the driver would create an object and a copy for each document.
   */
  const firstBatch = async (query: Query, from: ReadFrom): Promise<{ bytes: Buffer; isWhole: boolean }> => {
    const { readConcern, ...server } = from
    const options = { fieldsAsRaw: { firstBatch: true }, promoteLongs: false, ...server }
    const { cursor } = await send(commandOf(query, stagesOf(query), from), options)
    const isWhole = cursor.id.isZero()
    // The command may reach another server than the one with the cursor. Then the cursor ends by its own timeout.
    if (!isWhole) await send({ killCursors: query.collection, cursors: [cursor.id] }, server)
    return { bytes: arrayOf(cursor.firstBatch), isWhole }
  }

  /** The documents of a query as bytes. There is no time limit, because it counts for a cursor as a whole. */
  async function* buffers(query: Read, stages: readonly Document[], options?: AggregateOptions) {
    const pipeline = [{ $match: query.match }, ...stages]
    const documents = collection(query.collection).aggregate(pipeline, { ...RAW, batchSize: STREAM_BATCH, ...options })
    try {
      while (await runRead(() => documents.hasNext())) {
        // These are Buffers because of RAW, which the driver's types do not reflect.
        yield documents.readBufferedDocuments() as unknown as Buffer[]
      }
    } finally {
      await documents.close()
    }
  }

  /**
   * The documents of a query. No signal goes to the driver: it would close the connection, and not every database then
   * stops the query, which would go on without anybody counting it.
   */
  const read = async (query: Query, { signal, isMajority, onBytes }: Reading = {}): Promise<BsonList> => {
    const from = isMajority ? MAJORITY : {}
    const goOn = async (more: number) => {
      await onBytes?.(more)
      signal?.throwIfAborted()
    }
    signal?.throwIfAborted()
    const { bytes, isWhole } = await withRetry(() => firstBatch(query, from))
    // A ping would ask the same server.
    if (!isMajority) responded = performance.now()
    await goOn(bytes.length)
    if (isWhole) return new BsonList(query.collection, [bytes])
    // No withRetry() here: the driver retries a cursor once by itself.
    const batches: Buffer[] = []
    let size = 0
    const options = { ...limit, ...from }
    for await (const documents of buffers(query, stagesOf(query), options)) {
      const batch = bsonArray(documents)
      batches.push(batch)
      size += batch.length
      if (size > MAX_RESPONSE_BYTES) throw new ResponseTooLarge()
      await goOn(batch.length)
    }
    return new BsonList(query.collection, batches)
  }

  const longestWriteMs = Math.max(settings.settleMs / 2, LEAST_WRITE_MS)

  /** Sets the stamps of some documents again, in smaller parts for as long as that takes too long. */
  const stampAgain = async (ids: readonly string[], set: (ids: readonly string[]) => Promise<unknown>) => {
    const began = performance.now()
    await set(ids)
    if (performance.now() - began <= longestWriteMs) return
    const half = Math.ceil(ids.length / 2)
    for (const part of [ids.slice(0, half), ids.slice(half)]) if (part.length > 0) await stampAgain(part, set)
  }

  /**
   * Runs a write that stamps documents. A statement gets its stamp when it begins, and if it is committed late, a reader of
   * the feed may have passed it. So the stamps of a write that took long are set again, also when it failed: some of it may
   * have been done.
   * @param documents finds what the write may have stamped
   */
  const inTime = async <T>(
    name: RecordCollection,
    ids: readonly string[],
    documents: Condition,
    stamp: typeof CHANGED_AT | typeof DELETED_AT,
    write: () => Promise<T>,
  ): Promise<T> => {
    const began = performance.now()
    const [outcome] = await Promise.allSettled([run(write)])
    if (performance.now() - began > longestWriteMs) {
      await stampAgain(ids, (some) =>
        run(() =>
          collection(name).updateMany({ ...documents, _id: { $in: [...some] } }, [{ $set: { [stamp]: '$$NOW' } }]),
        ),
      )
    }
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  }

  /**
   * Writes records with a change stamp. A record replaces the tombstone of its organisation that has its id, and with
   * `replace` also the record that has its id. Otherwise it is inserted, so an id that is taken is a duplicate key.
   *
   * The update does not use $replaceWith, because after it the MongoDB-compatible server of the tests takes every index
   * for a multikey index, and then sorts pages instead of reading them in the order of an index.
   */
  const write = (name: RecordCollection, documents: readonly Owned[], ordered: boolean, replace = false) => {
    const updates = documents.map((document) => {
      const { _id, organisation } = document
      const tombstone = { deletedFrom: organisation, organisation: { $exists: false } }
      return {
        updateOne: {
          filter: replace ? { _id, $or: [{ organisation }, tombstone] } : { _id, ...tombstone },
          update: [{ $project: { _id: 1 } }, { $set: { ...literals(document), [CHANGED_AT]: '$$NOW' } }],
          upsert: true,
        },
      }
    })
    const ids = documents.map(({ _id }) => _id)
    const organisations = [...new Set(documents.map(({ organisation }) => organisation))]
    const written = { organisation: { $in: organisations } }
    return inTime(name, ids, written, CHANGED_AT, () => collection(name).bulkWrite(updates, { ordered }))
  }

  /** Makes the database delete old tombstones. A changed setting changes the index, unless it is to be kept. */
  const expireTombstones = async (name: RecordCollection, keepExpiry: boolean): Promise<void> => {
    const index = { key: keyOf([DELETED_AT]), ...ofTombstones }
    const expireAfterSeconds = settings.tombstoneDays * SECONDS_A_DAY + SPARE_SECONDS
    try {
      await run(() => collection(name).createIndexes([{ ...index, expireAfterSeconds }]))
    } catch (error) {
      if ((error as MongoServerError).code !== INDEX_OPTIONS_CONFLICT) throw error
      if (keepExpiry) return
      await run(() => db.command({ collMod: name, index: { keyPattern: index.key, expireAfterSeconds } }))
    }
  }

  return {
    description: `MongoDB database ${db.databaseName}`,
    // The driver takes 0 for no limit.
    capacity: maxPoolSize || settings.poolSize,
    async aggregate(query, reading) {
      return withReferences(await read(query, reading), query.references, (found) => read(found, reading), reading)
    },
    async count({ collection, counted }) {
      return (await firstOf({ collection, match: counted }, [{ $count: 'total' }]))?.total ?? 0
    },
    async dangerouslyFind<C extends CollectionName>(name: C, id: string) {
      return (await firstOf({ collection: name, match: { _id: id } })) as Documents[C] | undefined
    },
    async dangerouslyFindAll<C extends CollectionName>(name: C, condition: Condition, most = 0) {
      const found = runRead(() =>
        collection(name)
          .find(condition, { ...limit, limit: most, readPreference: 'primary' })
          .toArray(),
      )
      return (await found) as unknown[] as Documents[C][]
    },
    async *dangerouslyReadAll(collection) {
      for await (const documents of buffers({ collection, match: {} }, [])) yield documents.map(storedOf)
    },
    async insert(name, documents, options) {
      const ordered = options?.skipTaken !== true
      try {
        if (isRecordCollection(name)) await write(name, documents as readonly unknown[] as Owned[], ordered)
        else await run(() => collection(name).insertMany([...documents], { ordered }))
      } catch (error) {
        if (ordered || !isAllTaken(error)) throw error
      }
    },
    async upsert(name, documents) {
      await write(name, documents, true, true)
    },
    async *stamp(name) {
      const found = buffers({ collection: name, match: UNSTAMPED }, [{ $project: { _id: 1 } }])
      for await (const documents of found) {
        const ids = documents.map((bytes) => BSON.deserialize(bytes)._id)
        const stampAll = () =>
          collection(name).updateMany({ _id: { $in: ids }, ...UNSTAMPED }, [{ $set: { [CHANGED_AT]: '$$NOW' } }])
        const stamped = { organisation: { $exists: true } }
        yield (await inTime(name, ids, stamped, CHANGED_AT, stampAll)).modifiedCount
      }
    },
    async remove(name, organisation, ids) {
      const tombstone = { deletedFrom: '$organisation', deletedAt: '$$NOW' }
      const found = { _id: { $in: [...ids] }, organisation }
      const removed = { deletedFrom: organisation, organisation: { $exists: false } }
      const removeAll = () => collection(name).updateMany(found, [{ $project: tombstone }])
      return (await inTime(name, ids, removed, DELETED_AT, removeAll)).modifiedCount
    },
    async *dangerouslyErase(name, condition) {
      const erase = async (some: Condition) => (await run(() => collection(name).deleteMany(some))).deletedCount
      for await (const documents of buffers({ collection: name, match: condition }, [{ $project: { _id: 1 } }])) {
        const ids = documents.map((bytes) => BSON.deserialize(bytes, { validation: { utf8: false } })._id)
        yield await erase({ $and: [{ _id: { $in: ids } }, condition] })
      }
      // What was written meanwhile, and ids that cannot be sent back as they are.
      yield await erase(condition)
    },
    async now() {
      const { localTime, lastWrite } = await runRead(() => send({ hello: 1 }, { readPreference: 'primary' }))
      const now = localTime.getTime()
      return { now, majority: lastWrite?.majorityWriteDate.getTime() ?? now }
    },
    async update(name, id, fields, condition) {
      const { matchedCount } = await run(() => collection(name).updateOne({ ...condition, _id: id }, { $set: fields }))
      return matchedCount === 1
    },
    async ensureIndexes(options) {
      for (const [name, { indexes }] of Object.entries(collections) as [CollectionName, Collection][]) {
        const hasTombstones = isRecordCollection(name)
        if (hasTombstones) await expireTombstones(name, options?.keepExpiry === true)
        const specs = [
          ...indexes.map((fields) => ({ key: keyOf(fields) })),
          ...(hasTombstones ? [{ key: keyOf(TOMBSTONE_INDEX), ...ofTombstones }] : []),
        ]
        if (specs.length > 0) await run(() => collection(name).createIndexes(specs))
      }
    },
    watchConnections() {
      const connections = new Connections(maxPoolSize)
      onClient = (client) => connections.watch(client)
      onClient(client)
      return connections
    },
    async ping() {
      // A busy database needs no further work, and takes its time for it.
      if (performance.now() - responded < RESPONDED_MS) return
      await runRead(() => send({ ping: 1 }))
    },
    close: () => client.close(),
  }
}

/** The fields of a document without its id, each as a plain value. */
const literals = ({ _id, ...fields }: Owned): Document =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, { $literal: value }]))

const keyOf = (fields: readonly string[]) => Object.fromEntries(fields.map((field) => [field, 1 as const]))

/** Keeps records out of the indexes of tombstones, even a record that has a field `deletedAt` of its own. */
const ofTombstones = { partialFilterExpression: { deletedFrom: { $exists: true } } }

/** The driver's options from the settings, without those that the URI overrides. */
const clientOptions = (settings: MongoSettings): MongoClientOptions => {
  const { uri, queryTimeoutMs, poolSize, timeoutMs, readPreference } = settings
  const options: MongoClientOptions = {
    appName: 'field-data-api',
    maxPoolSize: poolSize,
    serverSelectionTimeoutMS: timeoutMs,
    connectTimeoutMS: CONNECT_MS,
    waitQueueTimeoutMS: Math.max(timeoutMs, queryTimeoutMs),
    heartbeatFrequencyMS: HEARTBEAT_MS,
    // Otherwise, a read whose new connection failed would wait for a server once more, after it had waited for long.
    maxAdaptiveRetries: 0,
    readPreference,
  }
  const named = new Set([...new URLSearchParams(uri.replace(/^[^?]*/, '')).keys()].map((name) => name.toLowerCase()))
  return Object.fromEntries(Object.entries(options).filter(([name]) => !named.has(name.toLowerCase())))
}

/** Whether an insert failed only because some documents exist already. */
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
  (error instanceof MongoServerError && error.code === INTERNAL_ERROR && WITHOUT_POSTGRESQL.test(error.message)) ||
  isSystemError(error)

/** An error of Node that the driver passes on: DNS for a mongodb+srv URI, or a write to a lost connection. */
const isSystemError = (error: unknown): boolean => {
  const { code, syscall } = error as NodeJS.ErrnoException
  return syscall?.startsWith('query') === true || code === 'EPIPE' || code === 'ECONNRESET'
}

/** Whether a second try may succeed. If no server was found in time or the login failed, it would only take longer. */
const isWorthAgain = (error: unknown): boolean => {
  if (!(error instanceof StoreUnavailable)) return false
  const { cause } = error
  if (cause instanceof MongoServerError) return cause.code !== AUTHENTICATION_FAILED
  return cause instanceof MongoNetworkError || isSystemError(cause)
}
