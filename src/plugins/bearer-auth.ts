// Finds the organisation of a request by its API key (RFC 6750, section 2.1), and by nothing else.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { problem } from '../http/problems.js'
import type { KeyScope, Keys } from '../keys/keys.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by this plugin before the handler of a route runs. */
    scope: KeyScope
  }
}

const BEARER = /^Bearer +(\S+)$/i

export const bearerAuthPlugin = fp(
  async (app: FastifyInstance, { keys }: { keys: Keys }) => {
    app.decorateRequest('scope')
    app.addHook('onRequest', async (request: FastifyRequest) => {
      const key = BEARER.exec(request.headers.authorization ?? '')?.[1]
      const scope = key === undefined ? undefined : await keys.verify(key, request.ip)
      // The response is the same whatever is wrong, so that it reveals nothing about a key.
      if (scope === undefined) {
        throw problem('unauthorized', 'A valid API key is needed: Authorization: Bearer <API_KEY>', {
          headers: { 'www-authenticate': 'Bearer' },
        })
      }
      request.scope = scope
    })
  },
  { name: 'bearer-auth', fastify: '5.x' },
)
