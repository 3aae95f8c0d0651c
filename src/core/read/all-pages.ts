// Reads a whole list, page by page, as exports and counts need it.
import { type BsonDocument, sizeOf } from '../bson/reader.js'
import type { Order } from '../pipelines/stages.js'
import type { Start } from './position.js'
import { type ReadSlice, readOn } from './walk.js'

/** How many records are read first, by how much more from page to page, and at the most. */
const FIRST_ROWS = 50
const GROWTH = 4
const MOST_ROWS = 1000
/** About how many bytes of BSON a page has. */
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
