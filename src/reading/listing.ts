// What is read for lists and records: some rows, a record by its id, and how many records match.
import type { BsonDocument } from '../bson/reader.js'
import { LARGE, type Ticket } from '../limits/scheduler.js'
import type { Resource } from '../pipelines/resource.js'
import { type Listing, Query, type Scope, sortedSlice } from '../pipelines/stages.js'
import { problem, RETRY_LATER } from '../problems/problems.js'
import { readWithReferences } from '../store/references.js'
import { type KeptTotals, QueryTimeout, type Reading, type Store } from '../store/store.js'
import { timeoutProblem } from './cost.js'
import type { Projection } from './projection.js'
import type { ReadSlice } from './walk.js'

/** Reads rows of a list as a projection shows them. */
export const sliceReader = <L extends Listing>(
  store: Pick<Store, 'aggregate'>,
  resource: Resource<L>,
  scope: Scope,
  listing: L,
  { query }: Projection,
): ((reading: Reading) => ReadSlice) => {
  const conditions = resource.conditions(listing)
  const { sortBy, fields } = listing
  // The sort field tells where a page ends.
  const sorted = fields === undefined || sortBy === 'id' ? {} : { [sortBy]: 1 as const }
  return (reading) =>
    ({ range, ...slice }) =>
      readWithReferences(
        store,
        query(scope, range === undefined ? conditions : [...conditions, range], sortedSlice(listing, slice), sorted),
        reading,
      ).catch((error) => {
        throw timeoutProblem(resource, listing, error)
      })
}

/** Reads a record by its id as a projection shows it. It is undefined if the organisation has none with this id. */
export const readRecord = async (
  store: Pick<Store, 'aggregate'>,
  { query }: Projection,
  scope: Scope,
  id: string,
  reading: Reading,
): Promise<BsonDocument | undefined> => {
  const { documents } = await readWithReferences(store, query(scope, [{ _id: id }], []), reading)
  return documents[0]
}

/** How many records a list has. Counting may read all of them, so it is a large task of its own, unless the total is kept. */
export const countOf = async <L extends Listing>(
  store: Pick<Store & KeptTotals, 'count' | 'isKept'>,
  { collection, conditions }: Resource<L>,
  scope: Scope,
  listing: L,
  ticket: Ticket,
): Promise<number> => {
  const query = Query.in(scope, collection, conditions(listing), [])
  const own = ticket.isLarge || store.isKept(query) ? undefined : await ticket.beside(LARGE)
  try {
    return await store.count(query)
  } catch (error) {
    if (!(error instanceof QueryTimeout)) throw error
    const detail = 'The database took too long to count the records: total=false leaves the total out'
    throw problem('query_timeout', detail, { headers: RETRY_LATER })
  } finally {
    own?.release()
  }
}
