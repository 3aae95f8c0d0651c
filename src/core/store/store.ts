// The interface between the service and its database. Queries return documents as BSON, which the writer turns into JSON.
import { isUtf8 } from 'node:buffer'
import { BSON } from 'mongodb'
import { Bson, type BsonList } from '../bson/reader.js'
import { fieldOf } from '../bson/values.js'
import type { CollectionName, Documents, RecordCollection } from '../documents/collections.js'
import type { Index } from '../documents/indexes.js'
import type { Condition, Query } from '../pipelines/stages.js'
import type { Connections } from './mongo-connection.js'

export interface Store {
  /** The name of the database in the log and in the start message. */
  readonly description: string
  /** How many operations run at once; more of them wait. */
  readonly capacity: number
  /** Runs a query and returns all its documents, without the records that they refer to (references.ts adds these). */
  aggregate(query: Query, reading?: Reading): Promise<BsonList>
  /** The number of documents that match a query. Its stages do not count. */
  count(query: Query): Promise<number>
  /** Finds a document by its id in all organisations, as keys need it. */
  dangerouslyFind<C extends CollectionName>(collection: C, id: string): Promise<Documents[C] | undefined>
  /** Finds at most `limit` documents of all organisations, on the primary: commands must see what was just written. */
  dangerouslyFindAll<C extends CollectionName>(
    collection: C,
    condition: Condition,
    limit?: number,
  ): Promise<Documents[C][]>
  /** Reads all documents of a collection, of all organisations and also tombstones, in batches. */
  dangerouslyReadAll(collection: CollectionName): AsyncIterable<readonly Stored[]>
  /**
   * Adds documents, and stamps records. Fails if an `_id` exists already, or with `skipTaken` skips that document. A record
   * replaces a tombstone of the same organisation.
   */
  insert<C extends CollectionName>(
    collection: C,
    documents: readonly Documents[C][],
    options?: { skipTaken: boolean },
  ): Promise<void>
  /** Sets fields of the document with an id if it meets a condition, in one step. Returns whether there is such a document. */
  update<C extends CollectionName>(
    collection: C,
    id: string,
    fields: Partial<Documents[C]>,
    condition?: Condition,
  ): Promise<boolean>
  /** Adds records or replaces those with their `_id`, and stamps them. Fails if one is of another organisation. */
  upsert<C extends RecordCollection>(collection: C, documents: readonly Documents[C][]): Promise<void>
  /** Stamps records without a change stamp. Yields how many after each batch. If broken off, it can be called again. */
  stamp(collection: RecordCollection): AsyncIterable<number>
  /** Replaces records of an organisation by tombstones. Returns how many of them existed. */
  remove(collection: RecordCollection, organisation: string, ids: readonly string[]): Promise<number>
  /** Deletes documents for good, without tombstones. Like `stamp`, it yields how many, and can be called again. */
  dangerouslyErase(collection: CollectionName, condition: Condition): AsyncIterable<number>
  /** The time by the clock of the database, as it was when the call began or later. */
  now(): Promise<DatabaseTime>
  /**
   * Creates missing indexes, and sets how long tombstones are kept. With `keepExpiry`, a time already set stays.
   * @returns what the database refused, and why
   */
  ensureIndexes(options?: { keepExpiry: boolean }): Promise<readonly string[]>
  /** All indexes of a collection. A store without indexes gives none. */
  indexes(collection: CollectionName): Promise<StoredIndex[]>
  /** The indexes of records as `indexes` last found them; before that, the indexes that the service makes. */
  knownIndexes(collection: RecordCollection): readonly Index[]
  readonly connections?: Connections
  /** Rejects unless the database responds, or has responded to a query within the last second. */
  ping(): Promise<void>
  close(): Promise<void>
}

export interface StoredIndex {
  readonly name: string
  /** None if it is partial, descending or special, so that not every list can be read from it. */
  readonly fields: Index
  readonly bytes: number
}

/** Does work, and takes its time. */
export type Timed = <T>(work: () => Promise<T>) => Promise<T>

/** Reads what is not in the cache. What it waits for besides its timed work does not count. */
export type Read<T> = (timed: Timed) => Promise<T>

export interface Cache {
  /** What is in the cache under a key, or is read now. */
  cached<T>(key: string, read: Read<T>): Promise<T>
  /** Whether the result of a key is in the cache, or took little time when it was last read. */
  isQuick(key: string): boolean
}

/** Times by the clock of the database, in milliseconds. */
export interface DatabaseTime {
  readonly now: number
  /** When the last write was made that a majority of the replica set has. Without a replica set it is now. */
  readonly majority: number
}

export interface Reading {
  /** Ends the read after the command that is running; the promise rejects with its reason. */
  readonly signal?: AbortSignal
  /** Reads from the primary what a majority of the replica set has. Nothing of that can be rolled back. */
  readonly isMajority?: boolean
  /** Is told how many more bytes were read. The read goes on when the promise resolves. */
  readonly charge?: (bytes: number) => Promise<void>
}

/** A stored document of any writer, or the reason why it cannot be read. */
export type Stored =
  | { readonly document: Readonly<Record<string, unknown>>; readonly isIdBroken?: true }
  | { readonly error: string }

/** Turns bytes into an object. What is not UTF-8 is replaced, as in responses. `isIdBroken` tells whether the id was. */
export const storedOf = (array: Uint8Array): Stored => {
  const bytes = Buffer.from(array.buffer, array.byteOffset, array.length)
  try {
    const document = BSON.deserialize(bytes, { validation: { utf8: false } })
    const id = fieldOf(bytes, 0, '_id')
    const isBroken = id?.type === Bson.string && !isUtf8(bytes.subarray(id.at + 4, id.next - 1))
    return { document, ...(isBroken && { isIdBroken: true }) }
  } catch (error) {
    return { error: (error as Error).message }
  }
}

/** The database cannot be reached at the moment. A later try may succeed. */
export class StoreUnavailable extends Error {
  constructor(cause: unknown) {
    super('The database cannot be reached', { cause })
    this.name = 'StoreUnavailable'
  }
}

/** A document cannot move to another shard, which still has an old copy of it. A later try may succeed. */
export class ChunkMoved extends Error {
  constructor(cause: unknown) {
    super('A chunk was moved, and an old copy of the document is still there: try again in a quarter of an hour', {
      cause,
    })
    this.name = 'ChunkMoved'
  }
}

/** The database stopped the query because it took too long, or would have needed too much memory. */
export class QueryTimeout extends Error {
  constructor(cause: unknown) {
    super('The query took too long', { cause })
    this.name = 'QueryTimeout'
  }
}
