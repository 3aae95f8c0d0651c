// One log line a request: what was asked for, by whom and from where. No key ever reaches the log.
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { whenOver } from '../http/caller.js'
import { redacted } from '../keys/format.js'

/** How much of a URL and of a user agent the log keeps, in characters. */
const MAX_LOGGED_URL = 500
const MAX_LOGGED_AGENT = 200
const REQUEST_ID = /^[\w.:-]{1,64}$/
/** A key, or its secret: the ids that callers make have no longer rows of letters and digits. */
const KEY = /fda_|[0-9a-z]{33}/i

/** The request's id: the caller's own X-Request-Id if it is fit for a log, else a new one. */
export const requestId = ({ headers }: IncomingMessage): string => {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) && !KEY.test(given) ? given : randomUUID()
}

export const requestLogPlugin = fp(
  async (app: FastifyInstance) => {
    app.addHook('onRequest', (request, reply, next) => {
      reply.header('x-request-id', request.id)
      logWhenOver(request, reply)
      next()
    })
  },
  { name: 'request-log', fastify: '5.x' },
)

/** Also when the caller has gone before the response, of which Fastify's hooks tell nothing. */
export const logWhenOver = (request: FastifyRequest, reply: FastifyReply): void =>
  whenOver(reply, (wasSent) => logRequest(request, reply, wasSent))

const logRequest = (request: FastifyRequest, reply: FastifyReply, wasSent: boolean): void =>
  request.log.info(
    {
      method: request.method,
      url: redacted(request.url.slice(0, MAX_LOGGED_URL)),
      ...(wasSent ? { statusCode: reply.statusCode } : { aborted: true }),
      ms: Math.round(reply.elapsedTime * 10) / 10,
      ip: request.ip,
      userAgent: redacted((request.headers['user-agent'] ?? '').slice(0, MAX_LOGGED_AGENT)) || undefined,
      keyId: request.scope?.keyId,
      organisation: request.scope?.organisation,
    },
    'request',
  )
