// Writes the items of a feed: records, and items that stand for records that were deleted or do not fit their schema.
import { Type } from '@sinclair/typebox'
import { DeletedRecord } from '../../schemas/sync.js'
import { BsonDocument } from '../core/bson/reader.js'
import { isInstant } from '../core/bson/values.js'
import { jsonArray } from '../core/write/json.js'
import type { Output } from '../core/write/output.js'
import type { OnFailure, RowFormat } from '../core/write/rows.js'
import { TIME_BYTES, writeTime } from '../core/write/scalars.js'
import { describe } from '../core/write/unreadable.js'
import { compileDocuments, type DocumentWriter } from '../core/write/writer.js'

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

export const feedItems = (writeRecord: DocumentWriter): RowFormat<FeedItem> =>
  jsonArray((item, out) => {
    const write = item.isDeleted ? writeTombstone : writeRecord
    write(item, out)
    addStamp(item, out)
  })

export const writeUnreadable: OnFailure<FeedItem> = (item, error, out) => {
  const { id, message } = describe(item, error)
  out.text(JSON.stringify({ id, unreadable: true, message }))
  addStamp(item, out)
}

/** Adds the stamp to the item that was just written, in place of the brace that ends it. */
const addStamp = ({ stamp }: FeedItem, out: Output): void => {
  if (stamp === undefined || !isInstant(stamp)) return
  out.reserve(label.length + TIME_BYTES)
  const { target } = out
  const at = out.length - 1
  target.bytes.set(label, at)
  const end = writeTime(stamp, target, at + label.length)
  target.bytes[end] = closeObject
  out.length = end + 1
}
