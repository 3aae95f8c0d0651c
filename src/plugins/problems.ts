// Turns whatever goes wrong into a problem of the catalogue: errors of routes and of Fastify, unknown paths and methods,
// and requests that are no HTTP. Nothing else in the service writes an error.
import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ConnectionError, FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { PROBLEM_TYPE, ProblemError, problem } from '../problems.js'
import { AnswerTooLarge, MAX_ANSWER_BYTES } from '../serializer/bson.js'
import { QueryTimeout, StoreUnavailable } from '../store/store.js'
import { callerGone } from './caller.js'
import { JSON_HEADERS } from './json-only.js'
import { logWhenOver } from './request-log.js'

/** The longest URL that is read, in bytes; RFC 9110, section 4.1, recommends at least as much. */
export const MAX_URL_BYTES = 8000

const RETRY_AFTER_SECONDS = '2'
/** How long a caller has to close a connection that was answered for the last time, in milliseconds. */
const LINGER_MS = 1000
const READ_METHODS = 'GET, HEAD'

export const problemsPlugin = fp(
  async (app: FastifyInstance) => {
    const paths: RegExp[] = []
    app.addHook('onRoute', ({ url }) => {
      paths.push(new RegExp(`^${url.replace(/:[^/]+/g, '[^/]+').replace('*', '.*')}$`))
    })

    // Before a body is looked at, so that a wrong path or method is told before a wrong body.
    app.addHook('onRequest', (request, _reply, next) => {
      const { url } = request
      if (Buffer.byteLength(url) > MAX_URL_BYTES) next(tooLong())
      else if (request.is404) next(notFound(request, paths))
      else if (url.includes('%') && !isEncoded(url)) next(badEncoding())
      else next(lacksHost(request) ? noHost() : undefined)
    })

    app.setErrorHandler((error, request, reply) => {
      // Nobody is there to read what a read says that was broken off because its caller has gone.
      if (error === callerGone(request).reason) reply.hijack()
      else sendProblem(toProblem(error), error, request, reply)
    })

    // Only what serves files comes here: for other requests the hook above has told it.
    app.setNotFoundHandler(() => {
      throw noSuchPath()
    })

    // Node hands these two on beside all routes: a tunnel, which is refused, and an expectation other than 100-continue,
    // which is none that the service has to meet.
    app.server.on('connect', (_request, socket) => answerAlone(app, socket, wrongMethod(), 'CONNECT'))
    app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  },
  { name: 'problems', fastify: '5.x' },
)

/** Errors that Fastify meets before a route is found, such as a URL that is not encoded correctly. */
export const frameworkErrors = (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
  logWhenOver(request, reply)
  sendProblem(toProblem(error), error, request, reply)
}

const notFound = ({ method, url }: FastifyRequest, paths: readonly RegExp[]): ProblemError => {
  const path = url.replace(/\?.*/s, '')
  if (method === 'GET' || method === 'HEAD' || !paths.some((pattern) => pattern.test(path))) return noSuchPath()
  return wrongMethod()
}

const wrongMethod = () =>
  problem('method_not_allowed', `This path takes ${READ_METHODS}`, { headers: { allow: READ_METHODS } })

const isEncoded = (text: string): boolean => {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** RFC 9112, section 3.2; before HTTP/1.1 there need be none. */
const lacksHost = ({ headers, raw }: FastifyRequest): boolean => headers.host === undefined && raw.httpVersion === '1.1'

const noHost = () => problem('bad_request', 'A request of HTTP/1.1 needs a Host header')

const noSuchPath = () => problem('route_not_found', 'There is no such path')

const badEncoding = () => problem('bad_request', 'The URL is not encoded correctly')

const tooLong = () => problem('uri_too_long', `The URL is longer than ${MAX_URL_BYTES} bytes`)

const toProblem = (error: unknown): ProblemError => {
  if (error instanceof ProblemError) return error
  if (error instanceof StoreUnavailable) {
    return problem('service_unavailable', 'The database cannot be reached at the moment', {
      headers: { 'retry-after': RETRY_AFTER_SECONDS },
    })
  }
  if (error instanceof QueryTimeout) {
    return problem('query_timeout', 'The database took too long to answer', {
      headers: { 'retry-after': RETRY_AFTER_SECONDS },
    })
  }
  if (error instanceof AnswerTooLarge) {
    return problem('answer_too_large', `The page would be larger than ${MAX_ANSWER_BYTES} bytes`, {
      errors: [{ in: 'query', name: 'perPage', message: 'must be smaller for records of this size' }],
    })
  }
  const { code, statusCode = 500 } = error as FastifyError
  if (code === 'FST_ERR_BAD_URL') return badEncoding()
  if (code === 'FST_ERR_MAX_PARAM_LENGTH') return tooLong()
  if (statusCode === 412) return problem('precondition_failed', 'The file does not fulfil the condition of the request')
  if (statusCode === 416) return problem('range_not_satisfiable', 'The file has no such range')
  if (statusCode < 500) return noSuchPath()
  return problem('internal_error', 'The service failed to answer this request')
}

const sendProblem = (found: ProblemError, cause: unknown, request: FastifyRequest, reply: FastifyReply) => {
  if (found.status >= 500) request.log.error({ err: cause }, found.code)
  // A tag that was made for the answer that failed.
  reply.removeHeader('etag')
  reply
    .code(found.status)
    .headers({ ...JSON_HEADERS, ...found.extra.headers, 'x-request-id': request.id })
    .type(PROBLEM_TYPE)
    .send(found.body(request.id))
}

/** Answers what Node could not read as a request: the socket is all there is. */
export function clientErrorHandler(this: FastifyInstance, error: ConnectionError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  answerAlone(this, socket, clientProblem(error), error.code)
}

/** Logs and writes a problem where there is no more than a socket, which nobody else looks after. */
const answerAlone = ({ log }: FastifyInstance, socket: Duplex, found: ProblemError, fault: string): void => {
  const requestId = randomUUID()
  log.info({ reqId: requestId, statusCode: found.status, fault }, found.code)
  const answer = found.body(requestId)
  const body = JSON.stringify(answer)
  socket.on('error', () => {}) // it is gone then, and nothing is left to do
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
  socket.end(
    [
      `HTTP/1.1 ${answer.status} ${answer.title}`,
      `content-type: ${PROBLEM_TYPE}`,
      `content-length: ${Buffer.byteLength(body)}`,
      `x-request-id: ${requestId}`,
      ...Object.entries(found.extra.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  )
}

const clientProblem = ({ code, rawPacket }: ConnectionError): ProblemError => {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return problem('request_timeout', 'The request did not arrive in time')
  if (code !== 'HPE_HEADER_OVERFLOW') return problem('bad_request', 'This is not a valid HTTP request')
  // Node gives the bytes as a Buffer; Fastify's type has them as they would be in JSON.
  const firstLine = Buffer.from(rawPacket as unknown as Buffer).indexOf('\r\n')
  if (firstLine === -1 || firstLine > MAX_URL_BYTES) return tooLong()
  return problem('header_fields_too_large', 'The header fields are larger than 16 KiB')
}
