// Refuses a request whose Accept header excludes JSON, or the type of its route. Sets the headers that all responses share.
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { problem } from '../problems/problems.js'

const JSON_TYPE = 'application/json'
/** The type in an Accept header, with parameters such as a version. */
const WITH_PARAMETERS = /application\/json *;[^,]*/gi

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The media type of the response, if it is not that of JSON. Problems always are JSON. */
    mediaType?: string | undefined
    /** Whether the path chooses the media type, so that the Accept header does not matter. */
    isTypeInPath?: boolean
  }
}

export const JSON_HEADERS = {
  'cache-control': 'private, no-cache',
  vary: 'authorization, accept, accept-encoding, origin',
  'x-content-type-options': 'nosniff',
}

const plugin = async (app: FastifyInstance) => {
  app.addHook('onRequest', (request, reply, next) => {
    reply.headers(JSON_HEADERS)
    const { mediaType = [], isTypeInPath = false } = request.routeOptions.config
    // Who asks for JSON gets what is JSON under a name of its own, too.
    const types = [mediaType, JSON_TYPE, request.headers.accept?.match(WITH_PARAMETERS) ?? []].flat()
    const isAccepted = isTypeInPath || request.accepts().type(types) !== false
    next(isAccepted ? undefined : notAcceptable(types[0]))
  })
}
export const jsonOnlyPlugin = fp(plugin, { name: 'json-only', fastify: '5.x', dependencies: ['@fastify/accepts'] })

const notAcceptable = (mediaType = JSON_TYPE) =>
  problem('not_acceptable', `Responses are ${mediaType}`, {
    errors: [{ in: 'header', name: 'Accept', message: `excludes ${mediaType}`, allowed: [mediaType] }],
  })
