// Lets pages of other origins call the service from a browser (the CORS protocol of the Fetch standard).
import cors from '@fastify/cors'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

/** How long a browser may remember the result of a preflight, in seconds. No browser remembers it longer. */
const PREFLIGHT_MAX_AGE_S = 86_400
const ALLOWED = 'Authorization, If-None-Match, X-Request-Id'
/** What a request to /mcp has besides (Model Context Protocol, Streamable HTTP). */
const OF_MCP = 'Content-Type, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID'
const EXPOSED = 'API-Key-Expires, ETag, Link, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Request-Id'

const plugin = async (app: FastifyInstance, { origins }: { origins: string[] | '*' }) => {
  const options = {
    origin: origins,
    methods: 'GET, HEAD',
    allowedHeaders: ALLOWED,
    exposedHeaders: EXPOSED,
    maxAge: PREFLIGHT_MAX_AGE_S,
    // An OPTIONS request that is not a preflight gets the same response: the plugin's error is not in the catalogue.
    strictPreflight: false,
  }
  const forAssistants = { ...options, methods: 'POST', allowedHeaders: `${ALLOWED}, ${OF_MCP}` }
  await app.register(cors, {
    delegator: ({ url }, callback) => callback(null, /^\/mcp(\?|$)/.test(url) ? forAssistants : options),
  })
}
export const corsPlugin = fp(plugin, { name: 'cors', fastify: '5.x' })
