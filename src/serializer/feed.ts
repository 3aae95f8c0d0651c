// Writes the items of a feed: records, and what stands for those that were deleted or do not fit their schema.
import { Type } from '@sinclair/typebox'
import { DeletedRecord } from '../../schemas/sync.js'
import { BsonDocument, UnwritableDocument } from '../bson/reader.js'
import { jsonArray } from './json.js'
import type { Output } from './output.js'
import type { RowFormat } from './rows.js'
import { isInstant, TIME_BYTES, writeTime } from './scalars.js'
import { describe } from './skipped.js'
import { compileDocuments, type DocumentWriter } from './writer.js'

/** A record in the shape of its list, or a tombstone. */
export class FeedItem extends BsonDocument {
  constructor(
    collection: string,
    bytes: Buffer,
    readonly isDeleted: boolean,
    /** When it was changed or deleted, in milliseconds, by the field that orders the feed. */
    readonly stamp: number | undefined,
  ) {
    super(collection, bytes)
  }
}

const closeObject = 0x7d
const label = Buffer.from(',"changedAt":')
// A record may have a stamp of its own under this name, which is not shown.
const { changedAt, ...ofTombstones } = DeletedRecord.properties
const writeTombstone = compileDocuments({ schema: Type.Object(ofTombstones), named: new Map() })

/**
 * The items of a page.
 * @param writeRecord writes a record
 * @param isSkipping whether a record that does not fit is left out. Otherwise an item stands for it
 */
export const feedItems = (writeRecord: DocumentWriter, isSkipping: boolean): RowFormat<FeedItem> =>
  jsonArray((item: FeedItem, out: Output) => {
    const begin = out.length
    try {
      const write = item.isDeleted ? writeTombstone : writeRecord
      write(item, out)
    } catch (error) {
      if (!(error instanceof UnwritableDocument) || isSkipping) throw error
      const { id, message } = describe(item, error)
      out.length = begin
      out.text(JSON.stringify({ id, unreadable: true, message }))
    }
    if (item.stamp !== undefined && isInstant(item.stamp)) addStamp(item.stamp, out)
  })

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
