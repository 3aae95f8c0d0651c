// Responses are JSON: a request that does not accept JSON fails. Also the headers that all JSON responses have.
import accepts from '@fastify/accepts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { LRUCache } from 'lru-cache'
import { problem } from '../http/problems.js'

/** The type of all responses, in the ways that callers ask for it. */
const TYPES = ['application/json', 'application/json;charset=utf-8']
/** On every response that is JSON. */
export const JSON_HEADERS = {
  'cache-control': 'private, no-cache',
  vary: 'authorization, accept, accept-encoding',
  'x-content-type-options': 'nosniff',
}
/** How many Accept headers are known by heart: a caller sends the same one for years. */
const KNOWN_HEADERS = 100

export const jsonOnlyPlugin = fp(
  async (app: FastifyInstance) => {
    await app.register(accepts)
    const takesJson = new LRUCache<string, boolean, FastifyRequest>({
      max: KNOWN_HEADERS,
      memoMethod: (_header, _stale, { context: request }) => request.accepts().type(TYPES) !== false,
    })
    app.addHook('onRequest', (request, reply, next) => {
      reply.headers(JSON_HEADERS)
      next(takesJson.memo(request.headers.accept ?? '', { context: request }) ? undefined : notAcceptable())
    })
  },
  { name: 'json-only', fastify: '5.x' },
)

const notAcceptable = () =>
  problem('not_acceptable', 'Responses are application/json', {
    errors: [{ in: 'header', name: 'Accept', message: 'excludes application/json', allowed: ['application/json'] }],
  })
