// Operations that will be removed. Their responses have the headers Deprecation (RFC 9745) and Sunset (RFC 8594), and
// the OpenAPI document marks them. docs/versioning.md says when an operation may be removed.
import type { FastifyInstance, onSendHookHandler } from 'fastify'
import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set for an operation that is deprecated: since when it is, and when it will be removed. */
    deprecated?: { since: Date; sunset: Date }
  }
}

export const deprecationPlugin = fp(
  async (app: FastifyInstance) => {
    app.addHook('onRoute', (route) => {
      if (route.config?.deprecated === undefined) return
      const { since, sunset } = route.config.deprecated
      const headers = { deprecation: `@${Math.floor(since.getTime() / 1000)}`, sunset: sunset.toUTCString() }
      route.schema = { ...route.schema, deprecated: true }
      const addHeaders: onSendHookHandler = (_request, reply, payload, next) => {
        reply.headers(headers)
        next(null, payload)
      }
      route.onSend = [route.onSend ?? [], addHeaders].flat()
    })
  },
  { name: 'deprecation', fastify: '5.x' },
)
