// Graceful shutdown: running requests get their responses, then every connection is closed. One on which a caller has sent
// nothing or half a request would keep the process alive for as long as the caller likes.
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { whenOver } from './caller.js'
import { stopListening } from './server.js'

declare module 'fastify' {
  interface FastifyInstance {
    /** Aborts as soon as the service begins to close, so that requests which wait for something can end. */
    closing: AbortSignal
    /** Whether the service stops or will stop soon, so that no new callers should come. It still serves callers. */
    isLeaving: boolean
    readonly activeRequests: number
  }
}

const CHECK_INTERVAL_MS = 50
/** After this many checks the service stops listening even if requests still arrive. */
const MAX_CHECKS = 20
/** After this many more it closes idle connections. The last connections have sent their request by then. */
const MAX_LAST_CHECKS = 5

const plugin = async (app: FastifyInstance) => {
  const closing = new AbortController()
  app.decorate('closing', closing.signal)
  app.decorate('isLeaving', false)
  let running = 0
  app.decorate('activeRequests', { getter: () => running })
  let received = 0
  let stopped: Promise<void> | undefined
  app.addHook('onRequest', (_request, reply, next) => {
    running += 1
    received += 1
    whenOver(reply, () => {
      running -= 1
    })
    if (stopped === undefined) next()
    else stopped.then(() => next())
  })
  /** Waits until no request runs and none comes any more, or until this many checks have found some. */
  const quiet = async (maxChecks: number): Promise<void> => {
    let receivedBefore = -1
    for (let checks = 0; checks < maxChecks && (running > 0 || received > receivedBefore); checks++) {
      receivedBefore = received
      await setTimeout(CHECK_INTERVAL_MS)
    }
  }
  app.addHook('preClose', async () => {
    app.isLeaving = true
    closing.abort()
    // Without a port there are no callers.
    if (!app.server.listening) return
    // Each response now ends its connection. New callers are served until the callers that know the service have gone.
    await quiet(MAX_CHECKS)
    // Requests wait meanwhile, so that their callers open no further connections.
    stopped = stopListening(app.server)
    await stopped
    await quiet(MAX_LAST_CHECKS)
    // What has arrived by now is read first, because idle connections are closed next.
    await setImmediate()
    const timer = setInterval(() => {
      if (running > 0) return
      app.server.closeAllConnections()
      clearInterval(timer)
    }, CHECK_INTERVAL_MS).unref()
  })
}
export const closingPlugin = fp(plugin, { name: 'closing', fastify: '5.x' })
