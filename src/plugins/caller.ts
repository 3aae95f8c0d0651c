// Whether a caller is still there, and when its requests are over. Both hang on the connection: Node tells nothing of the
// answers that wait behind another one on a connection that closes. A connection has one listener for good, however many
// thousand requests a partner sends on it, and each answer one of its own.
import { setMaxListeners } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'

type Callback = (wasAnswered: boolean) => void

interface Connection {
  /** The signal that the caller has gone. */
  gone: AbortSignal
  /** For each request that is not over, what to call then. An array: there is hardly ever more than one request. */
  waiting: Callback[][]
}

const connections = new WeakMap<Socket, Connection>()
/** Where a response keeps what to call. Not a WeakMap: with one entry a request that is work for the garbage collector. */
const kCallbacks = Symbol('callbacks')
type Response = ServerResponse & { [kCallbacks]?: Callback[] }

/** The signal that the caller of a request has gone. */
export const callerGone = ({ socket }: FastifyRequest): AbortSignal => connectionOf(socket).gone

/** Calls back once: when the answer was sent, or when it never will be because the connection is closed. */
export const whenOver = ({ socket }: FastifyRequest, reply: FastifyReply, callback: Callback): void => {
  const raw: Response = reply.raw
  const { gone, waiting } = connectionOf(socket)
  if (gone.aborted) {
    callback(false)
    return
  }
  if (raw[kCallbacks] !== undefined) {
    raw[kCallbacks].push(callback)
    return
  }
  const callbacks = [callback]
  raw[kCallbacks] = callbacks
  waiting.push(callbacks)
  raw.once('close', () => {
    const place = waiting.indexOf(callbacks)
    if (place === -1) return
    waiting.splice(place, 1)
    for (const call of callbacks) call(raw.writableEnded)
  })
}

const connectionOf = (socket: Socket): Connection => connections.get(socket) ?? watch(socket)

const watch = (socket: Socket): Connection => {
  const controller = new AbortController()
  // A caller may have sent any number of requests at once.
  setMaxListeners(0, controller.signal)
  const connection: Connection = { gone: controller.signal, waiting: [] }
  connections.set(socket, connection)
  socket.once('close', () => {
    controller.abort()
    for (const call of connection.waiting.splice(0).flat()) call(false)
  })
  return connection
}
