// Closes the connection of a caller that reads a response too slowly, so that nobody keeps it in memory for as long as they
// like. One that reads nothing at all is closed before by the server (src/core/http/server.ts).
import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import { cutOff, whenOver } from './caller.js'

declare module 'fastify' {
  interface FastifyInstance {
    /** Says how many bytes are sent from now on, which the caller has to read in time. */
    expectReading(reply: FastifyReply, bytes: number): void
  }
}

/** How long a caller may take to read a response, how many bytes of it add a millisecond, and how often the service looks. */
const LIMITS = { readingMs: 30_000, minBytesPerMs: 128, lookMs: 1000 }
/** The system takes a smaller response at once. */
const LEAST_BYTES = 16 * 1024

const plugin = async (app: FastifyInstance, limits: Partial<typeof LIMITS>) => {
  const { readingMs, minBytesPerMs, lookMs } = { ...LIMITS, ...limits }
  const until = new Map<ServerResponse, number>()
  const timer = setInterval(() => {
    const now = performance.now()
    for (const [response, time] of until) if (now > time && response.writableLength > 0) cutOff(response)
  }, lookMs).unref()
  app.addHook('onClose', async () => clearInterval(timer))

  app.decorate('expectReading', (reply: FastifyReply, bytes: number): void => {
    if (bytes < LEAST_BYTES) return
    if (!until.has(reply.raw)) whenOver(reply, () => until.delete(reply.raw))
    until.set(reply.raw, performance.now() + readingMs + bytes / minBytesPerMs)
  })
  app.addHook('onSend', (_request, reply, payload, next) => {
    if (typeof payload === 'string' || payload instanceof Buffer) app.expectReading(reply, payload.length)
    next(null, payload)
  })
}
export const slowReadersPlugin = fp(plugin, { name: 'slow-readers', fastify: '5.x' })
