// What all formats have in common: rows between a beginning and an end. A row that does not fit leaves nothing behind.
import { isUtf8 } from 'node:buffer'
import { Bson, BsonDocument } from '../bson/reader.js'
import { fieldOf } from '../bson/values.js'
import { MAX_RESPONSE_BYTES, ResponseTooLarge, UnreadableDocument, withBsonErrors } from './errors.js'
import type { Output } from './output.js'
import { idOf, NO_ID } from './unreadable.js'

export interface RowFormat<T = BsonDocument> {
  readonly begin?: string
  readonly between?: string
  readonly end?: string
  /** Writes the row of a record, or several or none. */
  readonly write: (record: T, out: Output) => void
}

/** How many bytes of BSON are written before other work goes on: some tenths of a millisecond. */
const SLICE_BYTES = 64 * 1024
/** A record that becomes more bytes than this is too large itself, and not the response around it. */
const MAX_RECORD_BYTES = MAX_RESPONSE_BYTES / 2

/** Is called for a record that does not fit its schema, or is too large. It may write another row in its place, or throw. */
export type OnFailure<T extends BsonDocument = BsonDocument> = (of: T, error: UnreadableDocument, out: Output) => void

export const fail: OnFailure = (_record, error) => {
  throw error
}

/**
 * Makes a function that writes rows behind others: of some records at a time, until the output has `mostBytes` or the records
 * end. It returns whether records may be left.
 * @param onFailure for copies of records, which are found by their ids. Without it any id fits, and an error ends the work
 */
export const rowsWriter = <T>({ between = '', write }: RowFormat<T>, onFailure?: OnFailure<T & BsonDocument>) => {
  let isFirst = true
  return (records: Iterator<T>, out: Output, mostBytes = Number.POSITIVE_INFINITY): boolean => {
    for (let left = SLICE_BYTES; left > 0 && out.length < mostBytes; ) {
      const { done, value: record } = records.next()
      if (done) return false
      const before = out.length
      if (!isFirst) out.text(between)
      const begin = out.length
      try {
        if (onFailure !== undefined) requireText(record as T & BsonDocument)
        write(record, out)
      } catch (error) {
        if (onFailure === undefined) throw error
        out.length = begin
        const failed = record as T & BsonDocument
        onFailure(failed, failureOf(failed, error, begin), out)
      }
      if (out.length > begin) isFirst = false
      else out.length = before
      left -= record instanceof BsonDocument ? record.bytes.length : out.length - begin
    }
    return true
  }
}

/** Writes all that a format makes of some records, in slices, or what it makes of the first until there are `mostBytes`. */
export function* writeAll<T>(
  records: Iterable<T>,
  format: RowFormat<T>,
  out: Output,
  onFailure?: OnFailure<T & BsonDocument>,
  mostBytes = Number.POSITIVE_INFINITY,
): Generator<void> {
  const write = rowsWriter(format, onFailure)
  const all = records[Symbol.iterator]()
  out.text(format.begin ?? '')
  while (write(all, out, mostBytes) && out.length < mostBytes) yield
  out.text(format.end ?? '')
}

/** What is wrong with a record before which `begin` bytes stand. @throws an error that is not the record's */
const failureOf = ({ collection, bytes }: BsonDocument, error: unknown, begin: number): UnreadableDocument => {
  if (error instanceof UnreadableDocument) return error
  if (!(error instanceof ResponseTooLarge) || begin > MAX_RECORD_BYTES) throw error
  return new UnreadableDocument(collection, idOf(bytes), '', `becomes more than ${MAX_RECORD_BYTES} bytes`)
}

/** A copy finds a record by its id, in all operations. They take texts alone. */
const requireText = ({ collection, bytes }: BsonDocument): void => {
  const id = withBsonErrors(collection, () => fieldOf(bytes, 0, '_id'))
  // Without an id it does not fit its schema.
  if (id === undefined || (id.type === Bson.string && isUtf8(bytes.subarray(id.at + 4, id.next - 1)))) return
  throw new UnreadableDocument(collection, NO_ID, '_id', 'is not a string of valid UTF-8')
}
