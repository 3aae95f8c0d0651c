// Writes a problem to the socket where Node cannot parse what a caller sent, and logs when connections are refused.
import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import type { ConnectionError, FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { MAX_URL_BYTES } from '../../../schemas/common.js'
import { PROBLEM_TYPE, type ProblemError, problem, urlTooLong, wrongVersion } from '../problems/problems.js'
import { JSON_HEADERS } from './json-only.js'
import { isResponding } from './server.js'

const LINGER_MS = 1000
const REFUSED_INTERVAL_MS = 10_000

const plugin = async (app: FastifyInstance) => {
  let logged = Number.NEGATIVE_INFINITY
  app.server.on('drop', () => {
    const now = performance.now()
    if (now - logged < REFUSED_INTERVAL_MS) return
    logged = now
    app.log.warn({ connections: app.server.maxConnections }, 'connections are refused: the limit is reached')
  })
}
export const rawSocketsPlugin = fp(plugin, { name: 'raw-sockets', fastify: '5.x' })

export function clientErrorHandler(this: FastifyInstance, error: ConnectionError, socket: Socket): void {
  // What is written here would be taken for the response to an earlier request.
  if (!socket.writable || isResponding(this.server, socket)) return void socket.destroy()
  const found = problemOf(error)
  const requestId = randomUUID()
  const problem = found.body(requestId, this.config.publicUrl)
  const body = JSON.stringify(problem)
  socket.on('error', () => {}) // the caller has disconnected, so nothing is left to do
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
  const response = [
    `HTTP/1.1 ${problem.status} ${problem.title}`,
    `content-type: ${PROBLEM_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    `date: ${new Date().toUTCString()}`,
    `x-request-id: ${requestId}`,
    ...Object.entries({ ...JSON_HEADERS, ...found.extra.headers }).map(([name, value]) => `${name}: ${value}`),
    'connection: close',
    '',
    body,
  ].join('\r\n')
  // The line of the log has the form of all others, as far as there is a request.
  const { status: statusCode, code } = found
  const bytes = Buffer.byteLength(response)
  this.log.info({ reqId: requestId, statusCode, bytes, code, cause: error.code, ip: socket.remoteAddress }, 'request')
  socket.end(response)
}

const problemOf = ({ code, rawPacket }: ConnectionError): ProblemError => {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return problem('request_timeout', 'The request did not arrive in time')
  if (code === 'HPE_INVALID_VERSION') return wrongVersion()
  if (code !== 'HPE_HEADER_OVERFLOW') return problem('bad_request', 'This is not a valid HTTP request')
  const firstLine = String(rawPacket).indexOf('\r\n')
  if (firstLine === -1 || firstLine > MAX_URL_BYTES) return urlTooLong()
  return problem('header_fields_too_large', 'The header fields are larger than 16 KiB')
}
