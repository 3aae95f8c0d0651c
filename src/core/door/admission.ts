// Lets the handler of a request begin when the scheduler says so, and refuses a request too many before anything is done for
// it. docs/decisions/0008-shares-of-a-key.md has the reasons.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { callerGone, whenOver } from '../http/caller.js'
import { FairScheduler, Overloaded, SIZES, SMALL, TICK_MS, type Ticket } from '../limits/scheduler.js'
import { Reader } from '../read/reader.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by this plugin before the handler of a route runs. */
    ticket: Ticket
    /** The same, where requests need a key. */
    reader: Reader
  }
}

export const schedulerFor = (app: FastifyInstance, capacity: number): FairScheduler => {
  const { metrics, config } = app
  // The other half of what the database runs at once is for counts and for looking up keys.
  const small = Math.max(1, Math.floor(capacity / 2))
  const scheduler = new FairScheduler({
    small: { all: small, perKey: Math.max(1, Math.floor(small / 2)) },
    // Two large tasks keep the event loop and the database busy.
    large: { all: 2, perKey: 1 },
    // A key may hold a third of the free memory for responses: a quarter of all when it is alone.
    memory: { all: config.responseMemory, partOfLeft: 1 / 3 },
    waitMs: 5000,
    onWaited: metrics && ((ms, size) => metrics.record('field_data.queue.wait', ms / 1000, { size })),
  })
  const timer = setInterval(() => scheduler.tick(), TICK_MS).unref()
  app.addHook('onClose', async () => clearInterval(timer))
  for (const state of ['running', 'waiting'] as const) {
    metrics?.observe(`field_data.queue.${state}`, () =>
      SIZES.map((size) => [scheduler.all[state][size], { size }] as const),
    )
  }
  metrics?.observe('field_data.response.memory', () => scheduler.all.held / config.responseMemory)
  return scheduler
}

interface Options {
  scheduler: FairScheduler
  /** Whose share a request uses. */
  keyOf: (request: FastifyRequest) => string
}

const plugin = async (app: FastifyInstance, { scheduler, keyOf }: Options) => {
  app.decorateRequest('ticket')
  app.decorateRequest('reader')

  app.addHook('onRequest', (request, _reply, next) => {
    next(scheduler.refuses(keyOf(request)) ? new Overloaded() : undefined)
  })

  // A request runs as long as its handler, also when its caller has left: its queries go on until then.
  app.addHook('onRoute', (route) => {
    const { handler } = route
    route.handler = async function (request, reply) {
      const ticket = await scheduler.start(keyOf(request), SMALL, callerGone(request))
      request.ticket = ticket
      if (request.scope !== undefined) request.reader = new Reader(app.store, request.scope, ticket)
      const handled = async () => handler.call(this, request, reply)
      return handled().finally(() => {
        ticket.stop()
        whenOver(reply, () => ticket.hold(0))
      })
    }
  })

  app.addHook('onSend', ({ ticket }, { raw }, payload, next) => {
    const isWhole = typeof payload === 'string' || payload instanceof Buffer
    // The parts of a stream are held as they are made. A request whose key or parameters are invalid has no ticket.
    if (isWhole && !raw.closed) ticket?.hold(payload.length)
    next(null, payload)
  })
}
export const admissionPlugin = fp(plugin, { name: 'admission', fastify: '5.x' })
