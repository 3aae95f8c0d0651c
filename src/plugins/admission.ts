// Limits how much of the service one API key can use. The requests of a key run a few at a time, and its responses that
// have not been read yet share a limited amount of memory. A request beyond these limits waits, or fails with 503
// `overloaded`; requests with other keys are not affected. docs/decisions/0008-shares-of-a-key.md has the reasons.

import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { LRUCache } from 'lru-cache'
import { callerGone, cutOff, whenOver } from '../http/caller.js'
import { lateRequests } from '../http/entrance.js'
import { problem, retryLater } from '../http/problems.js'
import { isForConnections } from '../http/server.js'
import { Budget } from '../limits/budget.js'
import { FairQueue, type Leave, partOf } from '../limits/fair-queue.js'
import { Overloaded } from '../limits/overloaded.js'
import { Turns } from '../limits/turns.js'
import { type Reading, StoreUnavailable } from '../store/store.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by this plugin before the handler of a route runs. */
    share: Share
  }
  interface FastifyContextConfig {
    /** Set for a route that has a queue of its own. */
    queue?: 'digests'
    /** The name of the parameter with the page size, if it has another. */
    pageSize?: string
  }
}

/** A page of more records than this is large. A page of 1,000 is as much work as twenty of the usual size. */
const LARGE_PAGE = 50
/** More bytes of documents than this are large, whatever the request is for: they take milliseconds to process. */
const LARGE_BYTES = 512 * 1024
/**
 * How long all requests of a key for an operation count as large after one of them turned out to be, and for how many keys
 * and operations that is remembered. Otherwise a caller who leaves when its record was read would never wait.
 */
const EXPECTED_LARGE_MS = 10_000
const EXPECTED_LARGE = 10_000
/**
 * How many requests run at once, in all and for each key: small ones as a part of what the database runs at once, so that
 * those who wait do so here, where keys take turns. Large ones have a queue of their own, and so have digests. `alone` is the
 * limit of a key while no other key is in use, `beside` the limit while others are: a number, and a part of all that run.
 */
const SMALL = { partOfStore: 1 / 2, alone: { most: 16, part: 1 / 2 }, beside: { most: 4, part: 1 / 4 } }
const HEAVY = { atOnce: 2, perKey: 1 }
/** While a Parquet file is written, it holds up to 8 MiB in the worker. */
const PARQUET_FILES = { atOnce: 32, perKey: 8 }
/** A count may read all records of an organisation, and goes on in the database when its caller has left. */
const COUNTS = { partOfStore: 1 / 8, perKey: 2 }
/**
 * For this long after requests with two different keys, several keys count as in use. Meanwhile each large request is
 * followed by a pause as long as it took, at most LONGEST_PAUSE_MS.
 */
const SEVERAL_KEYS_MS = 1000
const LONGEST_PAUSE_MS = 1000
/** How long a request waits for its turn before it fails. */
const LONGEST_WAIT_MS = 5000
/** A key whose first request has waited for this part of it already gets no further ones into the queue. */
const PART_OF_WAIT = 0.2
/** The same for a response that has begun, which would be broken off. */
const LONGEST_WAIT_BETWEEN_MS = 60_000
/** How often such a response looks whether there is memory for its next part. */
const LOOK_FOR_ROOM_MS = 100
/** One key may use this part of the memory for responses: a quarter. */
const SHARING_KEYS = 4
/** Smaller responses are not counted against the memory, in bytes: a connection has at most one. */
const MIN_COUNTED_BYTES = 16 * 1024
/** How long a caller may take to read a response, and how much longer for each byte of a large one. */
const READING_MS = 30_000
const MIN_BYTES_PER_MS = 128
/** The time to read is rounded up to this, so that most responses share a timer of Node. */
const READING_STEP_MS = 1000

/** How many responses are written in one turn of the event loop that is not for connections. */
const WRITTEN_PER_TURN = 2

const REFUSAL = 'Too many requests with this key are running, or too many of its responses have not been read yet'

const QUEUES = ['small', 'large', 'digests', 'counts', 'parquetFiles'] as const
type QueueName = (typeof QUEUES)[number]

/** What all requests share. */
class Limits {
  readonly budget: Budget
  readonly small: FairQueue
  readonly large: FairQueue
  readonly digests: FairQueue
  readonly counts: FairQueue
  readonly parquetFiles: FairQueue
  readonly turns: Turns
  /** The keys with operations of theirs. */
  readonly expectedLarge = new LRUCache<string, true>({ max: EXPECTED_LARGE, ttl: EXPECTED_LARGE_MS })
  #lastKey: string | undefined
  #severalKeysAt = Number.NEGATIVE_INFINITY

  constructor(
    memory: number,
    capacity: number,
    waitMs: number,
    readonly waitBetweenMs: number,
    { server, metrics }: FastifyInstance,
  ) {
    this.turns = new Turns(WRITTEN_PER_TURN, () => isForConnections(server))
    const queue = (name: QueueName, atOnce: number, atOncePerKey: () => number) => {
      const onWaited = metrics && ((ms: number) => metrics.record('field_data.queue.wait', ms / 1000, { queue: name }))
      return new FairQueue({ atOnce, atOncePerKey, waitMs, refusal: REFUSAL, onWaited })
    }
    this.budget = new Budget(memory, memory / SHARING_KEYS)
    const small = partOf(capacity, SMALL.partOfStore)
    this.small = queue('small', small, () => {
      const { most, part } = this.hasSeveralKeys() ? SMALL.beside : SMALL.alone
      return Math.min(most, partOf(small, part))
    })
    this.large = queue('large', HEAVY.atOnce, () => HEAVY.perKey)
    this.digests = queue('digests', HEAVY.atOnce, () => HEAVY.perKey)
    this.counts = queue('counts', partOf(capacity, COUNTS.partOfStore), () => COUNTS.perKey)
    this.parquetFiles = queue('parquetFiles', PARQUET_FILES.atOnce, () => PARQUET_FILES.perKey)
    const ofEach = (count: (queue: FairQueue) => number) => () =>
      QUEUES.map((queue) => [count(this[queue]), { queue }] as const)
    metrics?.observe(
      'field_data.queue.running',
      ofEach((queue) => queue.running),
    )
    metrics?.observe(
      'field_data.queue.waiting',
      ofEach((queue) => queue.waiting),
    )
    metrics?.observe('field_data.response.memory', () => this.budget.taken)
    metrics?.observe('field_data.response.memory.limit', () => memory)
  }

  isUsedBy(key: string): void {
    if (this.#lastKey !== undefined && key !== this.#lastKey) this.#severalKeysAt = performance.now()
    this.#lastKey = key
  }

  hasSeveralKeys(): boolean {
    return performance.now() - this.#severalKeysAt < SEVERAL_KEYS_MS
  }

  /** When the database cannot be reached, all waiting requests fail now instead of one after the other. */
  failAllWaiting = (error: unknown): never => {
    if (error instanceof StoreUnavailable) for (const queue of QUEUES) this[queue].failAll(error)
    throw error
  }
}

/** What one request holds: its place in a queue while it works, and memory until its response is sent as well. */
export class Share {
  /** How the request reads the database: until its caller goes, and with every byte counted. */
  readonly reading: Reading & { readonly signal: AbortSignal }
  readonly #limits: Limits
  readonly #key: string
  /** What the requests of the key that are like this one have in common. */
  readonly #operation: string
  #queue: FairQueue
  /** When the request has its place among the large ones, if it was not large from its beginning. */
  #becameLarge: Promise<void> | undefined
  #leave: Leave | undefined
  #begun = 0
  /** The bytes that count against the memory. */
  #held = 0
  /** Who still needs the memory: the handler and the response. */
  #users = 2
  /** Cuts off a file that the caller does not read. */
  #reading: NodeJS.Timeout | undefined
  readonly #response: ServerResponse
  /** The size of the newest part of a response that has several, if it has begun. */
  #part = 0

  constructor(
    request: FastifyRequest,
    { raw }: FastifyReply,
    limits: Limits,
    /** How long a caller may take to read so many bytes. */
    readonly msToRead: (bytes: number) => number,
  ) {
    this.#response = raw
    const { scope, routeOptions } = request
    const { pageSize = 'perPage' } = routeOptions.config
    const { [pageSize]: perPage = 1 } = request.query as Readonly<Record<string, number>>
    let read = 0
    this.reading = {
      signal: callerGone(request),
      onBytes: async (more) => {
        read += more
        await this.#claim(read)
      },
    }
    this.#limits = limits
    this.#key = scope.keyId
    this.#operation = `${scope.keyId} ${routeOptions.url}`
    const isLarge = perPage > LARGE_PAGE || limits.expectedLarge.has(this.#operation)
    this.#queue = routeOptions.config.queue ? limits.digests : isLarge ? limits.large : limits.small
    limits.isUsedBy(this.#key)
  }

  /**
   * Waits for a place in a queue, by default again in that of the request.
   * @throws Overloaded if that takes too long
   */
  async enter(queue = this.#queue, waitMs?: number): Promise<void> {
    this.leave()
    this.#queue = queue
    this.#leave = await queue.enter(this.#key, this.reading.signal, waitMs)
    this.#begun = performance.now()
    // Let other connections take their turn first: large requests in a row would block them.
    if (queue === this.#limits.large) await setImmediate()
  }

  /** Frees the place. After a large request the next one waits, so that other keys are served meanwhile. */
  leave(): void {
    const leave = this.#leave
    if (leave === undefined) return
    this.#leave = undefined
    const isPaused = this.#queue === this.#limits.large && this.#limits.hasSeveralKeys()
    if (isPaused) setTimeout(leave, Math.min(performance.now() - this.#begun, LONGEST_PAUSE_MS))
    else leave()
  }

  /**
   * Works in the queue of large requests. Once a response has begun, it waits longer for its turn.
   * @throws Overloaded if that takes too long
   */
  async inLargeQueue<T>(work: (reading: Reading) => Promise<T>): Promise<T> {
    const hasBegun = this.#part > 0
    if (hasBegun) await this.#roomForAPart()
    await this.enter(this.#limits.large, hasBegun ? this.#limits.waitBetweenMs : undefined)
    if (!hasBegun) this.requireRoom()
    let read = 0
    const onBytes = async (more: number) => {
      read += more
      this.hold(this.#unsent() + read)
    }
    return work({ ...this.reading, onBytes })
      .catch(this.#limits.failAllWaiting)
      .finally(() => this.leave())
  }

  /**
   * Makes one part of a response that has several. It holds no place between them: the next part is asked for while the
   * one before is sent, for which the caller has as long as for a response of its size. So two of them count as memory.
   * @throws Overloaded if it has to wait too long
   */
  async turn(work: (reading: Reading) => Promise<Buffer>): Promise<Buffer> {
    const part = await this.inLargeQueue(work)
    const unread = this.#unsent() + part.length
    this.hold(unread)
    // A part may be empty.
    this.#part = part.length || this.#part
    clearTimeout(this.#reading)
    this.#reading = setTimeout(() => {
      // All may be sent so far, while the next part waits for its turn.
      if (this.#unsent() > 0) cutOff(this.#response.req)
    }, this.msToRead(unread))
    return part
  }

  /**
   * Waits for a place among the Parquet files that are written, and holds no other one meanwhile.
   * @throws Overloaded if that takes too long
   */
  parquetFile(): Promise<Leave> {
    this.leave()
    return this.#limits.parquetFiles.enter(this.#key, this.reading.signal)
  }

  /** How much the system has not taken yet of the newest part: all of it, or nothing. */
  #unsent(): number {
    return this.#response.writableLength > 0 ? this.#part : 0
  }

  /**
   * Waits until there is memory for as much as the newest part. Few work at once, so it does not have to be exact. While that
   * part is sent, the time to read it is the limit.
   */
  async #roomForAPart(): Promise<void> {
    let waitsSince = performance.now()
    await setImmediate() // the newest part is written meanwhile
    for (;;) {
      const unsent = this.#unsent()
      this.hold(unsent)
      if (this.#limits.budget.hasRoom(this.#key, this.#part)) return
      if (unsent > 0) waitsSince = performance.now()
      if (performance.now() > waitsSince + this.#limits.waitBetweenMs) throw new Overloaded(REFUSAL)
      await sleep(LOOK_FOR_ROOM_MS, undefined, { signal: this.reading.signal })
    }
  }

  /**
   * Waits for the turn of a count, and counts.
   * @throws Overloaded if that takes too long
   */
  async count(run: () => Promise<number>): Promise<number> {
    const leave = await this.#limits.counts.enter(this.#key, this.reading.signal)
    return run().catch(this.#limits.failAllWaiting).finally(leave)
  }

  /**
   * Takes memory for the documents of a response, in place of what was taken before, when it is its turn to be written. A
   * large request goes on in the queue of those.
   * @returns whether it is large
   * @throws Overloaded if too little memory is left, and the reason of the signal if the caller has gone
   */
  async claim(bytes: number): Promise<boolean> {
    await this.#limits.turns.pass()
    return this.#claim(bytes)
  }

  async #claim(bytes: number): Promise<boolean> {
    const { small, large, expectedLarge } = this.#limits
    const isLarge = bytes > LARGE_BYTES
    if (isLarge) expectedLarge.set(this.#operation, true)
    this.reading.signal.throwIfAborted()
    this.hold(0)
    if (bytes >= MIN_COUNTED_BYTES) this.requireRoom(bytes)
    this.hold(bytes)
    if (!isLarge) return false
    if (this.#queue === small) this.#becameLarge = this.enter(large)
    // All that is read for the request at the same time waits for that one place.
    await this.#becameLarge
    return true
  }

  /** @throws Overloaded if there is too little memory for this much more, or if all of it is in use */
  requireRoom(bytes = 0): void {
    if (!this.#limits.budget.hasRoom(this.#key, bytes)) throw new Overloaded(REFUSAL)
  }

  /** Sets how many bytes the request holds. */
  hold(bytes: number): void {
    const counted = bytes < MIN_COUNTED_BYTES || this.#users === 0 ? 0 : bytes
    this.#limits.budget.take(this.#key, counted - this.#held)
    this.#held = counted
  }

  /** The handler has ended, or the response was sent or cut off. */
  end(): void {
    this.#users -= 1
    if (this.#users > 0) return
    clearTimeout(this.#reading)
    this.hold(0)
  }
}

interface Options {
  /** How many bytes all responses together may hold. */
  memory: number
  /** How many operations the database runs at once. */
  capacity: number
  waitMs?: number
  waitBetweenMs?: number
  readingMs?: number
  minBytesPerMs?: number
}

export const admissionPlugin = fp(
  async (
    app: FastifyInstance,
    {
      memory,
      capacity,
      waitMs = LONGEST_WAIT_MS,
      waitBetweenMs = LONGEST_WAIT_BETWEEN_MS,
      readingMs = READING_MS,
      minBytesPerMs = MIN_BYTES_PER_MS,
    }: Options,
  ) => {
    const limits = new Limits(memory, capacity, waitMs, waitBetweenMs, app)
    app.decorateRequest('share')

    const msToRead = (bytes: number): number =>
      Math.ceil((readingMs + bytes / minBytesPerMs) / READING_STEP_MS) * READING_STEP_MS

    // Whatever makes the service slow makes requests wait, for the event loop or for their turn. A key whose small
    // requests wait for long, or which has no memory left, is refused before anything is done for it.
    app.addHook('onRequest', ({ raw, scope: { keyId } }, _reply, next) => {
      const isLong = lateRequests.has(raw) || limits.small.waitOf(keyId) > waitMs * PART_OF_WAIT
      const isRefused = isLong || !limits.budget.hasRoom(keyId, 0)
      next(isRefused ? problem('overloaded', REFUSAL, { headers: retryLater() }) : undefined)
    })

    // A request has its place as long as its handler runs, also when its caller has left: its queries go on until then.
    app.addHook('onRoute', (route) => {
      const { handler } = route
      route.handler = async function (request, reply) {
        const share = new Share(request, reply, limits, msToRead)
        request.share = share
        whenOver(reply, () => share.end())
        const work = async () => {
          await share.enter()
          share.requireRoom()
          return handler.call(this, request, reply)
        }
        return work()
          .catch(limits.failAllWaiting)
          .finally(() => {
            share.leave()
            share.end()
          })
      }
    })

    app.addHook('onSend', ({ share }, reply, payload, next) => {
      const bytes = typeof payload === 'string' || payload instanceof Buffer ? payload.length : 0
      // A request whose key or parameters are invalid has no share. The parts of a stream are held as they are made.
      if (!(payload instanceof Readable)) share?.hold(bytes)
      if (bytes >= MIN_COUNTED_BYTES) {
        const timer = setTimeout(() => cutOff(reply.raw.req), msToRead(bytes))
        whenOver(reply, () => clearTimeout(timer))
      }
      next(null, payload)
    })
  },
  { name: 'admission', fastify: '5.x', dependencies: ['key-auth'] },
)
