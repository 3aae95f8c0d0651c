// Reads one page of a list: by its number, or from the position of a token. It reads one record more than the page
// shows, so it knows whether the list goes on.
import { BsonList, bsonArray, UnwritableDocument } from '../bson/reader.js'
import { inOrderOfIds } from '../paging/empty-values.js'
import { fromPayload, positionOf, type Start, sortValueOf, toPayload } from '../paging/position.js'
import { decodeToken, encodeToken, FIRST_CURSOR, invalidCursor } from '../paging/token.js'
import { rangesAfter } from '../pipelines/keyset.js'
import { type Listing, orderOf, type Scope, type Slice } from '../pipelines/stages.js'
import { idOf } from '../serializer/items.js'

/** The page before or after a page. It begins at a position, or if there is none, it is found by its number. */
export interface Neighbour {
  readonly start: Start | undefined
}

export interface Page {
  readonly data: BsonList
  /** How many records the page shows. */
  readonly shown: number
  readonly next: Neighbour | undefined
  readonly previous: Neighbour | undefined
}

/** Reads some rows of the list. */
type Read = (slice: Slice) => Promise<BsonList>

/**
 * Reads the page of a listing.
 * @param start where it begins; if undefined, by its number
 */
export const readPage = async (listing: Listing, start: Start | undefined, read: Read): Promise<Page> => {
  const { page, perPage } = listing
  const skip = listing.cursor === undefined ? (page - 1) * perPage : 0
  const list = await (start === undefined
    ? readInOrder(listing, { isBackward: false, skip, limit: perPage + 1 }, read)
    : readFrom(listing, start, read))
  const rows = list.documents
  const isBackward = start?.isBackward ?? false
  const shown = isBackward ? rows.slice(0, perPage).reverse() : rows.slice(0, perPage)
  const hasMore = rows.length > perPage

  const last = rows[perPage - 1]
  const data = isBackward
    ? new BsonList(list.collection, [bsonArray(shown)])
    : last === undefined
      ? list
      : list.upTo(last)

  const { field } = orderOf(listing, isBackward)
  const following = isBackward ? undefined : rows[perPage]
  const neighbour = (isBackward: boolean): Neighbour => {
    const row = isBackward ? shown[0] : shown.at(-1)
    // The way back from an empty page begins with what is exactly at the position.
    if (row === undefined) return { start: start && { position: start.position, isBackward, isInclusive: true } }
    const position = positionOf(row, field)
    if (position !== undefined) return { start: { position, isBackward, isInclusive: false } }
    if (isBackward) return { start: undefined }
    const next = following && positionOf(following, field)
    if (next === undefined && listing.cursor !== undefined) throw unplaced(list.collection, row, field)
    return { start: next && { position: next, isBackward, isInclusive: true } }
  }
  // The page that led here is on the side where this page's position is, so there is always a link back to it.
  const hasNext = isBackward || hasMore
  const hasPrevious = isBackward ? hasMore : start !== undefined || page > 1
  return {
    data,
    shown: shown.length,
    next: hasNext ? neighbour(false) : undefined,
    previous: hasPrevious ? neighbour(true) : undefined,
  }
}

/** The first rows after a start, in its direction. */
const readFrom = async (listing: Listing, start: Start, read: Read): Promise<BsonList> => {
  const { position, isBackward, isInclusive } = start
  const { field, direction } = orderOf(listing, isBackward)
  const batches: Buffer[] = []
  let collection = ''
  let left = listing.perPage + 1
  for (const range of rangesAfter(field, direction, position, isInclusive)) {
    const list = await readInOrder(listing, { range, isBackward, skip: 0, limit: left }, read)
    collection = list.collection
    batches.push(...list.batches)
    left -= list.documents.length
    if (left === 0) break
  }
  return new BsonList(collection, batches)
}

/** Reads some rows of the list. Those without a sort value are put in the order of their ids. */
const readInOrder = async (listing: Listing, slice: Slice, read: Read): Promise<BsonList> => {
  const list = await read(slice)
  const { field, direction } = orderOf(listing, slice.isBackward)
  const rows = list.documents
  const isEmpty = (row: Buffer | undefined) => row !== undefined && sortValueOf(row, field) === null
  // Such rows are at one end of a list. Behind rows that were skipped, the order is that of the server.
  if (field === '_id' || slice.skip > 0 || !(isEmpty(rows[0]) || isEmpty(rows.at(-1)))) return list

  const valued = rows.filter((row) => !isEmpty(row))
  const empty = rows.filter(isEmpty)
  const isWhole = rows.length < slice.limit
  const others = await inOrderOfIds(empty, { field, direction, isWhole }, async ({ value, lastId }) => {
    const last = lastId !== undefined && { [direction === 1 ? '$lte' : '$gte']: lastId }
    const range = { [field]: value, _id: { ...(slice.range?._id as object | undefined), ...last } }
    return (await read({ ...slice, range, limit: empty.length })).documents
  })
  return new BsonList(list.collection, [bsonArray(direction === 1 ? [...others, ...valued] : [...valued, ...others])])
}

/** The error for a record from which no cursor can go on. The page can still be read by its number. */
const unplaced = (collection: string, row: Buffer, field: string): UnwritableDocument => {
  const reason = 'has a value from which no cursor can go on'
  return new UnwritableDocument(collection, idOf(row), positionOf(row, '_id') === undefined ? '_id' : field, reason)
}

export interface ListTokens {
  /** Where the request begins, by its token. */
  readonly start: Start | undefined
  /** A token for the same list. */
  encode(parameter: 'cursor' | 'after', start: Start): string
}

/**
 * The tokens of a list. Each is bound to the organisation, the operation, all filters and the order, and what the key sees.
 * @throws the problem `invalid_cursor` if the request has a token that is not of this list
 */
export const tokensOf = ({ organisation, without = [] }: Scope, operationId: string, listing: Listing): ListTokens => {
  const { page, perPage, total, fields, expand, embed, answers, unreadable, cursor, after, ...list } = listing
  const binding = (parameter: string) => [organisation, operationId, parameter, Object.entries(list).sort(), ...without]
  const decode = (parameter: string, token: string): Start => {
    const start = fromPayload(decodeToken(parameter, binding(parameter), token))
    if (start === undefined) throw invalidCursor(parameter)
    return start
  }
  return {
    start:
      after !== undefined
        ? decode('after', after)
        : cursor !== undefined && cursor !== FIRST_CURSOR
          ? decode('cursor', cursor)
          : undefined,
    encode: (parameter, start) => encodeToken(binding(parameter), toPayload(start)),
  }
}
