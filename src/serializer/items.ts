// Writes a page record by record, where one that does not fit its schema must not fail the page: in feeds, and where the
// request wants such records left out.
import { isUtf8 } from 'node:buffer'
import {
  Bson,
  type BsonDocument,
  MAX_RESPONSE_BYTES,
  ResponseTooLarge,
  reading,
  UnwritableDocument,
} from '../bson/reader.js'
import { fieldOf, stringOf } from '../bson/values.js'
import type { Output } from './output.js'

/** What is said of a record that does not fit its schema. */
export interface Unreadable {
  readonly id: string
  readonly message: string
}

/** The records that a response leaves out. They count for its size. */
export class Skipped {
  readonly records: Unreadable[] = []
  #size = 0

  constructor(readonly maxSize = MAX_RESPONSE_BYTES) {}

  add(record: Unreadable): void {
    this.#size += JSON.stringify(record).length
    if (this.#size > this.maxSize) throw new ResponseTooLarge()
    this.records.push(record)
  }
}

/** Stands for an id that cannot be shown. */
const NO_ID = '?'

/** The id of a document as an error has it. Unlike the writer, it needs no more of the document than what is before it. */
export const idOf = (bytes: Buffer): string => {
  const id = fieldOf(bytes, 0, '_id')
  return id?.type === Bson.objectId ? bytes.toString('hex', id.at, id.next) : (stringOf(bytes, id) ?? NO_ID)
}

/** A copy finds a record by its id, in all operations. They take texts alone. */
const requireText = ({ collection, bytes }: BsonDocument): void => {
  const id = reading(collection, () => fieldOf(bytes, 0, '_id'))
  // Without an id it does not fit its schema.
  if (id === undefined || (id.type === Bson.string && isUtf8(bytes.subarray(id.at + 4, id.next - 1)))) return
  throw new UnwritableDocument(collection, NO_ID, '_id', 'is not a string of valid UTF-8')
}

/** Writes a document. Returns the error if it does not fit; then nothing was written. */
export const failureOf = (document: BsonDocument, write: () => void): UnwritableDocument | undefined => {
  try {
    requireText(document)
    write()
    return undefined
  } catch (error) {
    if (error instanceof UnwritableDocument) return error
    throw error
  }
}

/** What is said of a document that cannot be written. */
export const described = ({ collection, bytes }: BsonDocument, error: UnwritableDocument): Unreadable => {
  const id = idOf(bytes)
  // The value may be in a record that is embedded in this one.
  const isOwn = error.collection === collection && [id, NO_ID].includes(error.id)
  return { id, message: isOwn ? error.detail : `${error.collection}/${error.id}: ${error.detail}` }
}

/** Writes a document, or says why it does not fit. */
export const attempt = (document: BsonDocument, write: () => void): Unreadable | undefined => {
  const error = failureOf(document, write)
  return error && described(document, error)
}

/**
 * Writes items as a JSON array, in steps of about `size` bytes of BSON.
 * @param write writes an item, or returns false: then the array goes on without it
 */
export function* writeEach<T extends { readonly document: BsonDocument }>(
  items: readonly T[],
  size: number,
  out: Output,
  write: (item: T) => boolean,
): Generator<void> {
  out.text('[')
  const begin = out.length
  let rest = size
  for (const item of items) {
    const before = out.length
    if (before > begin) out.byte(comma)
    if (!write(item)) out.length = before
    rest -= item.document.size
    if (rest > 0) continue
    rest = size
    yield
  }
  out.text(']')
}

const comma = 0x2c
