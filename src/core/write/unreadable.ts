// What is said of records that do not fit their schema.
import { Bson, type BsonDocument } from '../bson/reader.js'
import { fieldOf, stringOf } from '../bson/values.js'
import { MAX_RESPONSE_BYTES, ResponseTooLarge, type UnreadableDocument } from './errors.js'
import type { OnFailure } from './rows.js'

export interface Unreadable {
  readonly id: string
  readonly message: string
}

/** The records that a response leaves out. They count for its size. */
export class Skipped {
  readonly records: Unreadable[] = []
  #size = 0

  constructor(readonly maxSize = MAX_RESPONSE_BYTES) {}

  readonly add: OnFailure = (record, error) => {
    const described = describe(record, error)
    this.#size += JSON.stringify(described).length
    if (this.#size > this.maxSize) throw new ResponseTooLarge()
    this.records.push(described)
  }
}

/** Stands for an id that cannot be shown. */
export const NO_ID = '?'

/** The id of the document at `start`, as an error has it. Unlike the writer, it needs only what is before the id. */
export const idOf = (bytes: Buffer, start = 0): string => {
  const id = fieldOf(bytes, start, '_id')
  return id?.type === Bson.objectId ? bytes.toString('hex', id.at, id.next) : (stringOf(bytes, id) ?? NO_ID)
}

export const describe = ({ collection, bytes }: BsonDocument, error: UnreadableDocument): Unreadable => {
  const id = idOf(bytes)
  // The value may be in a record that is embedded in this one.
  const isOwn = error.collection === collection && [id, NO_ID].includes(error.id)
  return { id, message: isOwn ? error.detail : `${error.collection}/${error.id}: ${error.detail}` }
}
