// Requests that wait for a change. All that wait for one feed share a look-up a second, and a feed for which nobody
// waits costs nothing. A request that waits holds its connection and nothing else.
import { problem, RETRY_LATER } from '../http/problems.js'

/** How many feeds are looked up at once. With very many feeds, a round takes longer instead of the whole database. */
const LOOK_UPS_AT_ONCE = 4

interface Waiter {
  readonly key: string
  /** The waiting request has everything before this stamp. */
  readonly from: number
  /** Ends the wait. */
  readonly end: (hasChanged: boolean) => void
  readonly fail: (error: unknown) => void
}

/** The newest stamp at or after a time, or undefined if there is none. */
type LookUp = (from: number) => Promise<number | undefined>

interface Feed {
  readonly lookUp: LookUp
  readonly waiters: Set<Waiter>
}

export interface WaitingLimits {
  /** How many requests may wait, in all and of one key. */
  readonly max: number
  readonly maxPerKey: number
  readonly intervalMs: number
}

export class Waiting {
  readonly #feeds = new Map<string, Feed>()
  readonly #countOf = new Map<string, number>()
  #count = 0
  #isClosed = false
  #timer: NodeJS.Timeout | undefined

  constructor(readonly limits: WaitingLimits) {}

  /**
   * Waits until a feed has a stamp at or after a time, for at most `ms` milliseconds.
   * @param feed identifies the feed; `lookUp` is that of the first request which waits for it
   * @param signal ends the wait when the caller has gone; the promise rejects with its reason
   * @returns whether there is such a stamp
   * @throws the problem `overloaded` if too many requests wait, and the error of a look-up that fails
   */
  wait(
    key: string,
    feed: string,
    lookUp: LookUp,
    { from, ms, signal }: { from: number; ms: number; signal: AbortSignal },
  ): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false)
    const own = this.#countOf.get(key) ?? 0
    if (this.#count >= this.limits.max || own >= this.limits.maxPerKey) return Promise.reject(tooMany())
    return new Promise<boolean>((resolve, reject) => {
      const over = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', leave)
        this.#remove(feed, waiter)
      }
      const waiter: Waiter = {
        key,
        from,
        end(hasChanged) {
          over()
          resolve(hasChanged)
        },
        fail(error) {
          over()
          reject(error)
        },
      }
      const leave = (): void => waiter.fail(signal.reason)
      const timer = setTimeout(waiter.end, ms, false)
      signal.addEventListener('abort', leave)
      this.#add(feed, lookUp, waiter)
      if (signal.aborted) leave()
    })
  }

  /** Ends all waits. A later wait ends at once. */
  close(): void {
    this.#isClosed = true
    for (const { waiters } of this.#feeds.values()) for (const { end } of waiters) end(false)
  }

  #add(name: string, lookUp: LookUp, waiter: Waiter): void {
    const feed = this.#feeds.get(name) ?? { lookUp, waiters: new Set() }
    this.#feeds.set(name, feed)
    feed.waiters.add(waiter)
    this.#count += 1
    this.#countOf.set(waiter.key, (this.#countOf.get(waiter.key) ?? 0) + 1)
    this.#timer ??= setTimeout(() => this.#round(), this.limits.intervalMs)
  }

  #remove(name: string, waiter: Waiter): void {
    const { waiters } = this.#feeds.get(name) as Feed
    waiters.delete(waiter)
    if (waiters.size === 0) this.#feeds.delete(name)
    this.#count -= 1
    const left = (this.#countOf.get(waiter.key) as number) - 1
    if (left === 0) this.#countOf.delete(waiter.key)
    else this.#countOf.set(waiter.key, left)
    if (this.#count > 0) return
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** Looks up all feeds. The next round begins an interval after this one began. */
  async #round(): Promise<void> {
    const timer = this.#timer
    const begun = performance.now()
    const feeds = this.#feeds.values()
    const lookUps = async (): Promise<void> => {
      for (const feed of feeds) await lookUp(feed)
    }
    await Promise.all(Array.from({ length: LOOK_UPS_AT_ONCE }, lookUps))
    // If all requests left meanwhile, another timer may run already.
    if (this.#timer !== timer || timer === undefined) return
    const rest = Math.max(0, this.limits.intervalMs - (performance.now() - begun))
    this.#timer = setTimeout(() => this.#round(), rest)
  }
}

/** Ends the waits of a feed for which there is a change. If the look-up fails, all of them fail. */
const lookUp = async ({ lookUp, waiters }: Feed): Promise<void> => {
  const asked = [...waiters]
  try {
    const newest = await lookUp(Math.min(...asked.map(({ from }) => from)))
    for (const waiter of asked)
      if (newest !== undefined && newest >= waiter.from && waiters.has(waiter)) waiter.end(true)
  } catch (error) {
    for (const waiter of asked) if (waiters.has(waiter)) waiter.fail(error)
  }
}

const tooMany = () =>
  problem('overloaded', 'Too many requests with this key, or in all, are waiting for changes', {
    headers: { ...RETRY_LATER, connection: 'close' },
  })
