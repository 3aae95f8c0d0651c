// The port: what the service asks of a database. Reads leave documents as BSON bytes; the serializer writes JSON from them.

import type { BsonList } from '../bson/reader.js'
import type { CollectionName, Documents } from '../documents/collections.js'
import type { Condition, Query } from '../pipelines/stages.js'

export interface Store {
  /** What the database is, for the log and the banner. */
  readonly description: string
  /**
   * Runs the query's match and stages, and resolves with all documents.
   * @param signal breaks the read off when nobody waits for it any longer; the promise is rejected with its reason
   */
  aggregate(query: Query, signal?: AbortSignal): Promise<BsonList>
  /** The same in batches, each of them fetched when it is asked for. Leaving the loop ends the read. */
  stream(query: Query, signal?: AbortSignal): AsyncIterable<BsonList>
  /** How many documents the query's match finds, whatever its stages do with them. */
  count(query: Query): Promise<number>
  /** The document with the id, of whatever organisation: for the keys, which tell the organisation. */
  dangerouslyFind<C extends CollectionName>(collection: C, id: string): Promise<Documents[C] | undefined>
  /** The documents of all organisations that fulfil a condition, a limited number of them if one is given. */
  dangerouslyFindAll<C extends CollectionName>(
    collection: C,
    condition: Condition,
    limit?: number,
  ): Promise<Documents[C][]>
  /** Adds documents; one whose `_id` is taken makes it fail, or is passed over where that is asked for. */
  insert<C extends CollectionName>(
    collection: C,
    documents: readonly Documents[C][],
    options?: { skipTaken: boolean },
  ): Promise<void>
  /** Sets fields of the document with the id; says whether there was one. */
  update<C extends CollectionName>(collection: C, id: string, fields: Partial<Documents[C]>): Promise<boolean>
  /** Makes the indexes of all collections that are missing. */
  ensureIndexes(): Promise<void>
  /** Rejects unless the database responds. */
  ping(): Promise<void>
  close(): Promise<void>
}

/** The database cannot be reached now: a later try may go through. */
export class StoreUnavailable extends Error {
  constructor(cause: unknown) {
    super('The database cannot be reached', { cause })
    this.name = 'StoreUnavailable'
  }
}

/** The database gave the query up because it took too long. */
export class QueryTimeout extends Error {
  constructor(cause: unknown) {
    super('The query took too long', { cause })
    this.name = 'QueryTimeout'
  }
}
