// Every response is JSON or a kind of it, so a request whose Accept header excludes it fails. Sets the headers that all responses
// share.
import type { FastifyInstance, onSendHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import { problem } from '../http/problems.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set for a route whose responses have a media type of their own, besides which it takes that of JSON in Accept. */
    mediaType?: string
  }
}

/** The media type of all other responses, in the two ways in which callers name it. */
const TYPES = ['application/json', 'application/json;charset=utf-8']
export const JSON_HEADERS = {
  'cache-control': 'private, no-cache',
  vary: 'authorization, accept, accept-encoding, origin',
  'x-content-type-options': 'nosniff',
}

export const jsonOnlyPlugin = fp(
  async (app: FastifyInstance) => {
    app.addHook('onRequest', (request, reply, next) => {
      reply.headers(JSON_HEADERS)
      const { mediaType } = request.routeOptions.config
      const types = mediaType === undefined ? TYPES : [mediaType, ...TYPES]
      next(request.accepts().type(types) === false ? notAcceptable(mediaType) : undefined)
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

const notAcceptable = (type = 'application/json') =>
  problem('not_acceptable', `Responses are ${type}`, {
    errors: [{ in: 'header', name: 'Accept', message: `excludes ${type}`, allowed: [type] }],
  })
