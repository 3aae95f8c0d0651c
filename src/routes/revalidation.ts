// Conditional requests (RFC 9110, section 13): a caller that sends the current entity tag gets 304 instead of the response.
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
 * Sets the entity tag, and gives the response, or 304 without a body if the caller sent this tag. The caller's Cache-Control
 * is ignored: it is meant for caches, and browsers' `fetch` sends `no-cache` with every If-None-Match.
 */
export const unlessKnown = ({ headers }: FastifyRequest, reply: FastifyReply, envelope: Envelope): unknown => {
  const etag = etagOf(envelope.data, envelope._metadata)
  reply.header('etag', etag)
  return fresh({ 'if-none-match': headers['if-none-match'] }, { etag }) ? reply.code(304).send() : envelope
}
