// Whether a caller is still there, and when its requests are over. Both hang on the connection: Node tells nothing of the
// answers that wait behind another one on a connection that closes. There is one listener for each connection, not for
// each request, since a partner keeps its connection for thousands of them.
import { setMaxListeners } from 'node:events'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'

interface Connection {
  /** The signal that the caller has gone. */
  gone: AbortSignal
  /** What is called for each request that is not over when the connection closes. */
  waiting: Set<() => void>
}

const connections = new WeakMap<Socket, Connection>()

/** The signal that the caller of a request has gone. */
export const callerGone = ({ socket }: FastifyRequest): AbortSignal => connectionOf(socket).gone

/** Calls back once: when the answer was sent, or when it never will be because the connection is closed. */
export const whenOver = (
  { socket }: FastifyRequest,
  { raw }: FastifyReply,
  callback: (wasAnswered: boolean) => void,
): void => {
  const { gone, waiting } = connectionOf(socket)
  if (gone.aborted) {
    callback(false)
    return
  }
  const isLost = () => callback(false)
  waiting.add(isLost)
  raw.once('close', () => {
    if (waiting.delete(isLost)) callback(raw.writableEnded)
  })
}

const connectionOf = (socket: Socket): Connection => connections.get(socket) ?? watch(socket)

const watch = (socket: Socket): Connection => {
  const controller = new AbortController()
  // A caller may have sent any number of requests at once.
  setMaxListeners(0, controller.signal)
  const connection: Connection = { gone: controller.signal, waiting: new Set() }
  connections.set(socket, connection)
  socket.once('close', () => {
    controller.abort()
    for (const isLost of connection.waiting) isLost()
    connection.waiting.clear()
  })
  return connection
}
