// Reads a whole list, as exports and counts need it.
import { setImmediate } from 'node:timers/promises'
import type { EntryListQuery } from '../../schemas/entries.js'
import { type BsonDocument, sizeOf } from '../bson/reader.js'
import { entries } from '../pipelines/entries.js'
import type { Listing, Scope } from '../pipelines/stages.js'
import type { Reading, Store } from '../store/store.js'
import { sliceReader } from './listing.js'
import type { Start } from './position.js'
import { type ReadSlice, readOn } from './walk.js'

/** How many records are read first, by how much more from page to page, and at the most. */
const FIRST_ROWS = 50
const GROWTH = 4
const MOST_ROWS = 1000
/** About how many bytes of BSON a page has. */
const PAGE_BYTES = 2 * 1024 * 1024

/** Does a piece of the work when it may begin. Between two pieces nothing is under way. */
export type Doing = <T>(work: (reading: Reading) => Promise<T>) => Promise<T>

/** The parameters of a whole list in the order of ids. */
export const wholeList = <L extends object>(listing: L) => ({
  ...listing,
  sortBy: 'id',
  page: 1,
  perPage: 1,
  cursor: '*',
})

/** A function that reads the next page of such a list: few records at first, and then as many as fit. The page after the last is empty. */
export const pagesOf = (listing: Listing, limit = Number.POSITIVE_INFINITY) => {
  let start: Start | undefined
  let left = limit
  let size = FIRST_ROWS
  return async (read: ReadSlice): Promise<readonly BsonDocument[]> => {
    if (left === 0) return []
    const { rows, next } = await readOn({ ...listing, perPage: Math.min(size, left) }, start, read)
    start = next
    left = next === undefined ? 0 : left - rows.length
    const fitting = Math.floor((PAGE_BYTES * rows.length) / Math.max(1, sizeOf(rows)))
    size = Math.max(1, Math.min(GROWTH * size, fitting, MOST_ROWS))
    return rows
  }
}

/** What an entry must meet. */
export type EntryFilters = Partial<Omit<EntryListQuery, keyof Listing>>

/**
 * All entries that match, page by page, with some of their fields. It may take as long as there are entries: what is done for
 * one page is bounded, and waits for its turn.
 * @param limit how many there are at most
 */
export async function* everyEntry(
  store: Pick<Store, 'aggregate' | 'knownIndexes'>,
  scope: Scope,
  filters: EntryFilters,
  fields: EntryListQuery['fields'],
  doing: Doing,
  limit?: number,
): AsyncGenerator<readonly BsonDocument[], void> {
  const listing = wholeList({ ...filters, fields, sortOrder: 'asc' }) as EntryListQuery
  const nextPage = pagesOf(listing, limit)
  const read = () => doing((reading) => nextPage(sliceReader(store, entries, scope, listing, reading)))
  // The next page is read while this one is used.
  let page = read()
  try {
    for (let rows = await page; rows.length > 0; rows = await page) {
      page = read()
      page.catch(() => {})
      await setImmediate()
      yield rows
    }
  } finally {
    await page.catch(() => {})
  }
}
