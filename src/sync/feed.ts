// Reads a change feed: the records of an organisation and the tombstones of its deleted ones, merged in the order of
// their stamps. First come the rows that are older than the horizon. No write commits before them any more, so a copy goes
// on after them for good. Then come the younger ones, which come once more when they have settled.
import {
  Bson,
  BsonDocument,
  type BsonList,
  bsonDocument,
  type Element,
  ResponseTooLarge,
  reading,
  UnwritableDocument,
} from '../bson/reader.js'
import { dateOf, fieldOf, stringOf } from '../bson/values.js'
import { CHECKPOINT, DELETED_AT, DELETED_FROM } from '../documents/collections.js'
import { problem } from '../http/problems.js'
import { inOrderOfIds, sortKeyOfId } from '../paging/empty-values.js'
import { MAX_ID_BYTES, positionOf } from '../paging/position.js'
import { FIRST_TIME } from '../pipelines/keyset.js'
import type { Scope } from '../pipelines/stages.js'
import {
  type FeedRange,
  type FeedResource,
  hasNoStamps,
  newestIn,
  rowsIn,
  type Stamp,
  type StampBounds,
} from '../pipelines/sync.js'
import type { FeedItem } from '../serializer/feed.js'
import type { Reading, Store } from '../store/store.js'
import type { Clock } from './clock.js'
import { type Cursor, type FeedPosition, START } from './cursor.js'
import type { Owner, Waiting } from './waiting.js'

const DAY_MS = 86_400_000
/** The most bytes of BSON in a page. Written as JSON, they are still below the limit of a response. */
const MAX_PAGE_BYTES = 16 * 1024 * 1024
/** How far ahead of the clock a stamp may be that is read, in milliseconds: longer than a page takes to be read. */
const MAX_AHEAD_MS = 60_000
/** How much of a longer id its error shows. */
const SHOWN_LENGTH = 100
/** The `changedSince` that begins a walk at the beginning. */
const BEGINNING = '1970-01-01T00:00:00Z'

export interface FeedSettings {
  /** How long a change is held back. */
  readonly settleMs: number
  readonly stamp: Stamp
  /** How long deletions are remembered. */
  readonly tombstoneDays: number
}

export interface FeedPage {
  readonly items: readonly FeedItem[]
  /** In bytes of BSON. */
  readonly size: number
  readonly hasMore: boolean
  readonly next: Cursor
  /** A stamp that is new to the copy is this one or a later one. */
  readonly newFrom: number
}

/** Whose feed is read, and of what. */
interface Feed {
  readonly scope: Scope
  readonly resource: FeedResource
}

/** What a request has while it works. */
interface Place {
  readonly reading: Reading & { readonly signal: AbortSignal }
  readonly enter: () => Promise<void>
  readonly leave: () => void
}

/** The times that divide a feed, in milliseconds: rows before the horizon have settled, and now is when the read begins. */
interface Times {
  readonly horizon: number
  readonly now: number
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
      this.#requireKnown(
        time,
        times,
        `changedSince is older than ${this.settings.tombstoneDays} days; begin again with changedSince=${BEGINNING}`,
      )
      return { since: time, isSettledOnly: true, settled: { stamp: time, id: null }, fresh: null }
    }
    if ((await this.#rowsIn(feed, { stamp: null }, 1, reading)).length > 0) {
      const { stamp } = this.settings
      const remedy = stamp === 'changedAt' ? '`npm run db:stamp` stamps them' : 'whoever writes them has to set it'
      throw problem(
        'records_without_stamp',
        `Records without ${stamp} would be missing; ${remedy}. cursor=* shows them`,
      )
    }
    return { since: horizon, isSettledOnly: true, settled: BEFORE_ALL_STAMPS, fresh: null }
  }

  /**
   * The page that follows a cursor. While it would be empty, the request leaves its place and waits for a change.
   * @param waitMs how long it waits at the most, in milliseconds
   */
  async pageOrWait(
    feed: { readonly scope: Owner; readonly resource: FeedResource },
    cursor: Cursor | undefined,
    perPage: number,
    { place, waiting, waitMs }: { place: Place; waiting: Waiting; waitMs: number },
  ): Promise<FeedPage> {
    const until = performance.now() + waitMs
    const isSettledOnly = cursor?.isSettledOnly ?? false
    const name = `${feed.scope.organisation} ${feed.resource.collection}${isSettledOnly ? ' settled' : ''}`
    const lookUp = (from: number) => this.newest(feed, from, isSettledOnly)
    for (;;) {
      const found = await this.page(feed, cursor, perPage, place.reading)
      const left = until - performance.now()
      if (found.items.length > 0 || left <= 0 || waiting.isClosed) return found
      place.leave()
      const { signal } = place.reading
      // What was committed after a later stamp had been shown comes when it has settled. No look-up finds it. While the
      // majority lags behind, fresh rows settle later, so the page is read no more often than a look-up.
      const untilSettled = Math.max(this.settings.settleMs + 1, waiting.limits.intervalMs)
      const ms = found.next.fresh === null ? left : Math.min(left, untilSettled)
      const hasChanged = await waiting.wait(feed.scope, name, lookUp, { from: found.newFrom, ms, signal })
      if (!hasChanged && ms === left) return found
      await place.enter()
    }
  }

  /**
   * The page that follows a cursor, or the first page without one: rows that have settled, and then those that have not, up to
   * now.
   * @throws the problem `cursor_expired` if deletions that the copy needs may have been forgotten
   */
  async page(feed: Feed, cursor: Cursor | undefined, perPage: number, reading?: Reading): Promise<FeedPage> {
    // The clock is read before the rows: what was committed before the request began has an earlier stamp.
    const times = await this.#times()
    const from = withinHorizon(
      cursor ?? { since: times.horizon, isSettledOnly: false, settled: START, fresh: null },
      times,
    )
    const { since, settled, isSettledOnly } = from
    const { tombstoneDays } = this.settings
    const detail = `cursor is older than ${tombstoneDays} days; begin again with cursor=*`
    this.#requireKnown(Math.max(since, settled.stamp ?? since), times, detail)
    // One row more than the page shows tells whether there is a next page.
    const { rows: read, limit } = await this.#firstRows(feed, rangesOf(from, times), perPage + 1, reading)
    const rows = await this.#untilNow(read, times)
    const { items, next } = cutOf(rows, fitting(rows.slice(0, limit - 1)), from, times)
    const hasMore = rows.length > items.length
    const page = { items, size: sizeOf(items), hasMore, next, newFrom: newFrom(next) }
    if (!isSettledOnly || hasMore) return page
    const restMs = Math.min(DAY_MS, (tombstoneDays * DAY_MS) / 2)
    return page.newFrom > times.now - restMs ? page : withCheckpoint(feed, page, perPage, times)
  }

  async #times(): Promise<Times> {
    const { now, majority } = await this.clock()
    return { now, horizon: Math.min(now, majority) - this.settings.settleMs }
  }

  #requireKnown(since: number, { now }: Times, detail: string): void {
    if (since < now - this.settings.tombstoneDays * DAY_MS) throw problem('cursor_expired', detail)
  }

  /** The first rows of ranges, up to a limit. If they are too large to be read at once, it is halved, down to two. */
  async #firstRows(
    feed: Feed,
    ranges: readonly FeedRange[],
    limit: number,
    reading?: Reading,
  ): Promise<{ rows: FeedItem[]; limit: number }> {
    const rows: FeedItem[] = []
    try {
      for (const range of ranges) {
        rows.push(...(await this.#rowsIn(feed, range, limit - rows.length, reading)))
        if (rows.length === limit) break
      }
      return { rows, limit }
    } catch (error) {
      if (!(error instanceof ResponseTooLarge) || limit === 2) throw error
      return this.#firstRows(feed, ranges, Math.max(2, Math.floor(limit / 2)), reading)
    }
  }

  /**
   * Rows without those whose stamps are in the future. A record that was changed while it was read has a stamp after the time
   * of the beginning, but it belongs to the page: its earlier change is not there any more. So the clock is read once more.
   */
  async #untilNow(rows: FeedItem[], { now }: Times): Promise<FeedItem[]> {
    const isUpTo =
      (time: number) =>
      ({ stamp }: FeedItem): boolean =>
        stamp === undefined || stamp <= time
    return rows.every(isUpTo(now)) ? rows : rows.filter(isUpTo((await this.#times()).now))
  }

  /** The newest stamp at or after a time that a feed shows now, or undefined if it shows none. */
  async newest({ scope, resource }: Feed, from: number, isSettledOnly = false): Promise<number | undefined> {
    const times = await this.#times()
    if (from > times.now) return undefined
    const { stamp } = this.settings
    const end = isSettledOnly ? before(times) : { $lte: new Date(times.now) }
    const range = { stamp: { $gte: new Date(from), ...end } }
    const newest = newestIn(scope, resource.collection, stamp, range)
    const rows = rowsOf(await this.store.aggregate(newest, { isMajority: true }), stamp)
    const stamps = rows.map((row) => row.stamp as number)
    return stamps.length === 0 ? undefined : Math.max(...stamps)
  }

  /** The first rows of a range in their order. */
  async #rowsIn({ scope, resource }: Feed, range: FeedRange, limit: number, reading?: Reading): Promise<FeedItem[]> {
    const { stamp } = this.settings
    const aggregate = (range: FeedRange, isWithoutArrays: boolean): Promise<BsonList> => {
      const query = rowsIn(scope, resource, stamp, range, limit, isWithoutArrays)
      return this.store.aggregate(query, { ...reading, isMajority: true })
    }
    const read = async (range: FeedRange): Promise<BsonList> => {
      const list = await aggregate(range, false)
      return hasArray(list, stamp) ? aggregate(range, true) : list
    }
    const list = await read(range)
    if (!hasNoStamps(range)) return this.#inOrder(rowsOf(list, stamp)).slice(0, limit)
    const { collection, documents } = list
    const order = { field: stamp, direction: 1, isWhole: documents.length < limit } as const
    const inOrder = await inOrderOfIds(documents, order, async ({ value, lastId }) => {
      const others = await read({ ...range, stamp: value, lastId })
      return others.documents
    })
    return inOrder.map((bytes) => ({
      document: new BsonDocument(collection, bytes),
      isDeleted: false,
      stamp: undefined,
    }))
  }

  /** Merges records and tombstones. The database has put each of them in order. */
  #inOrder(rows: FeedItem[]): FeedItem[] {
    if (!rows.some(({ isDeleted }) => isDeleted)) return rows
    return rows
      .map((row) => ({ row, stamp: row.stamp as number, id: sortKeyOfId(row.document.bytes) }))
      .sort((a, b) => a.stamp - b.stamp || (a.id < b.id ? -1 : 1))
      .map(({ row }) => row)
  }
}

const BEFORE_ALL_STAMPS: FeedPosition = { stamp: FIRST_TIME.getTime(), id: null }

const before = ({ horizon }: Times): StampBounds => ({ $lt: new Date(horizon) })
const upTo = ({ now }: Times): StampBounds => ({ $lte: new Date(now + MAX_AHEAD_MS) })

/**
 * A cursor whose settled rows are before the horizon. Its own may be beyond it when the clock has gone back, or was ahead once.
 * They count as fresh then: what is stored meanwhile with an earlier stamp comes when it has settled.
 */
const withinHorizon = (cursor: Cursor, { horizon }: Times): Cursor => {
  const { settled, fresh, isSettledOnly } = cursor
  if (settled.stamp === null || settled.stamp < horizon) return cursor
  return { ...cursor, settled: { stamp: horizon, id: null }, fresh: isSettledOnly ? null : (fresh ?? settled) }
}

/** The last fresh row of a cursor, unless it has settled. After the clock has gone back, it counts for nothing. */
const freshOf = ({ fresh }: Cursor, { horizon, now }: Times): FeedPosition | undefined =>
  fresh !== null && fresh.stamp !== null && fresh.stamp >= horizon && fresh.stamp <= now ? fresh : undefined

/** The ranges of the feed after a cursor, in order. Each is read only if those before it do not fill the page. */
const rangesOf = (cursor: Cursor, times: Times): FeedRange[] => {
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
    const first: FeedRange = isBefore ? { stamp: at, fromId: id } : { stamp: at, afterId: id }
    return [first, { stamp: at, otherIds: true }, later]
  }
  return at === null ? [{ stamp: null }, later] : [{ stamp: { $gte: at, ...bounds } }]
}

const sizeOf = (items: readonly FeedItem[]): number => items.reduce((size, { document }) => size + document.size, 0)

/** How many of the rows fit into a page: as many as MAX_PAGE_BYTES allows, and at least one. */
const fitting = (rows: readonly FeedItem[]): number => {
  let [count, size] = [0, 0]
  for (const { document } of rows) {
    size += document.size
    if (count > 0 && size > MAX_PAGE_BYTES) break
    count += 1
  }
  return count
}

/**
 * The rows of a page, and the cursor after them. The page is shorter than `count` where no cursor could go on after the last
 * of them.
 */
const cutOf = (
  rows: readonly FeedItem[],
  count: number,
  cursor: Cursor,
  times: Times,
): { items: readonly FeedItem[]; next: Cursor } => {
  const hasSettled = ({ stamp }: FeedItem): boolean => stamp === undefined || stamp < times.horizon
  const nextRow = rows[count]
  if (nextRow !== undefined && hasSettled(nextRow)) {
    const last = rows[count - 1] as FeedItem
    const settled = positionBetween(last, nextRow)
    if (settled !== undefined) return { items: rows.slice(0, count), next: { ...cursor, settled } }
    if (count === 1) throw unplaced(last)
    return cutOf(rows, count - 1, cursor, times)
  }
  const items = rows.slice(0, count)
  const lastSettled = items.findLast(hasSettled)
  const lastFresh = items.at(-1)
  const next = {
    ...cursor,
    since: Math.max(cursor.since, times.horizon),
    settled: lastSettled === undefined ? behind(cursor.settled) : behindAll(lastSettled.stamp ?? null),
    fresh: lastFresh === undefined || hasSettled(lastFresh) ? (freshOf(cursor, times) ?? null) : freshAt(lastFresh),
  }
  return { items, next }
}

/** The position behind all rows with a stamp, or with null behind those without one. */
const behindAll = (stamp: number | null): FeedPosition =>
  stamp === null ? BEFORE_ALL_STAMPS : { stamp: stamp + 1, id: null }

/** The position from which a copy goes on when no settled row follows its own: behind all rows of that stamp. */
const behind = (position: FeedPosition): FeedPosition =>
  position.stamp !== null && position.id === null ? position : behindAll(position.stamp)

/** A position between two rows. If their stamps differ, it has no id, so that one range follows it instead of three. */
const positionBetween = (last: FeedItem, next: FeedItem): FeedPosition | undefined => {
  const stamp = last.stamp ?? null
  if (next.stamp !== last.stamp) return behindAll(stamp)
  const id = idOf(last)
  if (id !== undefined) return { stamp, id }
  const nextId = idOf(next)
  return nextId === undefined ? undefined : { stamp, id: nextId, isBefore: true }
}

/** The position of a row that has not settled. If its id cannot be in a cursor, others with its stamp come when they have. */
const freshAt = (row: FeedItem): FeedPosition => {
  const stamp = row.stamp as number
  const id = idOf(row)
  return id === undefined ? behindAll(stamp) : { stamp, id }
}

/** The first stamp that can be new to a copy, once a page has shown all before it. */
const newFrom = ({ settled, fresh }: Cursor): number => {
  const { stamp, id } = fresh ?? settled
  return (stamp ?? FIRST_TIME.getTime()) + Number(id !== null)
}

/**
 * Adds an item to the last page of a walk by times that has found nothing new for long. Its stamp is a time from which such a
 * walk can begin later: that of the newest record would be too old one day.
 */
const withCheckpoint = ({ resource }: Feed, page: FeedPage, perPage: number, { horizon }: Times): FeedPage => {
  if (page.items.length === perPage) return { ...page, hasMore: true }
  const document = new BsonDocument(resource.collection, checkpointAt(horizon))
  const item: FeedItem = { document, isDeleted: true, stamp: horizon }
  const settled = { stamp: horizon, id: null }
  return { ...page, items: [...page.items, item], size: page.size + document.size, next: { ...page.next, settled } }
}

/** The deletion of a record that nobody has, as the database gives deletions. */
const checkpointAt = (time: number): Buffer => {
  const id = Buffer.from(`${CHECKPOINT}\0`)
  const length = Buffer.alloc(4)
  length.writeInt32LE(id.length)
  const deletedAt = Buffer.alloc(8)
  deletedAt.writeBigInt64LE(BigInt(time))
  const text = Buffer.from('\x02_id\0')
  const [deleted, date] = [Buffer.from('\x08deleted\0\x01'), Buffer.from(`\x09${DELETED_AT}\0`)]
  return bsonDocument([text, length, id, deleted, date, deletedAt])
}

/** The id of a row, or undefined if no cursor can hold it. */
const idOf = ({ document: { bytes } }: FeedItem): string | undefined => positionOf(bytes, '_id')?.id

/** The error for a row after which no cursor can go on. */
const unplaced = ({ document: { collection, bytes } }: FeedItem): UnwritableDocument => {
  const id = fieldOf(bytes, 0, '_id') as Element
  const name = stringOf(bytes, id)?.slice(0, SHOWN_LENGTH) ?? bytes.toString('hex', id.at, id.next)
  const reason = `is not a string of valid UTF-8 with at most ${MAX_ID_BYTES} bytes, so no cursor can go on after it`
  return new UnwritableDocument(collection, name, '_id', reason)
}

const rowsOf = ({ collection, documents }: BsonList, field: Stamp): FeedItem[] =>
  reading(collection, () =>
    documents.map((bytes) => {
      const isDeleted = isTombstone(bytes)
      const stamp = dateOf(bytes, fieldOf(bytes, 0, isDeleted ? DELETED_AT : field))
      return { document: new BsonDocument(collection, bytes), isDeleted, stamp }
    }),
  )

/** Whether a document of a list has an array in place of its organisation or its stamp. */
const hasArray = ({ collection, documents }: BsonList, stamp: Stamp): boolean => {
  const isArray = (bytes: Buffer, field: string) => fieldOf(bytes, 0, field)?.type === Bson.array
  return reading(collection, () => documents.some((bytes) => isArray(bytes, 'organisation') || isArray(bytes, stamp)))
}

/** A record with the field of tombstones by mistake also has an organisation, mostly as one of its first fields. */
const isTombstone = (bytes: Buffer): boolean =>
  fieldOf(bytes, 0, 'organisation') === undefined && fieldOf(bytes, 0, DELETED_FROM) !== undefined
