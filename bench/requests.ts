// The requests that the service and its peers get.
import type { EntryListQuery } from '../schemas/entries.js'

/** The service's paging defaults and limits, which every peer uses too. */
export const pageLimits = { page: 1, perPage: 50, maxPerPage: 1000 }

/** The ids of an entry in the middle of a database and of its dispatch. */
export interface Sample {
  entry: string
  dispatch: string
}

export const requests = (entries: number, { entry, dispatch }: Sample) => ({
  list1: '/v1/entries?perPage=1',
  list50: '/v1/entries?perPage=50',
  list1000: '/v1/entries?perPage=1000',
  byId: `/v1/entries/${entry}`,
  filtered: `/v1/entries?dispatch=${dispatch}&perPage=50`,
  filteredTwice: `/v1/entries?dispatch=${dispatch}&status=accepted&perPage=50`,
  deepPage: `/v1/entries?page=${Math.ceil(entries / 50) - 1}&perPage=50`,
  counted: '/v1/entries?status=accepted&perPage=50',
})

export type RequestName = keyof ReturnType<typeof requests>

export const titles: Record<RequestName, string> = {
  list1: 'list of 1',
  list50: 'list of 50',
  list1000: 'list of 1000',
  byId: 'entry by id',
  filtered: 'filtered by dispatch, 50',
  filteredTwice: 'filtered by dispatch and status, 50',
  deepPage: 'last page but one of 50',
  counted: 'large filter (one status), 50 with the total',
}

/** The query parameters of a list's path, with the service's defaults for those that are missing. */
export const listingOf = (path: string): EntryListQuery => {
  const given = Object.fromEntries(new URL(path, 'http://localhost').searchParams)
  const { page = pageLimits.page, perPage = pageLimits.perPage, ...filters } = given
  return { sortBy: 'id', sortOrder: 'asc', ...filters, page: Number(page), perPage: Number(perPage) }
}
