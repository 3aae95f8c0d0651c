// Limits how many requests each key may send in a minute. It begins with the first request, so that not all end together.
import { LRUCache } from 'lru-cache'

export const WINDOW_S = 60
/** The number of keys that are remembered. With more keys at a time, some begin a new window early. */
const KEYS = 10_000

export class Quota {
  /** What is left to each key in its window. */
  readonly #left: LRUCache<string, number>

  constructor(
    /** How much a key may use in each window. */
    readonly most: number,
    /** A clock that nobody can set, in milliseconds. */
    now = () => performance.now(),
  ) {
    this.#left = new LRUCache({ max: KEYS, ttl: WINDOW_S * 1000, ttlResolution: 0, noUpdateTTL: true, perf: { now } })
  }

  /** Uses some of the quota of a key, or gives some back if it is negative. Returns whether there was enough. */
  use(key: string, amount: number): boolean {
    const left = this.#left.get(key) ?? this.most
    if (left < amount) return false
    this.#left.set(key, Math.min(left - amount, this.most))
    return true
  }

  /** How many whole requests a key has left, and the seconds until it has all of them again. */
  state(key: string): { left: number; seconds: number } {
    const left = this.#left.get(key)
    if (left === undefined) return { left: this.most, seconds: WINDOW_S }
    return { left: Math.floor(left), seconds: Math.ceil(this.#left.getRemainingTTL(key) / 1000) }
  }
}
