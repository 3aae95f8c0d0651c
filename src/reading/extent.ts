// Where and when the entries of an organisation are, which map programs show as a whole.
import { EntryListItem } from '../../schemas/entries.js'
import { viewOf } from '../../schemas/views.js'
import { Overloaded, type Ticket } from '../limits/scheduler.js'
import { type Expression, Query, type Scope } from '../pipelines/stages.js'
import { type KeptTotals, QueryTimeout, type Store } from '../store/store.js'
import { created, isPlace, LATITUDE, LONGITUDE, NOTHING, objectsOf } from './aggregates.js'
import { asLarge } from './listing.js'

/** As OGC API - Features has it: west, south, east and north in degrees, and two times (RFC 3339). */
export interface Extent {
  readonly spatial?: { readonly bbox: readonly number[][] }
  readonly temporal?: { readonly interval: readonly string[][] }
}

type Found = Record<'west' | 'south' | 'east' | 'north', number> & Record<'first' | 'last', Date | null>

const place = (value: Expression): Expression => ({ $cond: [isPlace, value, NOTHING] })
const box = {
  west: { $min: place(LONGITUDE) },
  south: { $min: place(LATITUDE) },
  east: { $max: place(LONGITUDE) },
  north: { $max: place(LATITUDE) },
}
/** An `_id` of null would make it a digest, whose match has records that belong to nobody. */
const interval = { _id: { $literal: 0 }, first: { $min: created }, last: { $max: created } }

/**
 * The box around all places that a key sees, and the first and the last `createdAt`. Undefined without entries, and where it
 * takes too long to find, or is of a type that a record must not have.
 */
export const extentOf = async (
  store: Pick<Store & KeptTotals, 'aggregate' | 'keep' | 'isQuick'>,
  scope: Scope,
  ticket: Ticket,
): Promise<Extent | undefined> => {
  const hasPlaces = 'location' in viewOf(scope.without).shown(EntryListItem).properties
  const query = Query.in(scope, 'entries', [], [{ $group: { ...(hasPlaces && box), ...interval } }])
  const read = async (): Promise<Extent | undefined> => {
    const [found] = await objectsOf<Found>(await store.aggregate(query))
    if (found === undefined) return undefined
    const { west, south, east, north, first, last } = found
    const box = [west, south, east, north]
    return {
      // A number of another type than a record may have says nothing.
      ...(box.every((edge) => typeof edge === 'number') && { spatial: { bbox: [box] } }),
      ...(first && last && { temporal: { interval: [[first.toISOString(), last.toISOString()]] } }),
    }
  }
  // That it took too long is kept as well, so that the next request does not try again.
  const kept = () => store.keep(query, () => read().catch(leftOut))
  return asLarge(store, query, ticket, kept).catch(leftOut)
}

const leftOut = (error: unknown): undefined => {
  if (![QueryTimeout, Overloaded].some((known) => error instanceof known)) throw error
}
