// Conditional requests (RFC 9110, section 13): a caller that names the entity tag of the response has it already.
import type { FastifyReply, FastifyRequest } from 'fastify'
import fresh from 'fresh'
import type { PageMetadata } from '../../schemas/envelope.js'
import type { BsonDocument, BsonList } from '../bson/reader.js'
import { etagOf } from '../serializer/etag.js'

interface Envelope {
  success: true
  data: BsonDocument | BsonList
  _metadata?: PageMetadata
}

/**
 * The response with its entity tag, or 304 without a body if the caller has it. Cache-Control is for caches on the way: what
 * comes from here is never older than the request, and every `fetch` with If-None-Match sends `no-cache`.
 */
export const unlessKnown = ({ headers }: FastifyRequest, reply: FastifyReply, envelope: Envelope): unknown => {
  const etag = etagOf(envelope.data, envelope._metadata)
  reply.header('etag', etag)
  return fresh({ 'if-none-match': headers['if-none-match'] }, { etag }) ? reply.code(304).send() : envelope
}
