// The cursor of a feed: how far a copy has come, and when it began. It is all that the service knows of a copy.
import { decodeToken, encodeToken, invalidCursor } from '../paging/token.js'

/** A place in a feed. Rows with a smaller stamp are before it, and those with the same stamp up to the id. */
export interface FeedPosition {
  /** In milliseconds; null among the rows without a stamp, which come first. */
  readonly stamp: number | null
  /** Null before all rows with the stamp. */
  readonly id: string | null
}

export interface Cursor {
  /** The first horizon of the copy. Deletions since then must be known, because the copy may have those records. */
  readonly began: number
  readonly position: FeedPosition
}

export const START: FeedPosition = { stamp: null, id: null }

/** @param binding the organisation, the operation and the field that orders the feed */
export const encodeCursor = (binding: readonly string[], { began, position: { stamp, id } }: Cursor): string =>
  encodeToken(binding, [began, stamp, id])

/** @throws the problem `invalid_cursor` if the text is not a cursor of this feed */
export const decodeCursor = (binding: readonly string[], text: string): Cursor => {
  const [began, stamp, id, ...others] = decodeToken('cursor', binding, text)
  const isSound =
    isTime(began) && (stamp === null || isTime(stamp)) && (id === null || typeof id === 'string') && others.length === 0
  if (!isSound) throw invalidCursor('cursor')
  return { began, position: { stamp, id } }
}

/** Whether a value is a time in milliseconds that JavaScript can represent. */
const isTime = (value: unknown): value is number =>
  Number.isInteger(value) && !Number.isNaN(new Date(value as number).getTime())
