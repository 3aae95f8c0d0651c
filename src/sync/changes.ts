// Reads a change feed: the records of an organisation and the tombstones of its deleted ones, merged in the order of
// their stamps. First come the rows that are older than the horizon. No write commits before them any more, so a copy goes
// on after them for good. Then come the younger ones, which come once more when they have settled.
import { type BsonList, bsonDocument } from '../core/bson/reader.js'
import { dateOf, fieldOf, sortKeyOfId } from '../core/bson/values.js'
import { CHECKPOINT, DELETED_AT, DELETED_FROM } from '../core/documents/collections.js'
import { FIRST_TIME, OTHER_ID_TYPES } from '../core/pipelines/keyset.js'
import type { Query } from '../core/pipelines/stages.js'
import { problem } from '../core/problems/problems.js'
import { positionOf } from '../core/read/position.js'
import { cut, readRanges } from '../core/read/walk.js'
import type { Reading, Store } from '../core/store/store.js'
import { withBsonErrors } from '../core/write/errors.js'
import type { Clock } from './clock.js'
import { type Cursor, type FeedPosition, START } from './cursor.js'
import { FeedItem } from './feed-items.js'
import { changesIn, deletionsIn, type Feed, type FeedRange, rowAt, type Stamp, type StampBounds } from './queries.js'

const DAY_MS = 86_400_000

/** How far ahead of the clock a stamp may be that is read: longer than a page takes to be read. */
const MAX_AHEAD_MS = 60_000

/** How many rows of the organisation are looked at for a page of a narrower scope, at the most. */
const MOST_LOOKED_AT = 10_000

/** The times that divide a feed, in milliseconds: rows before the horizon have settled, and now is when the read begins. */
type Times = { readonly horizon: number; readonly now: number }

type Stamped = Pick<FeedItem | FeedPosition, 'stamp'>

const BEFORE_ALL_STAMPS: FeedPosition = { stamp: FIRST_TIME.getTime(), id: null }

const settledBefore = ({ horizon }: Times): StampBounds => ({ $lt: new Date(horizon) })
const readableUpTo = ({ now }: Times): StampBounds => ({ $lte: new Date(now + MAX_AHEAD_MS) })

export interface FeedSettings {
  readonly settleMs: number
  readonly stamp: Stamp
  readonly tombstoneDays: number
  /** How many rows of the organisation are looked at for each row of a page of a narrower scope: 20 by default. */
  readonly lookedAt?: number
}

export interface FeedPage {
  readonly items: readonly FeedItem[]
  readonly hasMore: boolean
  readonly next: Cursor
  /** A stamp that is new to the copy is this one or a later one. */
  readonly newFrom: number
}

export interface Found {
  /** The newest stamp, if there is one; where there may be newer ones, a time behind all. */
  readonly newest: number | null | undefined
  /** A stamp that the look-up has not found is this one or a later one. */
  readonly from: number
}

export class Feeds {
  constructor(
    readonly store: Pick<Store, 'aggregate'>,
    readonly clock: Clock,
    readonly settings: FeedSettings,
  ) {}

  /**
   * The cursor of a walk that shows what was changed at a time or later, and has settled. The beginning of 1970 stands for the
   * beginning of all times.
   * @throws the problem `cursor_expired` if deletions since then may have been forgotten, and `records_without_stamp` at the
   * beginning, because such records would be missing
   */
  async beginAt(feed: Feed, since: Date, reading?: Reading): Promise<Cursor> {
    const times = await this.#times()
    const { horizon } = times
    const time = Math.min(since.getTime(), horizon)
    if (time !== 0) {
      this.#requireKnown(time, times, 'changedSince', '1970-01-01T00:00:00Z')
      return { since: time, isSettledOnly: true, settled: { stamp: time, id: null }, fresh: null }
    }
    if ((await this.#rowsIn(feed, { stamp: null }, 1, reading)).rows.length > 0) {
      const { stamp } = this.settings
      const remedy = stamp === 'changedAt' ? '`npm run db:stamp` stamps them' : 'whoever writes them has to set it'
      const detail = `Records without ${stamp} would be missing; ${remedy}. cursor=* shows them`
      throw problem('records_without_stamp', detail)
    }
    return { since: horizon, isSettledOnly: true, settled: BEFORE_ALL_STAMPS, fresh: null }
  }

  /**
   * The page that follows a cursor, or else the first page: rows that have settled, and then rows that have not, up to now.
   * @throws the problem `cursor_expired` if deletions that the copy needs may have been forgotten
   */
  async page(feed: Feed, cursor: Cursor | undefined, perPage: number, reading?: Reading): Promise<FeedPage> {
    // The clock is read before the rows: what was committed before the request began has an earlier stamp.
    const times = await this.#times()
    const first: Cursor = { since: times.horizon, isSettledOnly: false, settled: START, fresh: null }
    const from = withinHorizon(cursor ?? first, times)
    const known = Math.max(from.since, from.settled.stamp ?? from.since)
    this.#requireKnown(known, times, 'cursor', '*')

    // One row more than the page shows tells whether there is a next page.
    const edges: FeedPosition[] = []
    const { rows: read, limit } = await readRanges(rangesOf(from, times), perPage + 1, 2, async (range, limit) => {
      if (edges.length > 0) return []
      const { rows, edge } = await this.#rowsIn(feed, range, limit, reading)
      if (edge !== undefined) edges.push(edge)
      return rows
    })
    const end = await this.#endOf([...read, ...edges], times)
    const isInPage = ({ stamp }: Stamped) => (stamp ?? end) <= end
    const rows = read.filter(isInPage)
    const [edge] = edges.filter(isInPage)
    // A walk by times goes on behind its last row, whose stamp tells for how long nothing was new.
    const isByRows = feed.scope.only === undefined || (from.isSettledOnly && edge === undefined)
    const { rows: items, next } = cut({ rows, limit }, this.settings.stamp, (items, following) =>
      isByRows || following !== undefined
        ? cursorAfter(from, items, following, times)
        : { next: cursorAt(from, items.at(-1), edge, times) },
    )
    const hasMore = rows.length > items.length || edge !== undefined
    const page = { items, hasMore, next, newFrom: firstStampAfter(next.fresh ?? next.settled) }
    if (!from.isSettledOnly) return page
    // Tools that keep a time may end at a page without items, and would never get beyond it.
    if (edge !== undefined && items.length === 0)
      return { ...page, items: [checkpointAt(feed.collection, edge.stamp as number)] }
    return hasMore ? page : this.#withCheckpoint(feed, from, page, perPage, times)
  }

  /** Looks for stamps. In a narrower scope a page is read: the newest stamp may be of what the scope does not have. */
  async lookUp(feed: Feed, isSettledOnly: boolean, from: number, perPage: number, reading?: Reading): Promise<Found> {
    if (feed.scope.only === undefined) return { newest: await this.newest(feed, isSettledOnly), from }
    const cursor = { since: from, isSettledOnly, settled: { stamp: from, id: null }, fresh: null }
    const { items, hasMore, newFrom } = await this.page(feed, cursor, perPage, reading)
    return { newest: hasMore ? Number.POSITIVE_INFINITY : items.at(-1)?.stamp, from: newFrom }
  }

  async newest(feed: Feed, isSettledOnly: boolean): Promise<number | undefined> {
    const times = await this.#times()
    const { stamp } = this.settings
    const range = { stamp: isSettledOnly ? settledBefore(times) : { $lte: new Date(times.now) } }
    const list = await this.store.aggregate(rowAt(feed, stamp, range, 0, -1), { isMajority: true })
    const stamps = itemsOf(list, stamp).map((row) => row.stamp as number)
    return stamps.length === 0 ? undefined : Math.max(...stamps)
  }

  async #times(): Promise<Times> {
    const { now, majority } = await this.clock()
    return { now, horizon: Math.min(now, majority) - this.settings.settleMs }
  }

  #requireKnown(since: number, { now }: Times, parameter: string, beginning: string): void {
    const { tombstoneDays } = this.settings
    const detail = `${parameter} is older than ${tombstoneDays} days; begin again with ${parameter}=${beginning}`
    if (since < now - tombstoneDays * DAY_MS) throw problem('cursor_expired', detail)
  }

  /**
   * The first rows of a range in their order. For a narrower scope, only so many rows of the organisation are looked at, or all of
   * one stamp. If there are more, `edge` is where the scan stopped. It is read before the rows: until then, a row can only move behind it.
   */
  async #rowsIn(feed: Feed, range: FeedRange, limit: number, reading?: Reading) {
    const { stamp, lookedAt = 20 } = this.settings
    const read = async (query: Query): Promise<FeedItem[]> =>
      inOrder(itemsOf(await this.store.aggregate(query, { ...reading, isMajority: true }), stamp))
    // A copy that begins has no deleted record, and none that has left the scope, without a stamp.
    if (range.stamp === null) return { rows: await read(changesIn(feed, stamp, range, limit)) }
    if (feed.scope.only === undefined) {
      const both = changesIn(feed, stamp, range, limit).and(deletionsIn(feed, stamp, range, limit))
      return { rows: (await read(both)).slice(0, limit) }
    }
    let [looked, edge]: [FeedRange, FeedPosition?] = [range]
    if (!(range.stamp instanceof Date)) {
      // Mostly nothing is new in the whole organisation.
      if ((await read(rowAt(feed, stamp, range, 0))).length === 0) return { rows: [] }
      const [last] = await read(rowAt(feed, stamp, range, Math.min(lookedAt * limit, MOST_LOOKED_AT) - 1))
      if (last !== undefined) {
        edge = edgeAt(last, range.stamp)
        looked = { stamp: { ...range.stamp, $lt: new Date(edge.stamp as number) } }
      }
    }
    const changes = await read(changesIn(feed, stamp, looked, limit))
    // Deletions are hard to find among all records, so they are looked for only as far as the page goes. What is changed between
    // the two reads has a stamp that comes later.
    const last = changes[limit - 1]?.stamp
    if (last != null && !(looked.stamp instanceof Date)) looked = { stamp: { ...looked.stamp, $lte: new Date(last) } }
    const found = inOrder([...changes, ...(await read(deletionsIn(feed, stamp, looked, limit)))])
    return { rows: found.slice(0, limit), edge }
  }

  /**
   * The time behind which a stamp is in the future. A record that was changed while it was read has a stamp after the time of
   * the beginning, but it belongs to the page: its earlier change is not there any more. So the clock is read once more.
   */
  async #endOf(rows: readonly Stamped[], { now }: Times): Promise<number> {
    return rows.every(({ stamp }) => (stamp ?? now) <= now) ? now : (await this.#times()).now
  }

  /**
   * Adds a checkpoint to the last page of a walk by times that has found nothing new for long: the deletion of a record that
   * nobody has. Its stamp is a time from which such a walk can begin later: the newest record would be too old one day. A walk
   * that has passed what others have, and ends without a row, may have found nothing for long too.
   */
  #withCheckpoint(feed: Feed, from: Cursor, page: FeedPage, perPage: number, { now, horizon }: Times): FeedPage {
    const restMs = Math.min(DAY_MS, (this.settings.tombstoneDays * DAY_MS) / 2)
    const isBehindOthers = feed.scope.only !== undefined && page.items.length === 0 && from.settled.stamp !== from.since
    if (page.newFrom > now - restMs && !isBehindOthers) return page
    if (page.items.length === perPage) return { ...page, hasMore: true }
    const items = [...page.items, checkpointAt(feed.collection, horizon)]
    return { ...page, items, next: { ...page.next, settled: { stamp: horizon, id: null } } }
  }
}

/**
 * A cursor whose settled rows are before the horizon. Its own may be beyond it when the clock has gone back, or was ahead once.
 * They count as fresh then: what is stored meanwhile with an earlier stamp comes when it has settled.
 */
const withinHorizon = (cursor: Cursor, { horizon }: Times): Cursor => {
  const { settled, fresh, isSettledOnly } = cursor
  if (settled.stamp === null || firstStampAfter(settled) <= horizon) return cursor
  return { ...cursor, settled: { stamp: horizon, id: null }, fresh: isSettledOnly ? null : (fresh ?? settled) }
}

/** The last fresh row of a cursor, unless it has settled. After the clock has gone back, it counts for nothing. */
const freshOf = ({ fresh }: Cursor, { horizon, now }: Times): FeedPosition | undefined =>
  fresh !== null && fresh.stamp !== null && fresh.stamp >= horizon && fresh.stamp <= now ? fresh : undefined

/** The ranges of the feed after a cursor, in order. A range is read only if the ranges before it do not fill the page. */
export const rangesOf = (cursor: Cursor, times: Times): FeedRange[] => {
  const { settled, isSettledOnly } = cursor
  const fresh = freshOf(cursor, times)
  if (fresh !== undefined) return [...rangesOn(settled, settledBefore(times)), ...rangesOn(fresh, readableUpTo(times))]
  // Without a fresh row to go on from, settled and fresh rows are one range.
  return rangesOn(settled, isSettledOnly ? settledBefore(times) : readableUpTo(times))
}

const rangesOn = ({ stamp, id, isInclusive }: FeedPosition, bounds: StampBounds): FeedRange[] => {
  const at = stamp === null ? null : new Date(stamp)
  const later: FeedRange = { stamp: at === null ? { $gte: FIRST_TIME, ...bounds } : { $gt: at, ...bounds } }
  if (id !== null) {
    // A condition on the id finds texts alone. The others follow them.
    const ids = [{ [isInclusive ? '$gte' : '$gt']: id }, { $type: OTHER_ID_TYPES }]
    return [...ids.map((ids) => ({ stamp: at, ids })), later]
  }
  return at === null ? [{ stamp: null }, later] : [{ stamp: { $gte: at, ...bounds } }]
}

/** A checkpoint, as the database gives deletions. */
const checkpointAt = (collection: string, time: number): FeedItem => {
  const length = String.fromCharCode(CHECKPOINT.length + 1)
  const fields = `\x02_id\0${length}\0\0\0${CHECKPOINT}\0\x08deleted\0\x01\x09${DELETED_AT}\0`
  const deletedAt = Buffer.alloc(8)
  deletedAt.writeBigInt64LE(BigInt(time))
  return new FeedItem(collection, bsonDocument([Buffer.from(fields), deletedAt]), true, time)
}

/** Merges records and tombstones. The database has put each of them in order. */
const inOrder = (rows: FeedItem[]): FeedItem[] => {
  if (!rows.some(({ isDeleted }) => isDeleted)) return rows
  return rows
    .map((row) => ({ row, stamp: row.stamp as number, id: sortKeyOfId(row.bytes) }))
    .sort((a, b) => a.stamp - b.stamp || (a.id < b.id ? -1 : 1))
    .map(({ row }) => row)
}

/**
 * The position behind the rows that are looked at, of which this is the last: before its stamp, or behind it where the range begins
 * with it. So no cursor has the id of a record that a scope does not show.
 */
const edgeAt = ({ stamp }: FeedItem, { $gte: begin }: StampBounds): FeedPosition => {
  const isAtBegin = begin?.getTime() === stamp
  return { stamp: (stamp as number) + Number(isAtBegin), id: null }
}

const hasSettled = ({ stamp }: Stamped, { horizon }: Times): boolean => (stamp ?? Number.NEGATIVE_INFINITY) < horizon

/** The cursor after the items of a page, or undefined if no cursor fits between the last item and the following row. */
const cursorAfter = (cursor: Cursor, items: readonly FeedItem[], following: FeedItem | undefined, times: Times) => {
  const last = items.at(-1)
  if (last !== undefined && following !== undefined && hasSettled(following, times)) {
    const settled = positionBetween(last, following)
    return settled && { next: { ...cursor, settled } }
  }
  const lastSettled = items.findLast((item) => hasSettled(item, times))
  const since = Math.max(cursor.since, times.horizon)
  const settled = lastSettled === undefined ? afterStampOf(cursor.settled) : afterStamp(lastSettled.stamp)
  return { next: { ...cursor, since, settled, fresh: freshAfter(cursor, last, times) } }
}

/** The last fresh row. If its id cannot be in a cursor, others with its stamp come when they have settled. */
const freshAfter = (cursor: Cursor, last: FeedItem | undefined, times: Times): FeedPosition | null =>
  last === undefined || hasSettled(last, times)
    ? (freshOf(cursor, times) ?? null)
    : (positionAt(last) ?? afterStamp(last.stamp))

/** Goes on after the last page of a narrower scope, or behind an edge. What is in no page is not looked at again. */
const cursorAt = (cursor: Cursor, last: FeedItem | undefined, edge: FeedPosition | undefined, times: Times) => {
  if (edge !== undefined && hasSettled(edge, times)) return { ...cursor, settled: edge }
  const { horizon } = times
  const fresh = edge ?? freshAfter(cursor, last, times)
  return { ...cursor, since: Math.max(cursor.since, horizon), settled: { stamp: horizon, id: null }, fresh }
}

/** The position behind all rows with a stamp, or behind all rows without one. */
const afterStamp = (stamp: number | null | undefined): FeedPosition =>
  typeof stamp === 'number' ? { stamp: stamp + 1, id: null } : BEFORE_ALL_STAMPS

/** The position from which a copy goes on when no settled row follows its own: behind all rows of that stamp. */
const afterStampOf = (position: FeedPosition): FeedPosition =>
  position.stamp !== null && position.id === null ? position : afterStamp(position.stamp)

/** A position between two rows. If their stamps differ, it has no id, so that one range follows it instead of three. */
const positionBetween = (last: FeedItem, next: FeedItem): FeedPosition | undefined => {
  if (next.stamp !== last.stamp) return afterStamp(last.stamp)
  const before = positionAt(next)
  return positionAt(last) ?? (before && { ...before, isInclusive: true })
}

/** The position of a row, or undefined if no cursor can hold its id. */
const positionAt = (row: FeedItem): FeedPosition | undefined => {
  const id = positionOf(row, '_id')?.id
  return id === undefined ? undefined : { stamp: row.stamp ?? null, id }
}

/** The first stamp after a position. A position without an id stands before all rows of its stamp. */
const firstStampAfter = ({ stamp, id }: FeedPosition): number => (stamp ?? FIRST_TIME.getTime()) + Number(id !== null)

const itemsOf = ({ collection, documents }: BsonList, field: Stamp): FeedItem[] =>
  withBsonErrors(collection, () =>
    documents.map(({ bytes }) => {
      // A record with the field of tombstones by mistake also has an organisation, mostly as one of its first fields.
      const isDeleted = fieldOf(bytes, 0, 'organisation') === undefined && fieldOf(bytes, 0, DELETED_FROM) !== undefined
      const stamp = dateOf(bytes, fieldOf(bytes, 0, isDeleted ? DELETED_AT : field))
      return new FeedItem(collection, bytes, isDeleted, stamp)
    }),
  )
