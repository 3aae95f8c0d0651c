// Reads a change feed: the records of an organisation and the tombstones of its deleted ones, merged in the order of
// their stamps. Nothing younger than the horizon is shown, so that no copy passes a write that commits late.
import { LRUCache } from 'lru-cache'
import {
  BsonDocument,
  type BsonList,
  type Element,
  ResponseTooLarge,
  reading,
  UnwritableDocument,
} from '../bson/reader.js'
import { dateOf, fieldOf, stringOf } from '../bson/values.js'
import { DELETED_AT, DELETED_FROM } from '../documents/collections.js'
import { problem } from '../http/problems.js'
import { inOrderOfIds, sortKeyOfId } from '../paging/empty-values.js'
import { MAX_ID_BYTES } from '../paging/position.js'
import { FIRST_TIME } from '../pipelines/keyset.js'
import type { Scope } from '../pipelines/stages.js'
import { type FeedRange, type FeedResource, hasNoStamps, newestIn, rowsIn, type Stamp } from '../pipelines/sync.js'
import type { FeedItem } from '../serializer/feed.js'
import type { Reading, Store } from '../store/store.js'
import type { Clock } from './clock.js'
import { type Cursor, type FeedPosition, START } from './cursor.js'
import type { Owner, Waiting } from './waiting.js'

const DAY_MS = 86_400_000
/** The most bytes of BSON in a page. Written as JSON, they are still below the limit of a response. */
const MAX_PAGE_BYTES = 16 * 1024 * 1024
/** How much of a longer id its error shows. */
const SHOWN_LENGTH = 100

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

const nameOf = ({ scope, resource }: Feed): string => `${scope.organisation} ${resource.collection}`

export class Feeds {
  /** Where feeds were found empty. Until the clock is read again, further requests for them need no look-up. */
  readonly #empty = new LRUCache<string, { position: FeedPosition; horizon: number }>({ max: 10_000 })

  constructor(
    readonly store: Pick<Store, 'aggregate'>,
    readonly clock: Clock,
    readonly settings: FeedSettings,
  ) {}

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
    const lookUp = (since: number) => this.newest(feed, since)
    for (;;) {
      const found = await this.page(feed, cursor, perPage, place.reading)
      const from = found.next.position.stamp
      const ms = until - performance.now()
      if (found.items.length > 0 || from === null || ms <= 0) return found
      place.leave()
      const { signal } = place.reading
      if (!(await waiting.wait(feed.scope, nameOf(feed), lookUp, { from, ms, signal }))) return found
      await place.enter()
    }
  }

  /**
   * The page that follows a cursor, or the first page without one.
   * @throws the problem `cursor_expired` if deletions that the copy needs may have been forgotten
   */
  async page(feed: Feed, cursor: Cursor | undefined, perPage: number, reading?: Reading): Promise<FeedPage> {
    const { settleMs, tombstoneDays } = this.settings
    // The clock is read before the rows: a row that is stored meanwhile has a later stamp.
    const now = await this.clock()
    const horizon = now - settleMs
    const { began, position } = cursor ?? { began: horizon, position: START }
    if (Math.max(began, position.stamp ?? began) < now - tombstoneDays * DAY_MS) {
      throw problem('cursor_expired', `cursor is older than ${tombstoneDays} days; begin again with cursor=*`)
    }
    const name = nameOf(feed)
    const ranges = this.#isEmpty(name, position, horizon) ? [] : rangesBehind(position, horizon)
    // One row more than the page shows tells whether there is a next page.
    const { rows, limit } = await this.#firstRows(feed, ranges, perPage + 1, reading)
    if (rows.length === 0 && ranges.length > 0) this.#empty.set(name, { position, horizon })
    const { count, size } = fitting(rows.slice(0, limit - 1))
    const hasMore = rows.length > count
    return {
      items: rows.slice(0, count),
      size,
      hasMore,
      next: { began, position: hasMore ? this.#between(rows.slice(count - 1)) : later(position, horizon) },
    }
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

  /** Whether a look-up below the same horizon has found nothing after this position, or after an earlier one. */
  #isEmpty(feed: string, { stamp }: FeedPosition, horizon: number): boolean {
    const known = this.#empty.get(feed)
    if (known === undefined || known.horizon !== horizon || stamp === null) return false
    const from = known.position
    return from.stamp === null || from.stamp < stamp || (from.stamp === stamp && from.id === null)
  }

  /** The newest stamp at or after a time that a feed shows now, or undefined if it shows none. */
  async newest({ scope, resource }: Feed, from: number): Promise<number | undefined> {
    const horizon = (await this.clock()) - this.settings.settleMs
    if (horizon <= from) return undefined
    const { stamp } = this.settings
    const range = { stamp: { $gte: new Date(from), $lt: new Date(horizon) } }
    const newest = newestIn(scope, resource.collection, stamp, range)
    const rows = rowsOf(await this.store.aggregate(newest, { from: 'primary' }), stamp)
    const stamps = rows.map((row) => row.stamp as number)
    return stamps.length === 0 ? undefined : Math.max(...stamps)
  }

  /** The first rows of a range in their order. */
  async #rowsIn({ scope, resource }: Feed, range: FeedRange, limit: number, reading?: Reading): Promise<FeedItem[]> {
    const { stamp } = this.settings
    const read = (range: FeedRange): Promise<BsonList> =>
      this.store.aggregate(rowsIn(scope, resource, stamp, range, limit), { ...reading, from: 'primary' })
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

  /** A position between two rows. If their stamps differ, it has no id, so that one range follows it instead of two. */
  #between(rows: readonly FeedItem[]): FeedPosition {
    const [last, next] = rows as [FeedItem, FeedItem]
    const stamp = last.stamp ?? null
    if (stamp !== null && next.stamp !== stamp) return { stamp: stamp + 1, id: null }
    const id = idOf(last)
    if (id !== undefined && Buffer.byteLength(id) <= MAX_ID_BYTES) return { stamp, id }
    const { collection, bytes } = last.document
    const { at, next: end } = fieldOf(bytes, 0, '_id') as Element
    const name = id?.slice(0, SHOWN_LENGTH) ?? bytes.toString('hex', at, end)
    const reason = `is not a string of at most ${MAX_ID_BYTES} bytes, so no cursor can go on after it`
    throw new UnwritableDocument(collection, name, '_id', reason)
  }
}

/** How many of the rows fit into a page, and their size: as many as MAX_PAGE_BYTES allows, and at least one. */
const fitting = (rows: readonly FeedItem[]): { count: number; size: number } => {
  let [count, size] = [0, 0]
  for (const { document } of rows) {
    if (count > 0 && size + document.size > MAX_PAGE_BYTES) break
    count += 1
    size += document.size
  }
  return { count, size }
}

/** The ranges of the feed after a position, in order. Each is read only if those before it do not fill the page. */
const rangesBehind = ({ stamp, id }: FeedPosition, horizon: number): FeedRange[] => {
  if (stamp !== null && stamp >= horizon) return []
  const $lt = new Date(horizon)
  const at = stamp === null ? null : new Date(stamp)
  const later: FeedRange = { stamp: at === null ? { $gte: FIRST_TIME, $lt } : { $gt: at, $lt } }
  if (id !== null) return [{ stamp: at, afterId: id }, { stamp: at, otherIds: true }, later]
  return at === null ? [{ stamp: null }, later] : [{ stamp: { $gte: at, $lt } }]
}

/** The position at the horizon, or the given one if it is later: another process may have read a later clock. */
const later = (position: FeedPosition, horizon: number): FeedPosition =>
  position.stamp !== null && position.stamp >= horizon ? position : { stamp: horizon, id: null }

/** The id of a row, or undefined if it is not a string. */
const idOf = ({ document: { bytes } }: FeedItem): string | undefined => stringOf(bytes, fieldOf(bytes, 0, '_id'))

const rowsOf = ({ collection, documents }: BsonList, field: Stamp): FeedItem[] =>
  reading(collection, () =>
    documents.map((bytes) => {
      const isDeleted = isTombstone(bytes)
      const stamp = dateOf(bytes, fieldOf(bytes, 0, isDeleted ? DELETED_AT : field))
      return { document: new BsonDocument(collection, bytes), isDeleted, stamp }
    }),
  )

/** A record with the field of tombstones by mistake also has an organisation, mostly as one of its first fields. */
const isTombstone = (bytes: Buffer): boolean =>
  fieldOf(bytes, 0, 'organisation') === undefined && fieldOf(bytes, 0, DELETED_FROM) !== undefined
