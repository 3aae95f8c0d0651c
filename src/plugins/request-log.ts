// One log line a request, with the request's id and the key's id. Neither a key nor a header ever reaches the log.
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { redacted } from '../keys/format.js'
import { whenOver } from './caller.js'

/** How much of a URL the log keeps, in characters. */
const MAX_LOGGED_URL = 500
const REQUEST_ID = /^[\w.:-]{1,64}$/

/** The request's id: the caller's own X-Request-Id if it is fit for a log, else a new one. */
export const requestId = ({ headers }: IncomingMessage): string => {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) && redacted(given) === given ? given : randomUUID()
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

/** Also when the caller has gone before the answer, of which Fastify's hooks tell nothing. */
export const logWhenOver = (request: FastifyRequest, reply: FastifyReply): void =>
  whenOver(request, reply, (wasAnswered) => logRequest(request, reply, wasAnswered))

const logRequest = (request: FastifyRequest, reply: FastifyReply, wasAnswered: boolean): void =>
  request.log.info(
    {
      method: request.method,
      url: redacted(request.url).slice(0, MAX_LOGGED_URL),
      ...(wasAnswered ? { statusCode: reply.statusCode } : { aborted: true }),
      ms: Math.round(reply.elapsedTime * 10) / 10,
      keyId: request.scope?.keyId,
      organisation: request.scope?.organisation,
    },
    'request',
  )
