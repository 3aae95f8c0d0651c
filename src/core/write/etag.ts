// The entity tag of a response (RFC 9110, section 8.8.3): a hash of bytes of the database, so that a 304 needs no JSON.
import { createHash, hash } from 'node:crypto'
import { listedSchemas, namedSchemas } from '../../../schemas/index.js'
import type { Without } from '../../../schemas/views.js'
import type { BsonDocument } from '../bson/reader.js'
import { slices } from '../limits/work.js'

/** How many bytes are hashed before other requests go on: about half a millisecond. */
const STEP_BYTES = 512 * 1024

/** Increase it when documents are written otherwise, so that nobody keeps an old response. A test fails until you do. */
export const FORMAT = 4

/** A change of the schemas changes responses as well. */
const VERSION = hash('sha1', JSON.stringify([FORMAT, ...namedSchemas.values(), ...listedSchemas.values()])).slice(0, 8)

/** A hash of many values, for the tag of what is in the cache. */
export function* hashOf(values: Iterable<unknown>): Generator<void, string> {
  const all = createHash('sha1')
  const isSliceOver = slices()
  for (const value of values) {
    const text = JSON.stringify(value)
    all.update(text)
    if (isSliceOver(text)) yield
  }
  return all.digest('base64url')
}

/**
 * The tag is weak, because every content coding has the same. It is made in slices (src/core/limits/work.ts).
 * @param values what the response contains besides its rows
 * @param without what the caller does not see. A caller that sees more has other tags
 */
export function* etagOf(rows: readonly BsonDocument[], values?: unknown, without?: Without): Generator<void, string> {
  const all = createHash('sha1')
  let left = STEP_BYTES
  for (const { bytes } of rows) {
    for (let start = 0; start < bytes.length; start += STEP_BYTES) {
      // Most documents are one part, and another view of each would take as long as a hash of it.
      const part = bytes.length <= STEP_BYTES ? bytes : bytes.subarray(start, start + STEP_BYTES)
      all.update(part)
      left -= part.length
      if (left > 0) continue
      left = STEP_BYTES
      yield
    }
  }
  all.update(JSON.stringify([values, without]))
  return `W/"${VERSION}.${all.digest('base64url')}"`
}
