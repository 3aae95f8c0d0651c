// The HTTP server under the application. It handles one request of a connection at a time, in the order in which they
// arrive (RFC 9112, section 9.3.2), and closes connections that are idle or whose caller does not read. However many
// callers there are, it takes over new connections soon: Node takes one in each turn of the event loop, so the turns are
// kept short.
import { createServer, type RequestListener, type Server } from 'node:http'
import { Server as Listener, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { cutOff } from './caller.js'
import { Arrival, Entrance, type EntranceOptions } from './entrance.js'

/** A connection on which nothing moves for this long is closed: no request arrives, or the caller does not read. */
const IDLE_MS = 10_000
/** How long a connection is kept for the caller's next request: longer than proxies keep theirs. */
const KEEP_ALIVE_MS = 72_000
/** How long the headers of a request may take to arrive. */
const HEADERS_MS = 10_000
/** How long a whole request may take to arrive. */
const REQUEST_MS = 30_000
/** How often Node checks these two limits. */
const CHECK_INTERVAL_MS = 5000
/** How many pipelined requests of a connection may wait. It is closed after the response to the last of them. */
const MAX_WAITING = 100
/** A server stops listening when no new connection has come for so long and so many turns, or after LONGEST_STOP_MS. */
const QUIET_MS = 10
const QUIET_TURNS = 3
const LONGEST_STOP_MS = 1000
/** The turn before must be no longer than this, because connections that came during it are reset. */
const SHORT_TURN_MS = 0.1

/** What is going on on one connection. */
interface Connection {
  /** The requests whose responses are not written yet. The first is running, the others wait. */
  readonly requests: Arrival[]
  /** Called after the last response, when the connection can carry no further request. */
  afterLast?: () => void
  /** How many bytes had arrived with the last request. Undefined before the first one. */
  bytesRead?: number
}

const connections = new WeakMap<Socket, Connection>()
const entrances = new WeakMap<Server, Entrance>()
/** The connections of each server. */
const open = new WeakMap<Server, Set<Socket>>()

interface Options extends EntranceOptions {
  /** Connections beyond this number are closed as soon as they are opened. */
  maxConnections: number
  idleMs?: number
}

/** Whether this turn of the event loop is for connections that arrive, so that nothing else should begin in it. */
export const isForConnections = (server: Server): boolean => entrances.get(server)?.isForConnections ?? false

/** How many connections a server has. */
export const openConnections = (server: Server): number => open.get(server)?.size ?? 0

/** How many requests of a server wait for the event loop. */
export const waitingForLoop = (server: Server): number => entrances.get(server)?.waiting ?? 0

/** @param listener handles a request */
export const httpServer = (
  listener: RequestListener,
  { maxConnections, idleMs = IDLE_MS, ...ofEntrance }: Options,
): Server => {
  const entrance = new Entrance(listener, ofEntrance)
  const server = createServer(
    {
      // HTTP/1.0 requests need no Host header. For HTTP/1.1 the request checks respond with a problem.
      requireHostHeader: false,
      headersTimeout: HEADERS_MS,
      requestTimeout: REQUEST_MS,
      connectionsCheckingInterval: CHECK_INTERVAL_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    oneAtATime(entrance),
  )
  entrances.set(server, entrance)
  server.maxConnections = maxConnections
  // By default Node drops headers beyond a number, so that no check sees them. Their size has a limit of its own.
  server.maxHeadersCount = 0
  // At the limit, connections without a request are closed to make room for new callers.
  const sockets = new Set<Socket>()
  open.set(server, sockets)
  server.closeIdleConnections = () => {
    for (const socket of sockets) if (isIdle(socket)) socket.destroy()
  }
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    entrance.connectionArrived()
    if (sockets.size >= maxConnections) server.closeIdleConnections()
  })
  server.setTimeout(idleMs, (socket) => {
    const isWorking = Boolean(connections.get(socket)?.requests.length) && socket.writableLength === 0
    if (isWorking) socket.setTimeout(idleMs)
    else socket.destroy()
  })
  return server
}

/**
 * Whether a caller has got all responses on this connection and sent nothing since. For Node a connection is idle as soon as
 * a response has ended, also while most of it is still to be sent.
 */
const isIdle = (socket: Socket): boolean => {
  const { requests, bytesRead } = connectionOf(socket)
  return requests.length === 0 && bytesRead === socket.bytesRead
}

/** Calls the listener with a request once the response before it is written. */
const oneAtATime =
  (entrance: Entrance): RequestListener =>
  (request, response) => {
    const connection = connectionOf(request.socket)
    const { requests, afterLast } = connection
    // Node reads no further request after one with an Upgrade header.
    if (request.headers.upgrade !== undefined) response.setHeader('connection', 'close')
    if (requests.length > 0 && (requests.length > MAX_WAITING || afterLast !== undefined)) return
    const arrival = new Arrival(response)
    requests.push(arrival)
    connection.bytesRead = request.socket.bytesRead
    if (requests.length > MAX_WAITING) response.setHeader('connection', 'close')
    response.once('close', () => {
      requests.shift()
      const [next] = requests
      if (request.socket.destroyed) return entrance.leave(arrival)
      if (next === undefined) connection.afterLast?.()
      else entrance.enter(next)
    })
    if (requests.length === 1) entrance.enter(arrival)
  }

/**
 * Calls back when all responses of a connection are written. If the body of the last request is incomplete, the
 * connection is closed instead, because that request has its response already.
 */
export const afterResponses = (socket: Socket, callback: () => void): void => {
  const connection = connectionOf(socket)
  const last = connection.requests.at(-1)?.response
  if (last === undefined) callback()
  else connection.afterLast = last.req.complete ? callback : () => socket.destroy()
}

const connectionOf = (socket: Socket): Connection => {
  const connection = connections.get(socket) ?? { requests: [] }
  connections.set(socket, connection)
  return connection
}

/** Closes the connections of all requests that run, in the middle of their responses. */
export const cutOffAll = (server: Server): void => {
  for (const socket of open.get(server) ?? []) {
    const [running] = connectionOf(socket).requests
    if (running !== undefined) cutOff(running.response.req)
  }
}

/**
 * Stops listening, and resets no connection that the system has accepted already. No request begins meanwhile, so that callers
 * who wait open no further connections.
 */
export const stopListening = async (server: Server): Promise<void> => {
  const entrance = entrances.get(server)
  if (!server.listening || entrance === undefined) return
  const begun = performance.now()
  let last = begun
  let turns = 0
  const onConnection = (): void => {
    last = performance.now()
    turns = 0
  }
  server.on('connection', onConnection)
  entrance.hold()
  for (let turn = begun, now = begun; now < begun + LONGEST_STOP_MS; turn = now, now = performance.now()) {
    if (turns >= QUIET_TURNS && now > last + QUIET_MS && now < turn + SHORT_TURN_MS) break
    turns += 1
    await nextTurn()
  }
  entrance.release()
  server.off('connection', onConnection)
  // The server's own close() would end connections whose requests are still on their way.
  Listener.prototype.close.call(server)
}
