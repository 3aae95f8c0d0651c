// The entity tag of a response (RFC 9110, section 8.8.3). It is a hash of the bytes that the database gave, so a 304 is sent
// without writing any JSON.
import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { namedSchemas } from '../../schemas/index.js'
import { BsonDocument, type BsonList } from '../bson/reader.js'

const here = new URL('.', import.meta.url)
const serializer = readdirSync(here).map((name) => readFileSync(new URL(name, here), 'utf8'))
/** The same documents make another response where the schemas or the code of this folder say so. */
const RELEASE = hash('sha1', JSON.stringify([...namedSchemas.values(), ...serializer])).slice(0, 8)

/** In one call: the objects in which Node takes a hash piece by piece burden the garbage collector. */
const sha1 = (part: Buffer | string): string => hash('sha1', part, 'base64url')

/**
 * The tag of a response. It is weak: the same tag stands for every content coding of the response.
 * @param metadata what a page says beside its documents
 */
export const etagOf = (data: BsonDocument | BsonList, metadata?: object): string => {
  const digest =
    data instanceof BsonDocument ? sha1(data.bytes) : sha1([...data.batches.map(sha1), JSON.stringify(metadata)].join())
  return `W/"${RELEASE}.${digest}"`
}
