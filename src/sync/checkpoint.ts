// The item by which a tool that keeps a time can go on: the deletion of a record that nobody has.
import { bsonDocument } from '../bson/reader.js'
import { CHECKPOINT, DELETED_AT } from '../documents/collections.js'
import { FeedItem } from '../serializer/feed.js'

/** A checkpoint, as the database gives deletions. Its stamp is the time from which the tool can go on, in milliseconds. */
export const checkpointAt = (collection: string, time: number): FeedItem => {
  const id = Buffer.from(`${CHECKPOINT}\0`)
  const length = Buffer.alloc(4)
  length.writeInt32LE(id.length)
  const deletedAt = Buffer.alloc(8)
  deletedAt.writeBigInt64LE(BigInt(time))
  const text = Buffer.from('\x02_id\0')
  const [deleted, date] = [Buffer.from('\x08deleted\0\x01'), Buffer.from(`\x09${DELETED_AT}\0`)]
  return new FeedItem(collection, bsonDocument([text, length, id, deleted, date, deletedAt]), true, time)
}
