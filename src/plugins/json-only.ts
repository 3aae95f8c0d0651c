// Responses are JSON unless their route says otherwise, so a request whose Accept header excludes that fails. Sets the
// headers that all responses share.
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { problem } from '../problems/problems.js'

/** The media type of most responses, in the two ways in which callers name it. */
const TYPES = ['application/json', 'application/json;charset=utf-8']

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The media type of the response to a request, if it is not that of JSON. Problems always are JSON. */
    mediaTypeOf?: (request: FastifyRequest) => string | undefined
  }
}

export const JSON_HEADERS = {
  'cache-control': 'private, no-cache',
  vary: 'authorization, accept, accept-encoding, origin',
  'x-content-type-options': 'nosniff',
}

export const jsonOnlyPlugin = fp(
  async (app: FastifyInstance) => {
    app.addHook('onRequest', (request, reply, next) => {
      reply.headers(JSON_HEADERS)
      const mediaType = request.routeOptions.config.mediaTypeOf?.(request)
      // Who asks for JSON gets what is JSON under a name of its own, too.
      const others = mediaType === undefined || mediaType.includes('+json') ? TYPES : []
      const isAccepted = request.accepts().type([mediaType ?? [], others].flat()) !== false
      next(isAccepted ? undefined : notAcceptable(mediaType))
    })
  },
  { name: 'json-only', fastify: '5.x', dependencies: ['@fastify/accepts'] },
)

const notAcceptable = (mediaType = 'application/json') =>
  problem('not_acceptable', `Responses are ${mediaType}`, {
    errors: [{ in: 'header', name: 'Accept', message: `excludes ${mediaType}`, allowed: [mediaType] }],
  })
