// What a worker computes, and how documents and errors go from one thread to the other.
import { type BsonDocument, sizeOf } from '../bson/reader.js'
import { ProblemError } from '../problems/problems.js'
import { ResponseTooLarge, UnfitForFormat, UnreadableDocument } from '../write/errors.js'

/** What a job has made: bytes, and what little there is to say of them. */
export interface Made {
  readonly bytes?: Uint8Array | undefined
  readonly told?: unknown
}

/** Plain and synchronous. It bounds what it holds itself: a worker that takes too much memory may end the process. */
export interface Job {
  add(documents: readonly Buffer[]): Made
  end(): Made
  /** About how many bytes it holds. */
  readonly held: number
}

/** The head of a document in a batch: how long it is, also where its own bytes say something else. */
const HEAD = 4

/** A copy of some documents, which can be given to another thread. */
export const batchOf = (rows: readonly BsonDocument[]): ArrayBuffer => {
  const batch = Buffer.allocUnsafeSlow(HEAD * rows.length + sizeOf(rows))
  let to = 0
  for (const { bytes } of rows) {
    to = batch.writeUInt32LE(bytes.length, to)
    to += bytes.copy(batch, to)
  }
  return batch.buffer as ArrayBuffer
}

export const documentsOf = (given: ArrayBuffer): Buffer[] => {
  const batch = Buffer.from(given)
  const documents: Buffer[] = []
  for (let at = 0; at < batch.length; ) {
    const begin = at + HEAD
    at = begin + batch.readUInt32LE(at)
    documents.push(batch.subarray(begin, at))
  }
  return documents
}

/** The errors that callers are told of. Between threads an error loses its class and what it says besides its message. */
const classes: readonly { prototype: Error }[] = [ProblemError, UnreadableDocument, UnfitForFormat, ResponseTooLarge]

export type Thrown = ReturnType<typeof thrown>

export const thrown = (error: Error) => {
  const of = classes.indexOf(error.constructor as never)
  return { error, of, fields: of === -1 ? {} : { ...error } }
}

export const errorOf = ({ error, of, fields }: Thrown): Error =>
  Object.assign(Object.setPrototypeOf(error, classes[of]?.prototype ?? Object.getPrototypeOf(error)), fields)
