// What is read for lists and records: some rows, a record by its id, and how many records match.
import type { BsonDocument } from '../bson/reader.js'
import { LARGE, type Ticket } from '../limits/scheduler.js'
import type { Resource } from '../pipelines/resource.js'
import { type Listing, Query, type Scope, type Slice, sortedSlice } from '../pipelines/stages.js'
import { tookTooLong } from '../problems/problems.js'
import { readWithReferences } from '../store/references.js'
import type { KeptTotals, Reading, Store } from '../store/store.js'
import { onTimeout, timeoutProblem } from './cost.js'
import { projectionOf } from './projection.js'
import type { ReadSlice } from './walk.js'
import type { Doing } from './whole-list.js'

type Reads = Pick<Store, 'aggregate' | 'knownIndexes'>

/** The query of some rows of a list; by default, of the page with the number `page`. */
export const listQuery = <L extends Listing>(
  resource: Resource<L>,
  scope: Scope,
  listing: L,
  slice: Slice = { isBackward: false, skip: (listing.page - 1) * listing.perPage, limit: listing.perPage },
): Query => {
  const { fields, sortBy } = listing
  const conditions = resource.conditions(listing)
  if (slice.range !== undefined) conditions.push(slice.range)
  // The sort field tells where a page ends.
  const sorted = fields === undefined || sortBy === 'id' ? {} : { [sortBy]: 1 as const }
  return projectionOf(resource, scope.without, listing).query(scope, conditions, sortedSlice(listing, slice), sorted)
}

/** Reads rows of a list, as its parameters choose what is shown. */
export const sliceReader =
  <L extends Listing>(store: Reads, resource: Resource<L>, scope: Scope, listing: L, reading: Reading): ReadSlice =>
  (slice) =>
    readWithReferences(store, listQuery(resource, scope, listing, slice), reading).catch(
      onTimeout(() => timeoutProblem(store, resource, listing)),
    )

export const recordQuery = (resource: Resource, scope: Scope, id: string): Query =>
  projectionOf(resource, scope.without, {}, 'record').query(scope, [{ _id: id }], [])

export const readRecord = async (store: Reads, query: Query, reading: Reading): Promise<BsonDocument | undefined> =>
  (await readWithReferences(store, query, reading)).documents[0]

/**
 * Does each piece of the work of a request as a large task of its own, unless the request is one already. What a piece reads
 * is held until it ends.
 */
export const inLargePieces =
  (ticket: Ticket): Doing =>
  async (work) => {
    const { scheduler, key, signal, size } = ticket
    const piece = size === 'large' ? ticket : await scheduler.enter(key, LARGE, signal)
    const { held } = piece
    return work(piece).finally(() => {
      piece.hold(held)
      if (piece !== ticket) piece.release()
    })
  }

/** Reads what depends on all matches of a query: a large task of its own, unless it is known to be quick. */
export const asLarge = <T>(
  store: Pick<KeptTotals, 'isQuick'>,
  query: Query,
  ticket: Ticket,
  read: () => Promise<T>,
): Promise<T> => (store.isQuick(query) ? read() : inLargePieces(ticket)(read))

/** How many records a list has. */
export const countOf = async <L extends Listing>(
  store: Pick<Store & KeptTotals, 'count' | 'isQuick'>,
  { collection, conditions }: Resource<L>,
  scope: Scope,
  listing: L,
  ticket: Ticket,
): Promise<number> => {
  const query = Query.in(scope, collection, conditions(listing), [])
  return asLarge(store, query, ticket, () => store.count(query)).catch(
    onTimeout(() => tookTooLong(' to count the records: total=false leaves the total out')),
  )
}
