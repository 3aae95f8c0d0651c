// Reads on in a sorted list: the rows that follow a position, as many as fit, and the position after them.
import { type BsonDocument, sizeOf } from '../bson/reader.js'
import { OTHER_ID_TYPES, rangesAfter } from '../pipelines/keyset.js'
import type { Condition, Order, Slice } from '../pipelines/stages.js'
import { ResponseTooLarge, UnreadableDocument } from '../write/errors.js'
import { idOf } from '../write/unreadable.js'
import { MAX_ID_BYTES, positionOf, type Start } from './position.js'

/** The most bytes of BSON that a page of a walk has, unless it is a single record. As JSON, it is within the limit of a response. */
const MAX_PAGE_BYTES = 16 * 1024 * 1024
/** Of rows that are too large to be read at once, this part is tried. */
const SMALLER = 1 / 4
const SHOWN_LENGTH = 100

export type ReadSlice = (order: Order, slice: Slice) => Promise<readonly BsonDocument[]>

/** Reads the next page of a walk. `next` is undefined at its end. It throws UnreadableDocument if it cannot go on. */
export const readOn = async (order: Order, perPage: number, start: Start | undefined, read: ReadSlice) => {
  // A page may be shorter than `perPage`, so that it fits, or where no walk could go on after more.
  const { field, direction } = order
  const ranges: (Condition | undefined)[] =
    start !== undefined
      ? rangesAfter(field, direction, start.position, start.isInclusive)
      : [field === '_id' ? { _id: { $gte: '' } } : undefined]
  // A condition on the id finds texts alone. A walk must not end as if the others did not exist.
  if (field === '_id') ranges.push({ _id: { $type: OTHER_ID_TYPES } })
  const found = await readRanges(ranges, perPage + 1, 2, (range, limit) => read(order, { range, skip: 0, limit }))
  return cut(found, field, (rows, following) => {
    if (following === undefined) return { next: undefined }
    const next = startBehind(rows.at(-1) as BsonDocument, following, field, false)
    return next && { next }
  })
}

/** The start behind a row. If the row has no position, the start is before the following row; undefined if that has none. */
export const startBehind = (
  row: BsonDocument,
  following: BsonDocument | undefined,
  field: string,
  isBackward: boolean,
): Start | undefined => {
  const position = positionOf(row, field)
  if (position !== undefined) return { position, isBackward, isInclusive: false }
  const next = following && positionOf(following, field)
  return next && { position: next, isBackward, isInclusive: true }
}

/** Rows, and how many were looked for at the most. */
export type Found<T> = { readonly rows: readonly T[]; readonly limit: number }

/** The first rows of ranges that follow each other. If they are too large to be read at once, the limit gets smaller. */
export const readRanges = async <R, T>(
  ranges: readonly R[],
  limit: number,
  least: number,
  read: (range: R, limit: number) => Promise<readonly T[]>,
): Promise<Found<T>> => {
  const rows: T[] = []
  try {
    for (const range of ranges) {
      for (const row of await read(range, limit - rows.length)) rows.push(row)
      if (rows.length === limit) break
    }
    return { rows, limit }
  } catch (error) {
    if (!(error instanceof ResponseTooLarge) || limit <= least) throw error
    return readRanges(ranges, Math.max(least, Math.floor(limit * SMALLER)), least, read)
  }
}

/** How many records are read first, by how much more from page to page, and at the most. */
const FIRST_ROWS = 50
const GROWTH = 4
const MOST_ROWS = 1000
export const PAGE_BYTES = 2 * 1024 * 1024

/** A function that reads the next page: few records at first, and then as many as fit. The page after the last is empty. */
export const pagesOf = (order: Order, read: ReadSlice, limit = Number.POSITIVE_INFINITY) => {
  let start: Start | undefined
  let left = limit
  let size = FIRST_ROWS
  return async (): Promise<readonly BsonDocument[]> => {
    if (left === 0) return []
    const { rows, next } = await readOn(order, Math.min(size, left), start, read)
    start = next
    left = next === undefined ? 0 : left - rows.length
    const fitting = Math.floor((PAGE_BYTES * rows.length) / Math.max(1, sizeOf(rows)))
    size = Math.max(1, Math.min(GROWTH * size, fitting, MOST_ROWS))
    return rows
  }
}

/** As many rows of a page as fit, and after which one can go on. The page was read with one row more. */
export const cut = <T extends BsonDocument, N extends object>(
  { rows, limit }: Found<T>,
  field: string,
  goOn: (rows: readonly T[], following: T | undefined) => N | undefined,
): { rows: readonly T[] } & N => {
  let count = fitting(rows, limit - 1)
  for (;;) {
    const fitted = rows.slice(0, count)
    const next = goOn(fitted, rows[count])
    if (next !== undefined) return { rows: fitted, ...next }
    if (count === 1) throw unplaced(rows[0] as T, field)
    count -= 1
  }
}

/** How many rows fit into a page: at least one, if there is one. */
const fitting = (rows: readonly BsonDocument[], most: number): number => {
  let [count, size] = [0, 0]
  for (const row of rows.slice(0, most)) {
    size += row.bytes.length
    if (count > 0 && size > MAX_PAGE_BYTES) break
    count += 1
  }
  return count
}

const unplaced = (row: BsonDocument, field: string): UnreadableDocument => {
  const id = idOf(row.bytes).slice(0, SHOWN_LENGTH)
  const noId = `is not a string of valid UTF-8 with at most ${MAX_ID_BYTES} bytes, so nothing can be read on after it`
  return positionOf(row, '_id') === undefined
    ? new UnreadableDocument(row.collection, id, '_id', noId)
    : new UnreadableDocument(row.collection, id, field, 'has a value after which nothing can be read on')
}
