// Turns every error that a route, a hook or Fastify throws into a problem of the catalogue.
import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { Overloaded } from '../limits/scheduler.js'
import {
  bodyTooLarge,
  PROBLEM_TYPE,
  ProblemError,
  problem,
  RETRY_LATER,
  retryLater,
  tookTooLong,
  unsupported,
} from '../problems/problems.js'
import { QueryTimeout, StoreUnavailable } from '../store/store.js'
import { MAX_RESPONSE_BYTES, ResponseTooLarge, UnfitForFormat, UnreadableDocument } from '../write/errors.js'
import { callerGone } from './caller.js'
import { JSON_HEADERS } from './json-only.js'

/** The headers that are true only of the body that failed. Fastify removes its type and its length. */
const DESCRIBE_A_BODY = ['content-disposition', 'content-encoding', 'etag', 'link']

const plugin = async (app: FastifyInstance) => {
  app.setErrorHandler((error, request, reply) => {
    // The caller has gone, perhaps before all of its request was here, so nobody reads this error.
    if ([callerGone(request).reason, request.raw.errored].includes(error)) return void reply.hijack()
    const found = problemOf(error, request, request.query as object)
    reply.problem = found
    for (const name of DESCRIBE_A_BODY) reply.removeHeader(name)
    reply
      .code(found.status)
      .headers({ ...JSON_HEADERS, ...found.extra.headers, 'x-request-id': request.id })
      .type(PROBLEM_TYPE)
      .send(found.body(request.id, app.config.publicUrl))
  })
}
export const errorsPlugin = fp(plugin, { name: 'errors', fastify: '5.x' })

/** The problem that an error is to the caller, who gave the parameters `query`. One that nobody expects is logged. */
export const problemOf = (cause: unknown, request: FastifyRequest, query: object): ProblemError => {
  const found = toProblem(cause, query)
  // A problem that the service throws itself is expected and needs no log line. The store logs an outage, once.
  const isExpected = [ProblemError, Overloaded, StoreUnavailable].some((known) => cause instanceof known)
  // The stack of a slow query says nothing: the line of its request has its parameters.
  if (cause instanceof QueryTimeout) request.log.warn(found.code)
  else if (found.status >= 500 && !isExpected) request.log.error({ err: cause }, found.code)
  return found
}

const toProblem = (error: unknown, query: object): ProblemError => {
  if (error instanceof ProblemError) return error
  if (error instanceof StoreUnavailable) {
    return problem('service_unavailable', 'The database cannot be reached at the moment', { headers: RETRY_LATER })
  }
  if (error instanceof Overloaded) return problem('overloaded', error.message, { headers: retryLater() })
  if (error instanceof QueryTimeout) return tookTooLong('')
  if (error instanceof ResponseTooLarge) {
    const name = ['perPage', 'limit'].find((parameter) => parameter in query)
    const detail = `would be larger than ${MAX_RESPONSE_BYTES} bytes`
    if (name === undefined) return problem('response_too_large', `The record ${detail}`)
    const errors = [{ in: 'query', name, message: 'must be smaller for records of this size' }]
    return problem('response_too_large', `The page ${detail}`, { errors })
  }
  // A response contains only records of the caller's organisation, so the caller may know which of them is wrong.
  if (error instanceof UnreadableDocument) {
    return problem('internal_error', 'A stored record cannot be shown, because it does not fit its schema', {
      errors: [{ in: 'record', name: `${error.collection}/${error.id}`, message: error.detail }],
    })
  }
  if (error instanceof UnfitForFormat) {
    const message = `must be another one, or fields must leave out what does not fit: ${error.message}`
    return problem('invalid_parameter', `format ${message}`, { errors: [{ in: 'path', name: 'format', message }] })
  }
  const { code } = error as FastifyError
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return bodyTooLarge()
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return unsupported('Content-Type', 'application/json')
  return problem('internal_error', 'The service failed to handle this request')
}
