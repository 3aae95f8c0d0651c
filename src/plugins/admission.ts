// How much of the service a key may take: its requests begin in turn, and its responses that are not read yet have a budget
// of memory. Who asks for more than that waits, or is told to come later; callers with other keys notice nothing.
import type { ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { whenOver } from '../http/caller.js'
import { problem, RETRY_LATER } from '../http/problems.js'
import { Budget } from '../limits/budget.js'
import { FairQueue } from '../limits/fair-queue.js'
import { StoreUnavailable } from '../store/store.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on every route behind this plugin, before its handler runs. */
    share: Share
  }
}

/** Pages of more records wait among themselves: one of 1,000 is as much work as twenty of the usual size. */
const LARGE_PAGE = 50
/** How many requests are under way at once in all, and of one key: alone, and where several keys ask. */
const SMALL = { atOnce: 64, alone: 16, beside: 4 }
const LARGE = { atOnce: 2, perKey: 1 }
/**
 * How recently two different keys must have asked, in milliseconds, for the limits beside other keys to apply. Then each large
 * page is also followed by a rest as long as it took.
 */
const SEVERAL_MS = 1000
const LONGEST_REST_MS = 1000
/** How long a request waits for its turn, in milliseconds. */
const LONGEST_WAIT_MS = 5000
/** Of the memory for responses, one key gets a quarter. */
const SHARING_KEYS = 4
/** Smaller responses are not counted, in bytes: each connection has one at the most. */
const LEAST_COUNTED = 16 * 1024
/** How long a caller may take to read any response, in milliseconds, and how fast it must read a large one. */
const READING_MS = 30_000
const LEAST_BYTES_PER_MS = 128
/** How often deadlines are looked at, in milliseconds. */
const LOOK_EVERY_MS = 1000

/** What one request takes of the service. */
export class Share {
  #bytes = 0
  isOver = false
  /** Until when it may wait or be read, on the clock of performance.now(). */
  deadline = Number.POSITIVE_INFINITY
  /** Ends its waiting with an error; only there while it waits. */
  giveUp: ((error: Error) => void) | undefined
  /** Where it has a place, and since when, on the same clock. */
  queue: FairQueue | undefined
  begun = 0

  constructor(
    readonly key: string,
    readonly budget: Budget,
    readonly response: ServerResponse,
  ) {}

  /** Takes memory for documents that a response is made of; throws where there is none left. */
  claim(bytes: number): void {
    if (bytes < LEAST_COUNTED) return
    if (!this.budget.hasRoom(this.key, bytes)) throw overloaded()
    this.hold(bytes)
  }

  /** Sets how many bytes the request holds; none any more when it is over. */
  hold(bytes: number): void {
    const counted = bytes < LEAST_COUNTED ? 0 : bytes
    if (this.isOver || counted === this.#bytes) return
    this.budget.take(this.key, counted - this.#bytes)
    this.#bytes = counted
  }

  end(): void {
    this.hold(0)
    this.isOver = true
  }
}

interface Options {
  /** How many bytes responses may hold at once. */
  memory: number
  waitMs?: number
  readingMs?: number
  leastBytesPerMs?: number
  lookEveryMs?: number
}

export const admissionPlugin = fp(
  async (
    app: FastifyInstance,
    {
      memory,
      waitMs = LONGEST_WAIT_MS,
      readingMs = READING_MS,
      leastBytesPerMs = LEAST_BYTES_PER_MS,
      lookEveryMs = LOOK_EVERY_MS,
    }: Options,
  ) => {
    const budget = new Budget(memory, memory / SHARING_KEYS)
    let lastKey: string | undefined
    let severalAt = Number.NEGATIVE_INFINITY
    const severalAsk = () => performance.now() - severalAt < SEVERAL_MS
    const small = new FairQueue({
      atOnce: SMALL.atOnce,
      atOncePerKey: () => (severalAsk() ? SMALL.beside : SMALL.alone),
    })
    const large = new FairQueue({ atOnce: LARGE.atOnce, atOncePerKey: () => LARGE.perKey })
    const shares = new Set<Share>()

    /** Lets the next request begin: at once, or after a rest that leaves the machine to the other keys. */
    const leave = (share: Share): void => {
      const { queue, key, begun } = share
      if (queue === undefined) return
      share.queue = undefined
      if (queue === small || !severalAsk()) queue.leave(key)
      else setTimeout(() => queue.leave(key), Math.min(performance.now() - begun, LONGEST_REST_MS))
    }

    app.decorateRequest('share')
    app.addHook('preHandler', (request, reply, next) => {
      const key = request.scope.keyId
      const { perPage = 1 } = request.query as { perPage?: number }
      const queue = perPage > LARGE_PAGE ? large : small
      const share = new Share(key, budget, reply.raw)
      request.share = share
      if (lastKey !== undefined && key !== lastKey) severalAt = performance.now()
      lastKey = key
      // The caller has gone while its key was looked up.
      if (reply.raw.closed) return

      const admit = () => {
        if (!reply.raw.closed) next(budget.hasRoom(key, 0) ? undefined : overloaded())
      }
      const begin = () => {
        share.queue = queue
        share.begun = performance.now()
        share.giveUp = undefined
        share.deadline = Number.POSITIVE_INFINITY
        // Other connections are read first, or large pages that follow each other would keep them waiting.
        if (queue === large) setImmediate(admit)
        else admit()
      }
      whenOver(reply, () => {
        queue.withdraw(key, begin)
        leave(share)
        share.end()
        shares.delete(share)
      })
      if (queue.enter(key, begin)) return
      share.giveUp = (error) => {
        share.giveUp = undefined
        share.deadline = Number.POSITIVE_INFINITY
        queue.withdraw(key, begin)
        next(error)
      }
      share.deadline = performance.now() + waitMs
      shares.add(share)
    })

    app.addHook('onSend', ({ share }, _reply, payload, next) => {
      const bytes = typeof payload === 'string' || payload instanceof Buffer ? payload.length : 0
      // There is none where the key was refused.
      if (share === undefined) return next(null, payload)
      share.hold(bytes)
      if (bytes >= LEAST_COUNTED && !share.isOver) {
        share.deadline = performance.now() + readingMs + bytes / leastBytesPerMs
        shares.add(share)
      }
      next(null, payload)
      leave(share)
    })

    // Those who wait would meet the same outage, one after the other.
    app.addHook('onError', (_request, _reply, error, next) => {
      if (error instanceof StoreUnavailable) {
        const waiting = [...shares].map(({ giveUp }) => giveUp)
        for (const share of shares) share.giveUp = undefined
        for (const giveUp of waiting) giveUp?.(error)
      }
      next()
    })

    const look = setInterval(() => {
      const now = performance.now()
      for (const share of shares) {
        if (share.deadline >= now) continue
        if (share.giveUp === undefined) share.response.destroy()
        else share.giveUp(overloaded())
      }
    }, lookEveryMs).unref()
    app.addHook('onClose', async () => clearInterval(look))
  },
  { name: 'admission', fastify: '5.x', dependencies: ['bearer-auth'] },
)

/** It ends the connection, and with it the requests that wait behind this one. */
const overloaded = () =>
  problem('overloaded', 'Too many requests of this key, or responses that are not read yet, are under way', {
    headers: { ...RETRY_LATER, connection: 'close' },
  })
