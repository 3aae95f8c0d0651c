// Writes the items of a feed, which have different schemas: records, and what stands for those that were deleted or do not
// fit their schema. One bad record does not fail the page.
import type { TSchema } from '@sinclair/typebox'
import { type BsonDocument, UnwritableDocument } from '../bson/reader.js'
import { fieldOf, stringOf } from '../bson/values.js'
import type { Output } from './output.js'
import { compileDocuments } from './writer.js'

/** A record in the shape of its list, or a tombstone. */
export interface FeedItem {
  readonly document: BsonDocument
  readonly isDeleted: boolean
}

const comma = 0x2c

/**
 * Compiles a writer for feed items.
 * @param record the schema of a record
 * @param deleted the schema of a tombstone
 * @param named the schemas that a `$ref` may name
 */
export const compileFeedItems = ([record, deleted]: readonly TSchema[], named: ReadonlyMap<string, TSchema>) => {
  const records = compileDocuments(record as TSchema, named)
  const tombstones = compileDocuments(deleted as TSchema, named)

  const write = ({ document, isDeleted }: FeedItem, out: Output): void => {
    try {
      // A document that fails has written nothing.
      ;(isDeleted ? tombstones : records).document(document, out)
    } catch (error) {
      if (!(error instanceof UnwritableDocument)) throw error
      const id = stringOf(document.bytes, fieldOf(document.bytes, 0, '_id')) ?? '?'
      // The value may be in a record that is embedded in this one.
      const isOwn = error.collection === document.collection && error.id === id
      const message = isOwn ? error.detail : `${error.collection}/${error.id}: ${error.detail}`
      out.text(JSON.stringify({ id, unreadable: true, message }))
    }
  }

  /** Writes all items as a JSON array, in steps of about `size` bytes of BSON. */
  return function* (items: readonly FeedItem[], size: number, out: Output): Generator<void> {
    out.text('[')
    let rest = size
    for (const [i, item] of items.entries()) {
      if (i > 0) out.byte(comma)
      write(item, out)
      rest -= item.document.size
      if (rest > 0) continue
      rest = size
      yield
    }
    out.text(']')
  }
}
