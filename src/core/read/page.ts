// What a page of a list is: its rows, where its neighbours begin, its total, and its links, which repeat every parameter.
import { type Listing, MAX_PAGE } from '../../../schemas/common.js'
import type { PageMetadata } from '../../../schemas/envelope.js'
import type { BsonDocument } from '../bson/reader.js'
import { rangesAfter } from '../pipelines/keyset.js'
import type { Order } from '../pipelines/stages.js'
import type { Start } from './position.js'
import { FIRST_CURSOR, type tokensOf } from './token.js'
import { type ReadSlice, readOn, readRanges, startBehind } from './walk.js'

/** The parameters that place a page in its list: by its number, or with `cursor` as the next of a walk. */
export type Placing = Pick<Listing, 'page' | 'perPage' | 'cursor' | 'after'>

/** The address that a caller asked at: the path with the query, and what stands before it. */
type Address = { readonly url: string; readonly base: () => string }

/** The page before or after a page. It begins at a position, or if there is none, it is found by its number. */
type Neighbour = { readonly start: Start | undefined }

export interface Page {
  readonly rows: readonly BsonDocument[]
  readonly next: Neighbour | undefined
  readonly previous: Neighbour | undefined
}

/** Reads a page of a list: the next of a walk, or a page by its number or beside another one. */
export const readPage = async (
  inOrder: Order,
  { page, perPage, cursor }: Placing,
  start: Start | undefined,
  read: ReadSlice,
): Promise<Page> => {
  if (cursor !== undefined) {
    const { rows, next } = await readOn(inOrder, perPage, start, read)
    return { rows, next: next && { start: next }, previous: undefined }
  }
  const isBackward = start?.isBackward ?? false
  const { field } = inOrder
  const direction = (isBackward ? -inOrder.direction : inOrder.direction) as Order['direction']
  const ranges = start === undefined ? [undefined] : rangesAfter(field, direction, start.position, start.isInclusive)
  const skip = start === undefined ? (page - 1) * perPage : 0
  // One row more than the page shows tells whether the list goes on.
  const { rows: found } = await readRanges(ranges, perPage + 1, perPage + 1, (range, limit) =>
    read({ field, direction }, { range, skip, limit }),
  )
  const hasMore = found.length > perPage
  const rows = isBackward ? found.slice(0, perPage).reverse() : found.slice(0, perPage)
  const neighbour = (isBackward: boolean): Neighbour => {
    const row = isBackward ? rows[0] : rows.at(-1)
    // The way back from an empty page begins with what is exactly at the position.
    if (row === undefined) return { start: start && { position: start.position, isBackward, isInclusive: true } }
    const behind = isBackward || start?.isBackward ? undefined : found[perPage]
    return { start: startBehind(row, behind, field, isBackward) }
  }
  // The page that led here is on the side where this page's position is, so there is always a link back to it.
  return {
    rows,
    next: isBackward || hasMore ? neighbour(false) : undefined,
    previous: (isBackward ? hasMore : start !== undefined || page > 1) ? neighbour(true) : undefined,
  }
}

/**
 * The total of a list. The count may be older than the page, and where they disagree the page is right. A page with a number
 * shows where the list ends: before an empty page, with a page that has no next one, and behind any other page. The first
 * page of a cursor is page 1. For a page that begins at a position, the number of records before it is not known, so it
 * shows only that the list has at least the records of the page.
 * @param counted how many records match, as of some time ago
 */
export const totalOf = ({ page, perPage, cursor, after }: Placing, { rows, next }: Page, counted: number): number => {
  const isNumbered = after === undefined && (cursor === undefined || cursor === FIRST_CURSOR)
  const before = isNumbered ? (page - 1) * perPage : 0
  if (isNumbered && rows.length === 0) return Math.min(counted, before)
  if (isNumbered && next === undefined) return before + rows.length
  return Math.max(counted, before + rows.length + (next === undefined ? 0 : 1))
}

/** @param tokens make the positions of its neighbours. Without them they have numbers alone */
export const pageMetadata = (
  asked: Address,
  { page, perPage, cursor, after }: Placing,
  { rows, next, previous }: Pick<Page, 'next' | 'previous'> & { readonly rows: readonly unknown[] },
  total: number | undefined,
  tokens?: Pick<ReturnType<typeof tokensOf>, 'encode'>,
): PageMetadata => {
  const link = linker(asked)
  const nextCursor = next?.start && tokens?.encode('cursor', next.start)
  const pageCount = total === undefined || cursor !== undefined ? undefined : Math.ceil(total / perPage)
  const linkTo = (number: number, { start }: Neighbour) =>
    cursor === undefined
      ? link({ page: number, perPage, after: start && tokens?.encode('after', start) })
      : link({ perPage, cursor: nextCursor })
  // Beyond the end of a list whose total is known, the previous page is the last one that exists.
  const lastBefore = rows.length === 0 && after === undefined ? Math.min(page - 1, pageCount ?? page) : page - 1
  return {
    ...(total !== undefined && { total }),
    perPage,
    ...(pageCount !== undefined && { pageCount }),
    hasMore: next !== undefined,
    // A page with a number has it too, for programs that begin without a cursor and then go on by this one.
    ...(nextCursor !== undefined && { nextCursor }),
    pageLinks: {
      current: link(cursor === undefined ? { page, perPage, after } : { perPage, cursor }),
      ...(next && { next: linkTo(Math.min(page + 1, MAX_PAGE), next) }),
      ...(previous && { previous: linkTo(Math.max(1, lastBefore), previous) }),
    },
  }
}

/** A longer `Link` header is left out: proxies and clients limit the headers of a response, often to 4 KiB. */
const MAX_LINK_BYTES = 2000

/** The links to the neighbours of a page as a `Link` header (RFC 8288), if there are any and they are short enough. */
export const linkHeader = ({ pageLinks: { next, previous } }: PageMetadata): string | undefined => {
  const links = [next && `<${next}>; rel="next"`, previous && `<${previous}>; rel="prev"`]
  const header = links.filter(Boolean).join(', ')
  return header === '' || header.length > MAX_LINK_BYTES ? undefined : header
}

/** Makes links that repeat the parameters of the request. Only the parameters that place the page differ. */
export const linker = ({ url, base }: Address) => {
  const { pathname, searchParams } = new URL(url, 'http://localhost')
  const address = `${base()}${pathname}`
  const parametersOf = (values: Iterable<[string, string | number | undefined]>) =>
    Array.from(values, ([name, value]) => value !== undefined && `${name}=${encodeURIComponent(value)}`).filter(Boolean)
  const repeated = parametersOf(
    [...searchParams].filter(([name]) => !['page', 'perPage', 'cursor', 'after'].includes(name)),
  )
  return (own: Readonly<Record<string, string | number | undefined>>): string => {
    const parameters = [...repeated, ...parametersOf(Object.entries(own))]
    return parameters.length > 0 ? `${address}?${parameters.join('&')}` : address
  }
}
