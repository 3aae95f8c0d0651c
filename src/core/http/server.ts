// The HTTP server under the application. It handles one request of a connection at a time, in the order in which they
// arrive (RFC 9112, section 9.3.2), and closes connections that are idle or whose caller does not read.
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { Server as Listener, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { cutOff } from './caller.js'

/** A connection on which nothing moves for this long is closed: no request arrives, or the caller does not read. */
const IDLE_MS = 10_000
/** How long a connection is kept for the caller's next request: longer than proxies keep theirs. */
const KEEP_ALIVE_MS = 72_000
const HEADERS_MS = 10_000
const REQUEST_MS = 30_000
const CHECK_INTERVAL_MS = 5000
/** How many pipelined requests of a connection may wait. It is closed if there are more. */
const MAX_WAITING = 100
/** A server stops listening when no connection has come for this time, or after this many looks. */
const QUIET_MS = 10
const MAX_LOOKS = 100
/** During a longer turn of the event loop, connections come unseen. */
const SHORT_TURN_MS = 2
/** First requests wait while connections come in turns in a row, but no longer than so many. So many of them begin in a turn. */
const [MOST_TURNS, MOST_BEGUN] = [500, 10]

interface Connection {
  /** The requests without a whole response. The first runs, the others wait. */
  readonly requests: { readonly response: ServerResponse; readonly begin: () => void }[]
  /** How many bytes had arrived with the newest request; -1 before the first. */
  bytesRead: number
}

type BeginFirst = (begin: () => void) => void

const open = new WeakMap<Server, Map<Socket, Connection>>()

export const openConnections = (server: Server): number => open.get(server)?.size ?? 0

/** @param maxConnections connections beyond this number are closed as soon as they are opened */
export const httpServer = (listener: RequestListener, maxConnections: number, idleMs = IDLE_MS): Server => {
  const connections = new Map<Socket, Connection>()
  const server = createServer(
    {
      // HTTP/1.0 requests need no Host header. For HTTP/1.1 the request checks respond with a problem.
      requireHostHeader: false,
      headersTimeout: HEADERS_MS,
      requestTimeout: REQUEST_MS,
      connectionsCheckingInterval: CHECK_INTERVAL_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    oneAtATime(connections, listener, (begin) => (turns > 1 ? held.push(begin) : begin())),
  )
  // Node takes over one connection in a turn of the event loop, so turns stay short until all that came are here. By then many
  // callers who come and leave have gone, and their requests never begin.
  const held: (() => void)[] = []
  let [turns, hasCome, isLooking] = [0, false, false]
  const look = (): void => {
    turns = hasCome ? turns + 1 : 0
    if (!hasCome || turns > MOST_TURNS) for (const begin of held.splice(0, MOST_BEGUN)) begin()
    isLooking = hasCome || held.length > 0
    hasCome = false
    if (isLooking) setImmediate(look)
  }
  open.set(server, connections)
  server.maxConnections = maxConnections
  // By default Node drops headers beyond a number, so that no check sees them. Their size has a limit of its own.
  server.maxHeadersCount = 0
  // For Node a connection is idle as soon as a response has ended, also while most of it is still to be sent.
  server.closeIdleConnections = () => {
    for (const [socket, { requests, bytesRead }] of connections) {
      if (requests.length === 0 && bytesRead === socket.bytesRead) socket.destroy()
    }
  }
  server.on('connection', (socket) => {
    hasCome = true
    if (!isLooking) setImmediate(look)
    isLooking = true
    // A new connection is not idle: its first request is on its way.
    connections.set(socket, { requests: [], bytesRead: -1 })
    socket.once('close', () => connections.delete(socket))
    // At the limit, connections without a request are closed to make room for new callers.
    if (connections.size >= maxConnections) server.closeIdleConnections()
  })
  server.setTimeout(idleMs, (socket) => {
    const isWorking = Boolean(connections.get(socket)?.requests.length) && socket.writableLength === 0
    if (isWorking) socket.setTimeout(idleMs)
    else socket.destroy()
  })
  return server
}

const oneAtATime =
  (connections: ReadonlyMap<Socket, Connection>, listener: RequestListener, beginFirst: BeginFirst): RequestListener =>
  (request, response) => {
    const { socket } = request
    const connection = connections.get(socket) as Connection
    const { requests } = connection
    const isFirst = connection.bytesRead === -1
    connection.bytesRead = socket.bytesRead
    if (requests.length > MAX_WAITING) return socket.destroy()
    // Node reads no further request after one with an Upgrade header.
    if (request.headers.upgrade !== undefined) response.setHeader('connection', 'close')
    const begin = () => socket.destroyed || listener(request, response)
    requests.push({ response, begin })
    response.once('close', () => {
      requests.shift()
      requests[0]?.begin()
    })
    if (isFirst) beginFirst(begin)
    else if (requests.length === 1) begin()
  }

export const isResponding = (server: Server, socket: Socket): boolean =>
  Boolean(open.get(server)?.get(socket)?.requests.length)

/** Closes the connections of all requests that run, in the middle of their responses. */
export const cutOffAll = (server: Server): void => {
  for (const { requests } of open.get(server)?.values() ?? [])
    if (requests[0] !== undefined) cutOff(requests[0].response)
}

/** Stops listening when no connection has come for a while: the system closes connections that Node has not taken over. */
export const stopListening = async (server: Server): Promise<void> => {
  let hasCome = true
  const onConnection = (): void => {
    hasCome = true
  }
  server.on('connection', onConnection)
  for (let looks = 0; hasCome && looks < MAX_LOOKS; looks++) {
    hasCome = false
    await sleep(QUIET_MS)
    const began = performance.now()
    await nextTurn()
    hasCome ||= performance.now() - began > SHORT_TURN_MS
  }
  server.off('connection', onConnection)
  // The server's own close() would end connections whose requests are still on their way.
  if (server.listening) Listener.prototype.close.call(server)
}
