// Whether a caller is still there, and when its request is over.
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'

type Callback = (wasSent: boolean) => void

const signals = new WeakMap<Socket, AbortSignal>()

/** The signal that the caller of a request has gone. A connection has one for good: partners send thousands of requests on it. */
export const callerGone = ({ socket }: FastifyRequest): AbortSignal => {
  const known = signals.get(socket)
  if (known !== undefined) return known
  const controller = new AbortController()
  signals.set(socket, controller.signal)
  socket.once('close', () => controller.abort())
  return controller.signal
}

/** Where a response keeps what to call. Not a WeakMap: with one entry a request that is work for the garbage collector. */
const kCallbacks = Symbol('callbacks')
type Response = ServerResponse & { [kCallbacks]?: Callback[] }

/** Calls back once: when the response was sent, or when it never will be because the connection is closed. */
export const whenOver = (reply: FastifyReply, callback: Callback): void => {
  const raw: Response = reply.raw
  if (raw.closed) callback(false)
  else if (raw[kCallbacks] !== undefined) raw[kCallbacks].push(callback)
  else {
    const callbacks = [callback]
    raw[kCallbacks] = callbacks
    raw.once('close', () => {
      for (const call of callbacks) call(raw.writableEnded)
    })
  }
}
