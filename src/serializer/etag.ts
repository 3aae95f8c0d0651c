// The entity tag of a response (RFC 9110, section 8.8.3). It is a hash of the bytes from the database, so that a 304 can be
// sent without writing any JSON.
import { hash } from 'node:crypto'
import { listedSchemas, namedSchemas } from '../../schemas/index.js'
import type { Without } from '../../schemas/views.js'
import type { BsonDocument } from '../bson/reader.js'

/** How many bytes are hashed before other requests go on: about half a millisecond. */
const STEP_BYTES = 512 * 1024
/** The bytes of a step, of as many documents as fit. A copy costs less than a call for each document. */
const step = Buffer.allocUnsafeSlow(STEP_BYTES)

/**
 * The version of what the serializer writes. Increase it when the same documents with the same schemas are written in
 * another way, so that callers do not keep the old response. test/serializer/etag.test.ts fails until you do.
 */
export const FORMAT = 3

/** A change of the schemas changes the responses as well. */
const VERSION = hash('sha1', JSON.stringify([FORMAT, ...namedSchemas.values(), ...listedSchemas.values()])).slice(0, 8)

/** Hashes in one call. Hash objects, which take the data piece by piece, are a load on the garbage collector. */
const sha1 = (part: Buffer | string): string => hash('sha1', part, 'base64url')

/**
 * The entity tag of a response. It is weak, because the same tag is used for every content coding. It yields between its
 * steps (see src/limits/work.ts).
 * @param metadata what a page contains besides its documents
 * @param without what the caller does not see. A caller that sees more has other tags
 */
export function* etagOf(
  documents: readonly BsonDocument[],
  metadata?: object,
  without?: Without,
): Generator<void, string> {
  const parts: string[] = []
  let size = 0
  for (const { bytes } of documents) {
    for (let start = 0; start < bytes.length; ) {
      const copied = bytes.copy(step, size, start)
      start += copied
      size += copied
      if (size < STEP_BYTES) continue
      parts.push(sha1(step))
      size = 0
      yield
    }
  }
  parts.push(sha1(step.subarray(0, size)))
  if (metadata !== undefined) parts.push(JSON.stringify(metadata))
  if (without !== undefined) parts.push(without.join())
  return `W/"${VERSION}.${parts.length === 1 ? parts[0] : sha1(parts.join())}"`
}
