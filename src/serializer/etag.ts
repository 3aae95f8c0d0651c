// The entity tag of an answer (RFC 9110, section 8.8.3), from the bytes that the database gave and before any JSON is
// written: an answer that the caller has already costs no more than that.
import { createHash, hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { namedSchemas } from '../../schemas/index.js'
import { BsonDocument, BsonList } from './bson.js'

const here = new URL('.', import.meta.url)
const serializer = readdirSync(here).map((name) => readFileSync(new URL(name, here), 'utf8'))
/** The same documents are another answer where the schemas or the code of this folder say so. */
const RELEASE = hash('sha1', JSON.stringify([...namedSchemas.values(), ...serializer]))

/**
 * The tag of an envelope. It is weak: one tag stands for an answer in whatever content coding.
 * @param envelope what the answer holds beside the documents goes into the tag as JSON
 */
export const etagOf = (envelope: Readonly<Record<string, unknown>>): string => {
  const digest = createHash('sha1').update(RELEASE)
  for (const part of Object.values(envelope)) {
    if (part instanceof BsonList) for (const batch of part.batches) digest.update(batch)
    else digest.update(part instanceof BsonDocument ? part.bytes : JSON.stringify(part))
  }
  return `W/"${digest.digest('base64url')}"`
}
