// What is known of a caller: whether it is connected, what it has already, when its request ended, and at which address it asks.
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fresh from 'fresh'
import { problem } from '../problems/problems.js'

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

/** Gives a response its entity tag. Whether the caller has it already (RFC 9110, section 13): then it gets a 304. */
export const isKnown = ({ headers }: FastifyRequest, reply: FastifyReply, etag: string): boolean => {
  reply.header('etag', etag)
  // The caller's Cache-Control is meant for caches, and browsers' `fetch` sends `no-cache` with every If-None-Match.
  if (!fresh({ 'if-none-match': headers['if-none-match'] }, { etag })) return false
  reply.code(304).send()
  return true
}

/** Calls back once when a request has ended: its response was sent, or the caller has disconnected. */
export const whenOver = ({ raw }: FastifyReply, callback: () => void): void => {
  if (raw.closed) callback()
  else raw.on('close', callback)
}

/** Closes a connection in the middle of a response, so that no caller takes what it has for the whole. */
export const cutOff = (response: ServerResponse): void => {
  // HTTP/1.0 tells the end of a response by that of the connection.
  if (response.req.httpVersion === '1.0') response.req.socket.resetAndDestroy()
  else response.destroy()
}

/** A host name or an IP address, with or without a port. */
export const HOST = /^([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i

/** What links begin with: the public URL, or protocol and host of the request. Without a Host header it is that of the socket. */
export const baseOf = ({ server, protocol, host, socket: { localAddress, localPort } }: FastifyRequest): string => {
  const { publicUrl } = server.config
  if (publicUrl !== undefined) return publicUrl
  const address = host || `${localAddress?.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`
  if (!HOST.test(address) || !URL.canParse(`http://${address}`) || !/^https?$/.test(protocol)) {
    throw problem('bad_request', 'The host or protocol of the request is not valid')
  }
  return `${protocol}://${address}`
}

/** Whether the system has taken the whole response. Node calls it finished also where it was cut off. */
export const wasSent = ({ raw, request: { socket } }: FastifyReply): boolean =>
  raw.writableEnded && (!socket.destroyed || socket.writableFinished)
