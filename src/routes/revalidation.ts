// Conditional requests (RFC 9110, section 13): a caller that sends the current entity tag gets 304 instead of the
// response.
import type { FastifyReply, FastifyRequest } from 'fastify'
import fresh from 'fresh'
/**
 * Sets the entity tag of the response, and returns whether the caller sent this tag, so that it needs only a 304. The
 * caller's Cache-Control is ignored: it is meant for caches, and browsers' `fetch` sends `no-cache` with every
 * If-None-Match.
 */
export const tagAndCompare = ({ headers }: FastifyRequest, reply: FastifyReply, etag: string): boolean => {
  reply.header('etag', etag)
  return fresh({ 'if-none-match': headers['if-none-match'] }, { etag })
}
