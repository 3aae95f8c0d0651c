// Responses are JSON unless their route says otherwise, so a request whose Accept header excludes that fails. Sets the
// headers that all responses share.
import type { FastifyInstance, onSendHookHandler } from 'fastify'
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
    app.addHook('onRoute', (route) => {
      // Fastify adds the route of HEAD itself, with a hook of its own.
      if (route.method === 'HEAD') route.onSend = [route.onSend as onSendHookHandler, withoutLengthOf304].flat()
    })
  },
  { name: 'json-only', fastify: '5.x', dependencies: ['@fastify/accepts'] },
)

/** Fastify gives a 304 to HEAD the length 0. RFC 9110, section 8.6, allows only that of the 200, or none. */
const withoutLengthOf304: onSendHookHandler = (_request, reply, payload, next) => {
  if (reply.statusCode === 304) reply.removeHeader('content-length')
  next(null, payload)
}

const notAcceptable = (mediaType = 'application/json') =>
  problem('not_acceptable', `Responses are ${mediaType}`, {
    errors: [{ in: 'header', name: 'Accept', message: `excludes ${mediaType}`, allowed: [mediaType] }],
  })
