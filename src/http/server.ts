// The HTTP server under the application. A connection has one request under way at a time, in the order in which they came
// (RFC 9112, section 9.3.2), and one that does nothing, or whose caller does not read, is closed.
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** How long a connection may stand still, in milliseconds: no request comes, or the caller does not read its response. */
const IDLE_MS = 10_000
/** How long a connection is kept for the caller's next request, in milliseconds: longer than proxies keep theirs. */
const KEEP_ALIVE_MS = 72_000
/** How long the header fields of a request, and all of it, may take to arrive, in milliseconds. */
const HEADERS_MS = 10_000
const REQUEST_MS = 30_000
const LOOK_EVERY_MS = 5000
/** How many requests of a connection may wait for the one under way. With the last of them the connection ends. */
const MOST_WAITING = 100

interface Exchange {
  request: IncomingMessage
  response: ServerResponse
}

/** What is under way on a connection. */
interface Connection {
  current: Exchange | undefined
  waiting: Exchange[]
  /** What is to be done on the socket after the last response. */
  last: (() => void) | undefined
}

const connections = new WeakMap<Socket, Connection>()

interface Options {
  /** How many connections are open at the most; further ones are closed at once. */
  mostConnections: number
  idleMs?: number
}

/** @param listener handles a request */
export const httpServer = (listener: RequestListener, { mostConnections, idleMs = IDLE_MS }: Options): Server => {
  const server = createServer(
    {
      // HTTP/1.0 requests need no Host header. Others do, and get a problem that says so.
      requireHostHeader: false,
      headersTimeout: HEADERS_MS,
      requestTimeout: REQUEST_MS,
      connectionsCheckingInterval: LOOK_EVERY_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    inTurn(listener),
  )
  server.maxConnections = mostConnections
  // When no place is left, connections that only wait for a next request are closed, so that new callers are served.
  server.on('connection', () => {
    server.getConnections((_error, count) => {
      if (count >= mostConnections) server.closeIdleConnections()
    })
  })
  server.setTimeout(idleMs, (socket) => {
    const isWorking = connections.get(socket)?.current !== undefined && socket.writableLength === 0
    if (isWorking) socket.setTimeout(idleMs)
    else socket.destroy()
  })
  return server
}

/** Calls the listener with a request when the response before it is written. */
const inTurn =
  (listener: RequestListener): RequestListener =>
  (request, response) => {
    const { socket } = request
    const connection = connectionOf(socket)
    const { current, waiting, last } = connection
    // Node reads no request that follows one with an Upgrade header.
    if (request.headers.upgrade !== undefined) response.setHeader('connection', 'close')
    if (current === undefined) start({ request, response }, connection, listener)
    else if (waiting.length < MOST_WAITING && last === undefined) {
      waiting.push({ request, response })
      if (waiting.length === MOST_WAITING) response.setHeader('connection', 'close')
    }
  }

const start = (exchange: Exchange, connection: Connection, listener: RequestListener): void => {
  connection.current = exchange
  exchange.response.once('close', () => {
    const next = connection.waiting.shift()
    connection.current = undefined
    if (exchange.request.socket.destroyed) return
    if (next === undefined) connection.last?.()
    else {
      // What has arrived on other connections is read first.
      connection.current = next
      setImmediate(start, next, connection, listener)
    }
  })
  listener(exchange.request, exchange.response)
}

/**
 * Calls back when all responses of a connection are written. If the last request was broken off in its body, the connection
 * ends then instead: the caller has its response.
 */
export const afterResponses = (socket: Socket, callback: () => void): void => {
  const connection = connectionOf(socket)
  const lastOne = connection.waiting.at(-1) ?? connection.current
  if (lastOne === undefined) callback()
  else connection.last = lastOne.request.complete ? callback : () => socket.destroy()
}

const connectionOf = (socket: Socket): Connection => {
  const known = connections.get(socket)
  if (known !== undefined) return known
  const connection: Connection = { current: undefined, waiting: [], last: undefined }
  connections.set(socket, connection)
  return connection
}
