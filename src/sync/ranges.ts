// The ranges of a feed after a cursor: first the rows that have settled, and then the rows that have not.
import { FIRST_TIME, OTHER_ID_TYPES } from '../pipelines/keyset.js'
import type { Cursor, FeedPosition } from './cursor.js'
import type { FeedRange, StampBounds } from './queries.js'

/** How far ahead of the clock a stamp may be that is read, in milliseconds: longer than a page takes to be read. */
const MAX_AHEAD_MS = 60_000

/** The times that divide a feed, in milliseconds: rows before the horizon have settled, and now is when the read begins. */
export interface Times {
  readonly horizon: number
  readonly now: number
}

export const BEFORE_ALL_STAMPS: FeedPosition = { stamp: FIRST_TIME.getTime(), id: null }

export const before = ({ horizon }: Times): StampBounds => ({ $lt: new Date(horizon) })
const upTo = ({ now }: Times): StampBounds => ({ $lte: new Date(now + MAX_AHEAD_MS) })

/**
 * A cursor whose settled rows are before the horizon. Its own may be beyond it when the clock has gone back, or was ahead once.
 * They count as fresh then: what is stored meanwhile with an earlier stamp comes when it has settled.
 */
export const withinHorizon = (cursor: Cursor, { horizon }: Times): Cursor => {
  const { settled, fresh, isSettledOnly } = cursor
  if (settled.stamp === null || settled.stamp < horizon) return cursor
  return { ...cursor, settled: { stamp: horizon, id: null }, fresh: isSettledOnly ? null : (fresh ?? settled) }
}

/** The last fresh row of a cursor, unless it has settled. After the clock has gone back, it counts for nothing. */
export const freshOf = ({ fresh }: Cursor, { horizon, now }: Times): FeedPosition | undefined =>
  fresh !== null && fresh.stamp !== null && fresh.stamp >= horizon && fresh.stamp <= now ? fresh : undefined

/** The ranges of the feed after a cursor, in order. A range is read only if the ranges before it do not fill the page. */
export const rangesOf = (cursor: Cursor, times: Times): FeedRange[] => {
  const { settled, isSettledOnly } = cursor
  const fresh = freshOf(cursor, times)
  // Without a fresh row to go on from, settled and fresh rows are one range.
  if (fresh === undefined && !isSettledOnly) return rangesBehind(settled, upTo(times))
  const settledRanges = rangesBehind(settled, before(times))
  return fresh === undefined ? settledRanges : [...settledRanges, ...rangesBehind(fresh, upTo(times))]
}

const rangesBehind = ({ stamp, id, isBefore }: FeedPosition, bounds: StampBounds): FeedRange[] => {
  const at = stamp === null ? null : new Date(stamp)
  const later: FeedRange = { stamp: at === null ? { $gte: FIRST_TIME, ...bounds } : { $gt: at, ...bounds } }
  if (id !== null) {
    // A condition on the id finds texts alone. The others follow them.
    const ids = [{ [isBefore ? '$gte' : '$gt']: id }, { $type: OTHER_ID_TYPES }]
    return [...ids.map((ids) => ({ stamp: at, ids })), later]
  }
  return at === null ? [{ stamp: null }, later] : [{ stamp: { $gte: at, ...bounds } }]
}
