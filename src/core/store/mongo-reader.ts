// Reads from MongoDB. The driver gives documents as the bytes that the server sent.
import { type AggregateOptions, type Document, ReadConcern } from 'mongodb'
import { BsonList } from '../bson/reader.js'
import type { CollectionName, Documents } from '../documents/collections.js'
import type { Condition, Query } from '../pipelines/stages.js'
import { MAX_RESPONSE_BYTES, ResponseTooLarge } from '../write/errors.js'
import { inOrderOfIds } from './empty-values.js'
import type { MongoConnection } from './mongo-connection.js'
import { type Reading, type Store, storedOf } from './store.js'

const STREAM_BATCH = 1000
/** How long a reply to a query tells that the database responds. */
const RESPONDED_MS = 1000
/**
 * With these options the driver returns documents as bytes. The second option keeps the rest of a reply as objects: otherwise
 * the driver fails when it compares the `topologyVersion` of errors.
 */
const RAW = { raw: true, documentsReturnedIn: 'firstBatch' }
/** Larger than any page. Without it, the server sends 101 documents, and the others need a second request. */
const WHOLE_PAGE = 0x7fffffff

type Matching = Pick<Query, 'collection' | 'match'>
type Staged = Pick<Query, 'collection' | 'match' | 'stages' | 'union'>

/** Where a query is read, if not where the URI says. */
type ReadFrom = Pick<AggregateOptions, 'readPreference' | 'readConcern'>
const MAJORITY: ReadFrom = { readPreference: 'primary', readConcern: new ReadConcern('majority') }

/** The stages of a query after its `$match`, and those of its union. */
const stagesOf = ({ stages, union }: Staged): readonly Document[] =>
  union === undefined
    ? stages
    : [...stages, { $unionWith: { coll: union.collection, pipeline: [{ $match: union.match }, ...stagesOf(union)] } }]

/** The documents of a query as bytes, batch by batch, without a time limit: it would count for all batches together. */
export type Stream = (query: Matching, stages: readonly Document[]) => AsyncGenerator<readonly Buffer[]>

export const mongoReader = (connection: MongoConnection) => {
  const limit = { maxTimeMS: connection.settings.queryTimeoutMs }
  let responded = Number.NEGATIVE_INFINITY

  /** The command for a query. A cursor of the driver would take longer than all else that it does for a page. */
  const commandOf = ({ collection, match }: Matching, stages: readonly Document[], from: ReadFrom = {}) => {
    const { readConcern = connection.db.readConcern } = from
    return {
      aggregate: collection,
      pipeline: [{ $match: match }, ...stages],
      cursor: { batchSize: WHOLE_PAGE },
      ...limit,
      ...(readConcern && { readConcern }),
    }
  }

  const firstOf = async (query: Matching, stages: readonly Document[] = []): Promise<Document | undefined> => {
    const reply = await connection.runAgain(() => connection.send(commandOf(query, stages)))
    return reply.cursor.firstBatch[0]
  }

  /** The documents of a query as parts of one reply, and whether these are all. A cursor of the driver would copy each document. */
  const firstBatch = async (query: Staged, from: ReadFrom): Promise<{ list: BsonList; isWhole: boolean }> => {
    const { readConcern, ...server } = from
    const options = { fieldsAsRaw: { firstBatch: true }, promoteLongs: false, ...server }
    const { cursor } = await connection.send(commandOf(query, stagesOf(query), from), options)
    const isWhole = cursor.id.isZero()
    // The command may reach another server than the one with the cursor. Then the cursor ends by its own timeout.
    if (!isWhole) await connection.send({ killCursors: query.collection, cursors: [cursor.id] }, server)
    return { list: new BsonList(query.collection, cursor.firstBatch), isWhole }
  }

  async function* batches({ collection, match }: Matching, stages: readonly Document[], options?: AggregateOptions) {
    const pipeline = [{ $match: match }, ...stages]
    const more = { ...RAW, batchSize: STREAM_BATCH, ...options }
    const cursor = connection.collection(collection).aggregate(pipeline, more)
    try {
      while (await connection.runRead(() => cursor.hasNext())) {
        // These are Buffers because of RAW, which the driver's types do not reflect.
        yield cursor.readBufferedDocuments() as unknown as Buffer[]
      }
    } finally {
      await cursor.close()
    }
  }

  // No signal goes to the driver: it would close the connection, and not every database then stops the query, which would
  // go on without anybody counting it.
  const read = async (query: Staged, { signal, isMajority, charge }: Reading): Promise<BsonList> => {
    const from = isMajority ? MAJORITY : {}
    signal?.throwIfAborted()
    const { list, isWhole } = await connection.runAgain(() => firstBatch(query, from))
    // A ping would ask the same server.
    if (!isMajority) responded = performance.now()
    await charge?.(list.size)
    if (isWhole) return list
    // The driver retries a cursor once by itself. It reads the first batch again, which is charged already.
    const all: Buffer[] = []
    let size = 0
    let charged = list.size
    for await (const documents of batches(query, stagesOf(query), { ...limit, ...from })) {
      size += documents.reduce((sum, { length }) => sum + length, 0)
      if (size > MAX_RESPONSE_BYTES) throw new ResponseTooLarge()
      all.push(...documents)
      if (size > charged) await charge?.(size - charged)
      charged = Math.max(charged, size)
      signal?.throwIfAborted()
    }
    return new BsonList(query.collection, all)
  }

  let isMongo: boolean | undefined
  /** Whether an index may tell missing values from null. On MongoDB none does. No other server names an allocator of memory. */
  const tellsApart = async (): Promise<boolean> => {
    isMongo ??= 'allocator' in (await connection.runAgain(() => connection.send({ buildInfo: 1 })))
    return !isMongo
  }

  return {
    stream: batches,
    aggregate: (query, reading = {}) => inOrderOfIds(query, (query) => read(query, reading), tellsApart),
    async count({ collection, counted }) {
      return (await firstOf({ collection, match: counted }, [{ $count: 'total' }]))?.total ?? 0
    },
    async dangerouslyFind<C extends CollectionName>(collection: C, id: string) {
      return (await firstOf({ collection, match: { _id: id } })) as Documents[C] | undefined
    },
    async dangerouslyFindAll<C extends CollectionName>(collection: C, condition: Condition, most = 0) {
      const options = { ...limit, limit: most, readPreference: 'primary' } as const
      const found = connection.runRead(() => connection.collection(collection).find(condition, options).toArray())
      return (await found) as unknown[] as Documents[C][]
    },
    async *dangerouslyReadAll(collection) {
      for await (const documents of batches({ collection, match: {} }, [])) yield documents.map(storedOf)
    },
    async now() {
      const hello = () => connection.send({ hello: 1 }, { readPreference: 'primary' })
      const { localTime, lastWrite } = await connection.runRead(hello)
      const now = localTime.getTime()
      return { now, majority: lastWrite?.majorityWriteDate.getTime() ?? now }
    },
    async ping() {
      // A busy database needs no further work, and takes its time for it.
      if (performance.now() - responded < RESPONDED_MS) return
      await connection.runRead(() => connection.send({ ping: 1 }))
    },
  } satisfies Partial<Store> & { stream: Stream }
}
