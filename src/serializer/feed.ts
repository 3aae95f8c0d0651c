// Writes the items of a feed, which have different schemas: records, and what stands for those that were deleted or do not
// fit their schema. One bad record does not fail the page.

import { type TObject, type TSchema, Type } from '@sinclair/typebox'
import type { BsonDocument } from '../bson/reader.js'
import { attempt, type Skipped, writeEach } from './items.js'
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
    // A record may have another stamp under this name, which is not shown.
    const { changedAt, ...stored } = properties
    return compileDocuments(Type.Object(stored), named)
  }
  const [records, tombstones] = [compile(record as TSchema), compile(deleted as TSchema)]

  /** Writes an item. Returns false if it is to be skipped. */
  const write = ({ document, isDeleted, stamp }: FeedItem, out: Output, skipped: Skipped | undefined): boolean => {
    const unreadable = attempt(document, () => (isDeleted ? tombstones : records).document(document, out))
    if (unreadable !== undefined) {
      if (skipped !== undefined) {
        skipped.add(unreadable)
        return false
      }
      const { id, message } = unreadable
      out.text(JSON.stringify({ id, unreadable: true, message }))
    }
    if (stamp !== undefined && isInstant(stamp)) addStamp(stamp, out)
    return true
  }

  /** Writes all items as a JSON array, in steps of about `size` bytes of BSON. */
  return (items: readonly FeedItem[], size: number, out: Output, skipped?: Skipped): Generator<void> =>
    writeEach(items, size, out, (item) => write(item, out, skipped))
}

/** Adds the stamp to the item that was just written, in place of the brace that ends it. */
const addStamp = (stamp: number, out: Output): void => {
  out.reserve(label.length + TIME_BYTES)
  const { target } = out
  const at = out.length - 1
  target.bytes.set(label, at)
  const end = writeTime(stamp, target, at + label.length)
  target.bytes[end] = closeObject
  out.length = end + 1
}
