// POST /mcp: assistants ask by the Model Context Protocol (Streamable HTTP, stateless), and see no more than their key.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { MAX_BODY_BYTES } from '../../schemas/common.js'
import type { Capability } from '../core/door/capability.js'
import { baseOf } from '../core/http/caller.js'
import { problem, unsupported, wrongMethod } from '../core/problems/problems.js'
import type { Registered } from './server.js'

const LOOPBACK = /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/

const mcpRoutes = (app: FastifyInstance, all: readonly Capability[]): void => {
  const { publicUrl, corsOrigins } = app.config
  /** Whether a page of an origin may ask. Without a public URL a Host may be a name that the page itself leads to this machine. */
  const mayAsk = (origin: string, request: FastifyRequest): boolean => {
    if (corsOrigins === '*' || corsOrigins?.includes(origin)) return true
    const isOurs = origin === new URL(baseOf(request)).origin
    return isOurs && (publicUrl !== undefined || LOOPBACK.test(origin))
  }
  app.addHook('onRequest', (request, _reply, next) => {
    const { origin } = request.headers
    if (origin === undefined || mayAsk(origin, request)) return next()
    const message = 'must be that of the service, or one of CORS_ORIGINS'
    next(problem('forbidden_origin', `Origin ${message}`, { errors: [{ in: 'header', name: 'Origin', message }] }))
  })
  app.addHook('onRequest', ({ headers }, _reply, next) => {
    const { 'content-encoding': coding = 'identity' } = headers
    if (coding.toLowerCase() === 'identity') next()
    else next(unsupported('Content-Encoding', 'identity', { 'accept-encoding': 'identity' }))
  })
  // The protocol has errors of its own for a body that is no message.
  app.removeAllContentTypeParsers()
  const options = { parseAs: 'string', bodyLimit: MAX_BODY_BYTES } as const
  app.addContentTypeParser('*', options, (_request, body, done) => done(null, body))
  // A program that first asks for a stream learns here whether its key is valid.
  app.get('/mcp', { config: { isRefused: true, mediaType: 'text/event-stream' }, schema: { hide: true } }, () => {
    throw wrongMethod(['POST'])
  })
  let tools: Registered | undefined
  app.post('/mcp', { schema: { hide: true } }, async (request, reply) => {
    // Loading the package takes a tenth of a second. The start of the service does not wait for it.
    const { registeredOf, respond } = await import('./server.js')
    tools ??= registeredOf(all.flatMap(({ tools = {} }) => Object.entries(tools)))
    const response = await respond(reply, tools)
    await app.requireKey(request, reply)
    reply.code(response.status).type(response.headers.get('content-type') ?? 'text/plain')
    return reply.send(await response.text())
  })
}

export const assistants: Capability = {
  door(app, all) {
    if (app.config.mcp) mcpRoutes(app, all)
  },
}
