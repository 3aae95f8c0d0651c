// Whether a caller is still there: a signal that is aborted when its connection closes. There is one for each connection,
// not for each request, since a partner keeps its connection for thousands of them.
import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'

const signals = new WeakMap<Socket, AbortSignal>()

/** The signal that the caller of a request has gone. */
export const callerGone = ({ socket }: FastifyRequest): AbortSignal => signals.get(socket) ?? watch(socket)

const watch = (socket: Socket): AbortSignal => {
  const controller = new AbortController()
  socket.once('close', () => controller.abort())
  signals.set(socket, controller.signal)
  return controller.signal
}
