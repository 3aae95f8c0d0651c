// Requests that wait for a change. All that wait for one feed share a look-up a second, and a feed for which nobody
// waits costs nothing. A request that waits holds its connection and nothing else.
import { Counts } from '../limits/counts.js'
import { Overloaded, SMALL, type Ticket } from '../limits/scheduler.js'
import type { Cursor } from './cursor.js'
import type { FeedPage, Feeds } from './feed.js'
import type { Feed } from './queries.js'

/** How many feeds are looked up at once. With very many feeds, a round takes longer instead of the whole database. */
const LOOK_UPS_AT_ONCE = 4

/** Whose request waits. */
export interface Owner {
  readonly keyId: string
  readonly organisation: string
}

interface Waiter {
  readonly owner: Owner
  /** The waiting request has everything before this stamp. */
  readonly from: number
  readonly end: (hasChanged: boolean) => void
  readonly fail: (error: unknown) => void
}

/** The newest stamp at or after a time, or undefined if there is none. */
type LookUp = (from: number) => Promise<number | undefined>

interface Watched {
  readonly lookUp: LookUp
  readonly waiters: Set<Waiter>
}

export interface WaitingLimits {
  /** How many requests may wait: in all, of which an organisation may have no more than it leaves free, and of one key. */
  readonly max: number
  readonly maxPerKey: number
  readonly intervalMs: number
}

export class Waiting {
  readonly #feeds = new Map<string, Watched>()
  readonly #byOrganisation = new Counts()
  readonly #byKey = new Counts()
  /** Whether the service closes. Then nobody waits any more. */
  isClosed = false
  #timer: NodeJS.Timeout | undefined

  constructor(readonly limits: WaitingLimits) {}

  /** How many requests wait. */
  get size(): number {
    return this.#byKey.total
  }

  /**
   * Waits until a feed has a stamp at or after a time, for at most `ms` milliseconds.
   * @param feed identifies the feed; `lookUp` is that of the first request which waits for it
   * @param signal ends the wait when the caller has gone; the promise rejects with its reason
   * @returns whether there is such a stamp
   * @throws Overloaded if too many requests wait, and the error of a look-up that fails
   */
  wait(
    owner: Owner,
    feed: string,
    lookUp: LookUp,
    { from, ms, signal }: { from: number; ms: number; signal: AbortSignal },
  ): Promise<boolean> {
    if (this.isClosed) return Promise.resolve(false)
    if (!this.#hasPlace(owner)) return Promise.reject(new Overloaded(REFUSAL))
    return new Promise<boolean>((resolve, reject) => {
      const over = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', leave)
        this.#remove(feed, waiter)
      }
      const waiter: Waiter = {
        owner,
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
    this.isClosed = true
    for (const { waiters } of this.#feeds.values()) for (const { end } of waiters) end(false)
  }

  /** So the organisations that wait already leave places for one that comes later, however many keys they have. */
  #hasPlace({ keyId, organisation }: Owner): boolean {
    const { max, maxPerKey } = this.limits
    const free = max - this.#byOrganisation.total
    return this.#byOrganisation.of(organisation) < free && this.#byKey.of(keyId) < maxPerKey
  }

  #count({ keyId, organisation }: Owner, amount: number): void {
    this.#byOrganisation.add(organisation, amount)
    this.#byKey.add(keyId, amount)
  }

  #add(name: string, lookUp: LookUp, waiter: Waiter): void {
    const feed = this.#feeds.get(name) ?? { lookUp, waiters: new Set() }
    this.#feeds.set(name, feed)
    feed.waiters.add(waiter)
    this.#count(waiter.owner, 1)
    this.#timer ??= setTimeout(() => this.#round(), this.limits.intervalMs)
  }

  #remove(name: string, waiter: Waiter): void {
    const { waiters } = this.#feeds.get(name) as Watched
    waiters.delete(waiter)
    if (waiters.size === 0) this.#feeds.delete(name)
    this.#count(waiter.owner, -1)
    if (this.#byKey.total > 0) return
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

/**
 * The page that follows a cursor. While it would be empty, the request leaves its place and waits for a change.
 * @param waitMs how long it waits at the most, in milliseconds
 */
export const pageOrWait = async (
  feeds: Feeds,
  feed: Feed & { readonly scope: Owner },
  cursor: Cursor | undefined,
  perPage: number,
  { ticket, waiting, waitMs }: { ticket: Ticket; waiting: Waiting; waitMs: number },
): Promise<FeedPage> => {
  const until = performance.now() + waitMs
  const isSettledOnly = cursor?.isSettledOnly ?? false
  const name = `${feed.scope.organisation} ${feed.collection}${isSettledOnly ? ' settled' : ''}`
  const lookUp = (from: number) => feeds.newest(feed, from, isSettledOnly)
  // What was committed after a later stamp had been shown comes when it has settled. No look-up finds it. While the majority
  // lags behind, fresh rows settle later, so the page is read no more often than a look-up.
  const untilSettled = Math.max(feeds.settings.settleMs + 1, waiting.limits.intervalMs)
  for (;;) {
    const page = await feeds.page(feed, cursor, perPage, ticket)
    const left = until - performance.now()
    if (page.items.length > 0 || left <= 0 || waiting.isClosed) return page
    ticket.release()
    const ms = page.next.fresh === null ? left : Math.min(left, untilSettled)
    const wanted = { from: page.newFrom, ms, signal: ticket.signal }
    const hasChanged = await waiting.wait(feed.scope, name, lookUp, wanted)
    if (!hasChanged && ms === left) return page
    await ticket.enter(SMALL)
  }
}

/** Ends the waits of a feed for which there is a change. If the look-up fails, all of them fail. */
const lookUp = async ({ lookUp, waiters }: Watched): Promise<void> => {
  const asked = [...waiters]
  try {
    const newest = await lookUp(Math.min(...asked.map(({ from }) => from)))
    for (const waiter of asked)
      if (newest !== undefined && newest >= waiter.from && waiters.has(waiter)) waiter.end(true)
  } catch (error) {
    for (const waiter of asked) if (waiters.has(waiter)) waiter.fail(error)
  }
}

const REFUSAL = 'Too many requests are waiting for changes: of this key, of its organisation or in all'
