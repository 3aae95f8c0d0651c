// Responds to what never becomes a request of the application, because Node could not read it or because it asks for a tunnel,
// and logs that connections are refused.
// The socket is all there is, and what is written to it must not stand in front of the responses to earlier requests.
import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import type { ConnectionError, FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { MAX_URL_BYTES, PROBLEM_TYPE, type ProblemError, problem, urlTooLong, wrongMethod } from '../http/problems.js'
import { afterResponses } from '../http/server.js'

/** How long a caller has to close a connection after its last response, in milliseconds. */
const LINGER_MS = 1000
/** How often the log says that connections are refused, in milliseconds. */
const REFUSED_MS = 10_000

export const rawSocketsPlugin = fp(
  async (app: FastifyInstance) => {
    app.server.on('connect', (_request, socket: Socket) => {
      afterResponses(socket, () => respond(app, socket, wrongMethod(), 'CONNECT'))
    })
    // An expectation other than 100-continue is none that the service has to meet.
    app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))

    let logged = Number.NEGATIVE_INFINITY
    app.server.on('drop', () => {
      const now = performance.now()
      if (now - logged < REFUSED_MS) return
      logged = now
      app.log.warn({ connections: app.server.maxConnections }, 'connections are refused: no more may be open')
    })
  },
  { name: 'raw-sockets', fastify: '5.x' },
)

export function clientErrorHandler(this: FastifyInstance, error: ConnectionError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy()
  else {
    // Node gives the bytes as a Buffer, and none with a time-out; Fastify's type has them as they would be in JSON.
    const packet = (error.rawPacket ?? Buffer.alloc(0)) as unknown as Buffer
    // Which request of the packet it is, Node does not say.
    const isHead = packet.includes('HEAD ')
    afterResponses(socket, () => respond(this, socket, problemOf(error.code, packet), error.code, isHead))
  }
}

/** Logs and writes a problem, and closes the connection. */
const respond = (
  { log }: FastifyInstance,
  socket: Socket,
  found: ProblemError,
  fault: string,
  isHead = false,
): void => {
  const requestId = randomUUID()
  log.info({ reqId: requestId, statusCode: found.status, fault, ip: socket.remoteAddress }, found.code)
  const problem = found.body(requestId)
  const body = JSON.stringify(problem)
  socket.on('error', () => {}) // it is gone then, and nothing is left to do
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
  socket.end(
    [
      `HTTP/1.1 ${problem.status} ${problem.title}`,
      `content-type: ${PROBLEM_TYPE}`,
      `content-length: ${Buffer.byteLength(body)}`,
      `x-request-id: ${requestId}`,
      ...Object.entries(found.extra.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
      'connection: close',
      '',
      isHead ? '' : body,
    ].join('\r\n'),
  )
}

const problemOf = (code: string, packet: Buffer): ProblemError => {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return problem('request_timeout', 'The request did not arrive in time')
  if (code !== 'HPE_HEADER_OVERFLOW') return problem('bad_request', 'This is not a valid HTTP request')
  const firstLine = packet.indexOf('\r\n')
  if (firstLine === -1 || firstLine > MAX_URL_BYTES) return urlTooLong()
  return problem('header_fields_too_large', 'The header fields are larger than 16 KiB')
}
