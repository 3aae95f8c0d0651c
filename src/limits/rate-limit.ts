// Limits how many requests each key may send in a minute. The minute of a key begins with its first request, so that those of
// several keys do not end at the same moment.
import { LRUCache } from 'lru-cache'

/** How long a window is, in seconds. */
export const WINDOW_S = 60
/** The keys that are remembered. With more keys at a time, some begin a new window early. */
const KEYS = 10_000

interface Window {
  left: number
  /** In milliseconds of the clock. */
  readonly end: number
}

export class RateLimit {
  readonly #windows = new LRUCache<string, Window>({ max: KEYS })

  /**
   * @param quota how much a key may use in each window
   * @param now a clock that nobody can set, in milliseconds
   */
  constructor(
    readonly quota: number,
    readonly now: () => number = () => performance.now(),
  ) {}

  /** Uses some of the quota of a key, or gives some back if it is negative. Returns whether there was enough. */
  use(key: string, amount: number): boolean {
    const window = this.#windowOf(key)
    if (window.left < amount) return false
    window.left = Math.min(window.left - amount, this.quota)
    return true
  }

  /** How many whole requests a key has left, and the seconds until it has all of them again. */
  state(key: string): { left: number; seconds: number } {
    const { left, end } = this.#windowOf(key)
    return { left: Math.floor(left), seconds: Math.ceil((end - this.now()) / 1000) }
  }

  #windowOf(key: string): Window {
    const known = this.#windows.get(key)
    const now = this.now()
    if (known !== undefined && now < known.end) return known
    const window = { left: this.quota, end: now + WINDOW_S * 1000 }
    this.#windows.set(key, window)
    return window
  }
}
