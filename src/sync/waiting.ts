// Requests that wait for a change. All that wait for one feed share a look-up a second, and a feed for which nobody
// waits costs nothing. A request that waits holds its connection and nothing else.
import { setTimeout as sleep } from 'node:timers/promises'
import { Overloaded, SMALL, type Ticket } from '../core/limits/scheduler.js'
import { QueryTimeout, StoreUnavailable } from '../core/store/store.js'
import type { FeedPage, Feeds, Found } from './changes.js'
import type { Cursor } from './cursor.js'
import type { Feed } from './queries.js'

export type Owner = { readonly keyId: string; readonly organisation: string }

type LookUp = (from: number) => Promise<Found>

export interface WaitingLimits {
  /** How many requests may wait: in all, of which an organisation may have no more than it leaves free, and of one key. */
  readonly max: number
  readonly maxPerKey: number
  readonly intervalMs: number
}

export class Waiting {
  readonly #waits = new Set<Owner & { readonly feed: string; from: number; readonly end: () => void }>()
  /** The newest look-up of each feed, from which time on it looks, and the round that it belongs to. */
  readonly #lookUps = new Map<string, { round: number; from: number; found: Promise<Found> }>()
  /** The pages that are read at the moment for requests that may wait. */
  readonly #pages = new Map<string, Promise<FeedPage>>()
  /** Whether the service closes. Then nobody waits any more. */
  isClosed = false

  constructor(readonly limits: WaitingLimits) {}

  get size(): number {
    return this.#waits.size
  }

  /**
   * Waits until a feed has a stamp at or after a time, for at most `ms` milliseconds.
   * @param feed identifies the feed
   * @param signal ends the wait when the caller has gone; the promise rejects with its reason
   * @returns whether there is such a stamp
   * @throws Overloaded if too many requests wait, and the error of a look-up that fails
   */
  async wait(
    owner: Owner,
    feed: string,
    lookUp: LookUp,
    { from, ms, signal }: { from: number; ms: number; signal: AbortSignal },
  ): Promise<boolean> {
    const { max, maxPerKey, intervalMs } = this.limits
    const ofOrganisation = [...this.#waits].filter(({ organisation }) => organisation === owner.organisation).length
    const ofKey = [...this.#waits].filter(({ keyId }) => keyId === owner.keyId).length
    // So the organisations that wait already leave room for one that comes later, however many keys they have.
    if (ofOrganisation >= max - this.size || ofKey >= maxPerKey)
      throw new Overloaded('Too many requests are waiting for changes: of this key, of its organisation or in all')
    const ending = new AbortController()
    const wait = { ...owner, feed, from, end: () => ending.abort() }
    this.#waits.add(wait)
    signal.addEventListener('abort', wait.end)
    if (signal.aborted || this.isClosed) wait.end()
    try {
      const until = performance.now() + ms
      for (;;) {
        // All wake up at the same time, at the beginning of a round.
        const now = performance.now()
        const round = Math.floor(now / intervalMs) + 1
        const pauseMs = Math.ceil(Math.min(until, round * intervalMs) - now)
        await sleep(pauseMs, undefined, { signal: ending.signal }).catch(() => {})
        signal.throwIfAborted()
        if (this.isClosed || until <= round * intervalMs) return false
        const found = await this.#found(wait, lookUp, round)
        if ((found.newest ?? Number.NEGATIVE_INFINITY) >= wait.from) return true
        wait.from = Math.max(wait.from, found.from)
      }
    } finally {
      signal.removeEventListener('abort', wait.end)
      this.#waits.delete(wait)
      if (!Array.from(this.#waits).some((other) => other.feed === feed)) this.#lookUps.delete(feed)
    }
  }

  /** Reads a page, or shares the reading of an equal request. Another one reads it if that failed for a reason of its own caller. */
  async page(key: string, ticket: Ticket, read: () => Promise<FeedPage>): Promise<FeedPage> {
    for (let reading = this.#pages.get(key); reading !== undefined; reading = this.#pages.get(key)) {
      const shared = reading.catch((error) => {
        // Each in its turn would find the database as this one did.
        if (error instanceof StoreUnavailable || error instanceof QueryTimeout) throw error
      })
      const page = await ticket.yieldWhile(() => shared)
      if (page !== undefined) return page
    }
    const own = read().finally(() => this.#pages.delete(key))
    this.#pages.set(key, own)
    return own
  }

  /** Ends all waits. A later wait ends at once. */
  close(): void {
    this.isClosed = true
    for (const { end } of this.#waits) end()
  }

  /** What the look-up of a round finds, for all that wait for the feed. */
  #found(wait: { readonly feed: string; readonly from: number }, lookUp: LookUp, round: number): Promise<Found> {
    const last = this.#lookUps.get(wait.feed)
    if (last?.round === round && last.from <= wait.from) return last.found
    const from = Math.min(...Array.from(this.#waits, (other) => (other.feed === wait.feed ? other.from : wait.from)))
    const found = lookUp(from)
    this.#lookUps.set(wait.feed, { round, from, found })
    return found
  }
}

/**
 * The page that follows a cursor. While it would be empty, others run, and it waits for a change up to `waitMs`.
 * @param equal what else two requests have in common that get the same page
 */
export const pageOrWait = async (
  feeds: Feeds,
  feed: Feed,
  cursor: Cursor | undefined,
  perPage: number,
  { ticket, waiting, waitMs, equal }: { ticket: Ticket; waiting: Waiting; waitMs: number; equal: readonly unknown[] },
): Promise<FeedPage> => {
  const until = performance.now() + waitMs
  const { organisation, only } = feed.scope
  const owner = { keyId: ticket.key, organisation }
  const isSettledOnly = cursor?.isSettledOnly ?? false
  const name = JSON.stringify([organisation, feed.collection, isSettledOnly, ...(only ? [only, perPage] : [])])
  const lookUp = async (from: number) => {
    const shared = ticket.shared()
    await shared.start(SMALL)
    return feeds.lookUp(feed, isSettledOnly, from, perPage, shared.reading).finally(() => shared.stop())
  }
  // What was committed after a later stamp had been shown comes when it has settled. No look-up finds it. While the majority
  // lags behind, fresh rows settle later, so the page is read no more often than a look-up.
  const untilSettled = Math.max(feeds.settings.settleMs + 1, waiting.limits.intervalMs)
  let from = cursor
  for (;;) {
    const read = () => feeds.page(feed, from, perPage, ticket.reading)
    // What is written while another request reads would be missing, so only those share who would wait for it.
    const page = waitMs > 0 ? await waiting.page(JSON.stringify([equal, perPage, from]), ticket, read) : await read()
    const left = until - performance.now()
    if (page.items.length > 0 || page.hasMore || left <= 0 || waiting.isClosed) return page
    // In a narrower scope, changes of others are not looked at again.
    from = page.next
    const ms = page.next.fresh === null ? left : Math.min(left, untilSettled)
    const wanted = { from: page.newFrom, ms, signal: ticket.signal }
    const hasChanged = await ticket.yieldWhile(() => waiting.wait(owner, name, lookUp, wanted))
    if (!hasChanged && ms === left) return page
  }
}
