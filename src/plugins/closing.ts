// Graceful shutdown: running requests get their responses, then every connection is closed. That includes connections
// on which a caller has sent nothing or half a request: they would keep the process alive for as long as the caller
// likes.
import { setTimeout } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { whenOver } from '../http/caller.js'

declare module 'fastify' {
  interface FastifyInstance {
    /** Aborts as soon as the service begins to close, so that requests which wait for something can end. */
    closing: AbortSignal
  }
}

const CHECK_INTERVAL_MS = 50
/** After this many checks the service stops listening even if requests still arrive. */
const MAX_CHECKS = 20

export const closingPlugin = fp(
  async (app: FastifyInstance) => {
    const closing = new AbortController()
    app.decorate('closing', closing.signal)
    let running = 0
    let received = 0
    app.addHook('onRequest', (_request, reply, next) => {
      running += 1
      received += 1
      whenOver(reply, () => {
        running -= 1
      })
      next()
    })
    app.addHook('preClose', async () => {
      closing.abort()
      // Requests that have arrived but are not read yet are lost when listening stops, so wait until none comes any
      // more.
      let receivedBefore = -1
      for (let checks = 0; checks < MAX_CHECKS && (running > 0 || received > receivedBefore); checks++) {
        receivedBefore = received
        await setTimeout(CHECK_INTERVAL_MS)
      }
      const timer = setInterval(() => {
        if (running > 0) return
        app.server.closeAllConnections()
        clearInterval(timer)
      }, CHECK_INTERVAL_MS)
      timer.unref()
    })
  },
  { name: 'closing', fastify: '5.x' },
)
