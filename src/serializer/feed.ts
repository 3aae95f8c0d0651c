// Writes the items of a feed, which have different schemas: records, and what stands for those that were deleted or do not
// fit their schema. One bad record does not fail the page.
import { type TObject, type TSchema, Type } from '@sinclair/typebox'
import { type BsonDocument, UnwritableDocument } from '../bson/reader.js'
import { fieldOf, stringOf } from '../bson/values.js'
import type { Output } from './output.js'
import { isInstant, TIME_BYTES, writeTime } from './scalars.js'
import { compileDocuments } from './writer.js'

/** A record in the shape of its list, or a tombstone. */
export interface FeedItem {
  readonly document: BsonDocument
  readonly isDeleted: boolean
  /** When it was changed or deleted, in milliseconds, by the field that orders the feed. */
  readonly stamp: number | undefined
}

const comma = 0x2c
const closeObject = 0x7d
const label = Buffer.from(',"changedAt":')

/**
 * Compiles a writer for feed items.
 * @param record the schema of a record
 * @param deleted the schema of a tombstone
 * @param named the schemas that a `$ref` may name
 */
export const compileFeedItems = ([record, deleted]: readonly TSchema[], named: ReadonlyMap<string, TSchema>) => {
  const compile = (schema: TSchema) => {
    const { properties } = (named.get(schema.$ref) ?? schema) as TObject
    const { changedAt, ...stored } = properties
    return compileDocuments(Type.Object(stored), named)
  }
  const [records, tombstones] = [compile(record as TSchema), compile(deleted as TSchema)]

  const write = (item: FeedItem, out: Output): void => {
    writeItem(item, out)
    const { stamp } = item
    if (stamp === undefined || !isInstant(stamp)) return
    // In place of the brace that ends the item. A record may have another stamp under this name, which is not shown.
    out.reserve(label.length + TIME_BYTES)
    const { target } = out
    const at = out.length - 1
    target.bytes.set(label, at)
    const end = writeTime(stamp, target, at + label.length)
    target.bytes[end] = closeObject
    out.length = end + 1
  }

  const writeItem = ({ document, isDeleted }: FeedItem, out: Output): void => {
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
