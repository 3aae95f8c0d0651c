// The cursor of a feed: how far a copy has come. It is all that the service knows of a copy.
import { decodeToken, encodeToken, invalidCursor, type Payload } from '../core/read/token.js'

/** A place in a feed. Rows with a smaller stamp are before it, and so are rows with the same stamp up to the id. */
export interface FeedPosition {
  /** In milliseconds; null among the rows without a stamp, which come first. */
  readonly stamp: number | null
  /** Null before all rows with the stamp. */
  readonly id: string | null
  /** Whether a row with exactly this id follows the position. */
  readonly isInclusive?: boolean
}

export interface Cursor {
  /** Deletions since then must be known: a horizon up to which all was shown, or at which the copy began. */
  readonly since: number
  readonly isSettledOnly: boolean
  readonly settled: FeedPosition
  /** The last row that was shown before it had settled, or null if there was none. */
  readonly fresh: FeedPosition | null
}

export const START: FeedPosition = { stamp: null, id: null }

const toPayload = ({ stamp, id, isInclusive = false }: FeedPosition): Payload => [stamp, id, isInclusive]

/** @param binding the organisation, the operation and the field that orders the feed */
export const encodeCursor = (binding: readonly unknown[], { since, isSettledOnly, settled, fresh }: Cursor): string =>
  encodeToken(binding, [since, isSettledOnly, ...toPayload(settled), ...(fresh === null ? [] : toPayload(fresh))])

/** @throws the problem `invalid_cursor` if the text is not a cursor of this feed */
export const decodeCursor = (binding: readonly unknown[], text: string): Cursor => {
  const [since, isSettledOnly, ...positions] = decodeToken('cursor', binding, text)
  const settled = positionOf(positions.slice(0, 3))
  const fresh = positions.length === 3 ? null : positionOf(positions.slice(3))
  if (!isTime(since) || typeof isSettledOnly !== 'boolean' || settled === undefined || fresh === undefined)
    throw invalidCursor('cursor')
  return { since, isSettledOnly, settled, fresh }
}

const positionOf = ([stamp, id, isInclusive, ...others]: Payload): FeedPosition | undefined => {
  const isSound =
    (stamp === null || isTime(stamp)) &&
    (id === null || typeof id === 'string') &&
    typeof isInclusive === 'boolean' &&
    others.length === 0
  return isSound ? { stamp, id, ...(isInclusive && { isInclusive }) } : undefined
}

/** Whether a value is a time in milliseconds that JavaScript can represent. */
const isTime = (value: unknown): value is number =>
  Number.isInteger(value) && !Number.isNaN(new Date(value as number).getTime())
