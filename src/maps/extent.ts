// Where and when the entries of an organisation are, which map programs show as a whole.
import { Type } from '@sinclair/typebox'
import { EntryListItem } from '../../schemas/entries.js'
import { viewOf } from '../../schemas/views.js'
import { Overloaded } from '../core/limits/scheduler.js'
import { type Expression, Query } from '../core/pipelines/stages.js'
import { created, isPlace, LATITUDE, LONGITUDE, NOTHING } from '../core/read/expressions.js'
import type { Reader } from '../core/read/reader.js'
import { QueryTimeout } from '../core/store/store.js'
import { UnreadableDocument } from '../core/write/errors.js'
import { Output } from '../core/write/output.js'
import { compileDocuments } from '../core/write/writer.js'

const place = (value: Expression): Expression => ({ $cond: [isPlace, value, NOTHING] })
const box = {
  west: { $min: place(LONGITUDE) },
  south: { $min: place(LATITUDE) },
  east: { $max: place(LONGITUDE) },
  north: { $max: place(LATITUDE) },
}
const interval = { _id: null, first: { $min: created }, last: { $max: created } }

const [number, instant] = [Type.Optional(Type.Number()), Type.Optional(Type.String({ format: 'date-time' }))]
const schema = Type.Object({ west: number, south: number, east: number, north: number, first: instant, last: instant })
const write = compileDocuments({ schema, named: new Map() })

/** The extent of what a key sees, as OGC API - Features has it: places in degrees, and times. Undefined without entries. */
export const extentOf = (reader: Reader) => {
  const { scope } = reader
  const hasPlaces = 'location' in viewOf(scope.without).shown(EntryListItem).properties
  const query = Query.in(scope, 'entries', [], [{ $group: { ...(hasPlaces && box), ...interval } }])
  const read = async (shared: Reader) => {
    const [found] = (await shared.read(query)).documents
    if (found === undefined) return undefined
    const out = new Output()
    write(found, out)
    const { west, south, east, north, first, last } = JSON.parse(out.take().toString())
    return {
      ...(west !== undefined && { spatial: { bbox: [[west, south, east, north]] } }),
      ...(first !== undefined && { temporal: { interval: [[first, last]] } }),
    }
  }
  // That it took too long is in the cache too, so that the next request does not try again.
  return reader
    .cached({ of: 'extent', hasPlaces }, (shared) => shared.large(() => read(shared)).catch(leftOut))
    .catch(leftOut)
}

/** It is left out where it takes too long to find, or is of a type that a record must not have. */
const leftOut = (error: unknown): undefined => {
  if (![QueryTimeout, Overloaded, UnreadableDocument].some((known) => error instanceof known)) throw error
}
