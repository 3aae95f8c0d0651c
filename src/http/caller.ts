// Whether the caller is still connected, and when a request has ended.
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'

const signals = new WeakMap<Socket, AbortSignal>()

/** A signal that aborts when the caller disconnects. All requests of a connection share one signal. */
export const callerGone = ({ socket }: FastifyRequest): AbortSignal => {
  const known = signals.get(socket)
  if (known !== undefined) return known
  const controller = new AbortController()
  signals.set(socket, controller.signal)
  if (socket.destroyed) controller.abort()
  else socket.once('close', () => controller.abort())
  return controller.signal
}

/**
 * Calls back once when a request has ended.
 * @param callback is told whether the whole response was sent; if not, the caller has disconnected
 */
export const whenOver = ({ raw }: FastifyReply, callback: (wasSent: boolean) => void): void => {
  if (raw.closed) callback(raw.writableEnded)
  else raw.on('close', () => callback(raw.writableEnded))
}
