// Logs one line for each request: what was requested, with which key and from where. No key itself is ever logged.
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { whenOver } from '../http/caller.js'
import { redacted } from '../keys/format.js'

/** A longer URL or user agent is cut in the log, in characters. */
const MAX_LOGGED_URL = 500
const MAX_LOGGED_AGENT = 200
const REQUEST_ID = /^[\w.:-]{1,64}$/
/** A key or the secret part of one. The usual kinds of request ids have no such long runs of letters and digits. */
const KEY = /fda_|[0-9a-z]{33}/i

/** The id of a request: the caller's own X-Request-Id if it is safe to log, otherwise a new UUID. */
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

/**
 * Logs a request when it has ended, even if the caller disconnected first. Fastify's onResponse hook would miss that.
 */
export const logWhenOver = (request: FastifyRequest, reply: FastifyReply): void =>
  whenOver(reply, (wasSent) => logRequest(request, reply, wasSent))

const logRequest = (request: FastifyRequest, reply: FastifyReply, wasSent: boolean): void =>
  request.log.info(
    {
      method: request.method,
      url: loggable(request.url, MAX_LOGGED_URL),
      ...(wasSent ? { statusCode: reply.statusCode } : { aborted: true }),
      ms: Math.round(reply.elapsedTime * 10) / 10,
      ip: request.ip,
      userAgent: loggable(request.headers['user-agent'] ?? '', MAX_LOGGED_AGENT) || undefined,
      keyId: request.scope?.keyId,
      organisation: request.scope?.organisation,
    },
    'request',
  )

/**
 * The beginning of a text from outside, without secrets and without the control characters that JSON leaves as they
 * are.
 */
const loggable = (text: string, maxLength: number): string =>
  redacted(text.slice(0, maxLength)).replace(/[\x7f-\x9f]/g, '?')
