// The entity tag of an answer (RFC 9110, section 8.8.3), from the bytes that the database gave and before any JSON is
// written: an answer that the caller has already costs no more than that.
import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { namedSchemas } from '../../schemas/index.js'
import { BsonDocument, type BsonList } from './bson.js'

const here = new URL('.', import.meta.url)
const serializer = readdirSync(here).map((name) => readFileSync(new URL(name, here), 'utf8'))
/** The same documents are another answer where the schemas or the code of this folder say so. */
const RELEASE = hash('sha1', JSON.stringify([...namedSchemas.values(), ...serializer])).slice(0, 8)

/** In one call: the objects in which Node takes a hash piece by piece burden the garbage collector. */
const sha1 = (part: Buffer | string): string => hash('sha1', part, 'base64url')

/**
 * The tag of an answer. It is weak: one tag stands for an answer in whatever content coding.
 * @param metadata what a page says beside its documents
 */
export const etagOf = (data: BsonDocument | BsonList, metadata?: object): string => {
  const digest =
    data instanceof BsonDocument ? sha1(data.bytes) : sha1([...data.batches.map(sha1), JSON.stringify(metadata)].join())
  return `W/"${RELEASE}.${digest}"`
}
