// Limits how much of the service one API key can use. The requests of a key run a few at a time, and its responses that
// have not been read yet share a limited amount of memory. A request beyond these limits waits, or fails with 503
// `overloaded`; requests with other keys are not affected. docs/decisions/0008-shares-of-a-key.md has the reasons.
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
    /** Set by this plugin before the handler of a route runs. */
    share: Share
  }
  interface FastifyContextConfig {
    /** Set for a route that has a queue of its own. */
    queue?: 'digests'
  }
}

/** A page of more records than this is large. A page of 1,000 is as much work as twenty of the usual size. */
const LARGE_PAGE = 50
/**
 * How many requests run at once, in all and for each key. Large pages have a queue of their own. `alone` is the limit
 * of a key while no other key is in use, `beside` the limit while others are.
 */
const SMALL = { atOnce: 64, alone: 16, beside: 4 }
const LARGE = { atOnce: 2, perKey: 1 }
const DIGESTS = { atOnce: 2, perKey: 1 }
/**
 * For this long after requests with two different keys, several keys count as in use. Meanwhile each large page is
 * followed by a pause as long as the page took, at most LONGEST_PAUSE_MS.
 */
const SEVERAL_KEYS_MS = 1000
const LONGEST_PAUSE_MS = 1000
/** How long a request waits for its turn before it fails. */
const LONGEST_WAIT_MS = 5000
/** One key may use this part of the memory for responses: a quarter. */
const SHARING_KEYS = 4
/** Smaller responses are not counted against the memory, in bytes: a connection has at most one. */
const MIN_COUNTED_BYTES = 16 * 1024
/** How long a caller may take to read a response, and how much longer for each byte of a large one. */
const READING_MS = 30_000
const MIN_BYTES_PER_MS = 128
/** How often deadlines are checked. */
const CHECK_INTERVAL_MS = 1000

/** The place of a request in a queue. A request that waits for something else may leave it meanwhile. */
interface Place {
  /** Waits for a place, as the request did before its handler ran. */
  readonly enter: () => Promise<void>
  readonly leave: () => void
}

/** What one request holds: its place in a queue, and memory for its response. */
export class Share {
  #bytes = 0
  isOver = false
  /** When the request has waited too long, or its response should have been read, as a time of performance.now(). */
  deadline = Number.POSITIVE_INFINITY
  /** Makes a waiting request fail. Undefined when the request does not wait. */
  giveUp: ((error: Error) => void) | undefined
  /** The queue in which the request has a place, and when it got it, as a time of performance.now(). */
  queue: FairQueue | undefined
  begun = 0

  constructor(
    readonly key: string,
    readonly budget: Budget,
    readonly response: ServerResponse,
    readonly place: Place,
  ) {}

  /**
   * Takes memory for the documents of a response.
   * @throws a problem if too little is left
   */
  claim(bytes: number): void {
    if (bytes < MIN_COUNTED_BYTES) return
    if (!this.budget.hasRoom(this.key, bytes)) throw overloaded()
    this.hold(bytes)
  }

  /** Sets how many bytes the request holds. A request that has ended holds none. */
  hold(bytes: number): void {
    const counted = bytes < MIN_COUNTED_BYTES ? 0 : bytes
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
  /** How many bytes all responses together may hold. */
  memory: number
  waitMs?: number
  readingMs?: number
  minBytesPerMs?: number
  checkIntervalMs?: number
}

export const admissionPlugin = fp(
  async (
    app: FastifyInstance,
    {
      memory,
      waitMs = LONGEST_WAIT_MS,
      readingMs = READING_MS,
      minBytesPerMs = MIN_BYTES_PER_MS,
      checkIntervalMs = CHECK_INTERVAL_MS,
    }: Options,
  ) => {
    const budget = new Budget(memory, memory / SHARING_KEYS)
    let lastKey: string | undefined
    let severalKeysAt = Number.NEGATIVE_INFINITY
    const hasSeveralKeys = () => performance.now() - severalKeysAt < SEVERAL_KEYS_MS
    const small = new FairQueue({
      atOnce: SMALL.atOnce,
      atOncePerKey: () => (hasSeveralKeys() ? SMALL.beside : SMALL.alone),
    })
    const large = new FairQueue({ atOnce: LARGE.atOnce, atOncePerKey: () => LARGE.perKey })
    const digests = new FairQueue({ atOnce: DIGESTS.atOnce, atOncePerKey: () => DIGESTS.perKey })
    /** The requests that have a deadline. */
    const shares = new Set<Share>()

    /** Frees the place of a request. After a large page the next one waits, so that other keys are served meanwhile. */
    const leave = (share: Share): void => {
      const { queue, key, begun } = share
      if (queue === undefined) return
      share.queue = undefined
      if (queue !== large || !hasSeveralKeys()) queue.leave(key)
      else setTimeout(() => queue.leave(key), Math.min(performance.now() - begun, LONGEST_PAUSE_MS))
    }

    app.decorateRequest('share')
    app.addHook('preHandler', (request, reply, next) => {
      const key = request.scope.keyId
      const { perPage = 1 } = request.query as { perPage?: number }
      const queue = request.routeOptions.config.queue ? digests : perPage > LARGE_PAGE ? large : small
      const share = new Share(key, budget, reply.raw, {
        enter: () => new Promise((resolve, reject) => enter((error) => (error ? reject(error) : resolve()))),
        leave: () => leave(share),
      })
      request.share = share
      if (lastKey !== undefined && key !== lastKey) severalKeysAt = performance.now()
      lastKey = key

      let done: (error?: Error) => void = next
      const admit = () => {
        if (!reply.raw.closed) done(budget.hasRoom(key, 0) ? undefined : overloaded())
      }
      const begin = () => {
        share.queue = queue
        share.begun = performance.now()
        share.giveUp = undefined
        share.deadline = Number.POSITIVE_INFINITY
        // Let other connections take their turn first: large pages in a row would block them.
        if (queue === large) setImmediate(admit)
        else admit()
      }
      /**
       * Waits for a place. It calls back when the request has one or has waited too long, never if its caller has gone.
       */
      const enter = (callback: typeof done): void => {
        done = callback
        if (reply.raw.closed || queue.enter(key, begin)) return
        share.giveUp = (error) => {
          share.giveUp = undefined
          share.deadline = Number.POSITIVE_INFINITY
          queue.withdraw(key, begin)
          done(error)
        }
        share.deadline = performance.now() + waitMs
        shares.add(share)
      }
      whenOver(reply, () => {
        queue.withdraw(key, begin)
        leave(share)
        share.end()
        shares.delete(share)
      })
      enter(next)
    })

    app.addHook('onSend', ({ share }, _reply, payload, next) => {
      const bytes = typeof payload === 'string' || payload instanceof Buffer ? payload.length : 0
      // A request whose key or parameters are invalid has no share.
      if (share === undefined) return next(null, payload)
      share.hold(bytes)
      if (bytes >= MIN_COUNTED_BYTES && !share.isOver) {
        share.deadline = performance.now() + readingMs + bytes / minBytesPerMs
        shares.add(share)
      }
      next(null, payload)
      leave(share)
    })

    // When the database cannot be reached, all waiting requests fail now instead of one after the other.
    app.addHook('onError', (_request, _reply, error, next) => {
      if (error instanceof StoreUnavailable) {
        // All stop waiting first, because each failure calls this hook again.
        const waiting = [...shares].map(({ giveUp }) => giveUp)
        for (const share of shares) share.giveUp = undefined
        for (const giveUp of waiting) giveUp?.(error)
      }
      next()
    })

    const timer = setInterval(() => {
      const now = performance.now()
      for (const share of shares) {
        if (share.deadline >= now) continue
        if (share.giveUp === undefined) share.response.destroy()
        else share.giveUp(overloaded())
      }
    }, checkIntervalMs).unref()
    app.addHook('onClose', async () => clearInterval(timer))
  },
  { name: 'admission', fastify: '5.x', dependencies: ['bearer-auth'] },
)

/** The response closes the connection, so that requests that wait behind this one on it are dropped too. */
const overloaded = () =>
  problem(
    'overloaded',
    'Too many requests with this key are running, or too many of its responses have not been read yet',
    { headers: { ...RETRY_LATER, connection: 'close' } },
  )
