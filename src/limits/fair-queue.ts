// Lets work begin in turn: so much at once in all and for each key. Where several keys wait, each begins one piece of work
// before any of them begins another.

export interface Limits {
  readonly atOnce: number
  /** It may change while work is under way. */
  readonly atOncePerKey: () => number
}

export class FairQueue {
  #running = 0
  readonly #runningOf = new Map<string, number>()
  /** The keys that wait, in the order of their turns, each with what it waits to begin. */
  readonly #waiting = new Map<string, Set<() => void>>()

  constructor(readonly limits: Limits) {}

  /**
   * Calls `begin` now, or when it is the key's turn. What has begun ends with leave().
   * @returns whether it has begun
   */
  enter(key: string, begin: () => void): boolean {
    if (this.#hasPlace(key)) {
      this.#begin(key, begin)
      return true
    }
    const begins = this.#waiting.get(key)
    if (begins === undefined) this.#waiting.set(key, new Set([begin]))
    else begins.add(begin)
    return false
  }

  /** Takes back a `begin` that was not called yet. */
  withdraw(key: string, begin: () => void): void {
    const begins = this.#waiting.get(key)
    begins?.delete(begin)
    if (begins?.size === 0) this.#waiting.delete(key)
  }

  leave(key: string): void {
    const left = (this.#runningOf.get(key) as number) - 1
    this.#running -= 1
    if (left === 0) this.#runningOf.delete(key)
    else this.#runningOf.set(key, left)
    while (this.#beginNext());
  }

  /** @returns whether there was a key whose turn it is */
  #beginNext(): boolean {
    for (const [next, begins] of this.#waiting) {
      const [begin] = begins
      if (begin === undefined || !this.#hasPlace(next)) continue
      this.#waiting.delete(next)
      begins.delete(begin)
      if (begins.size > 0) this.#waiting.set(next, begins)
      this.#begin(next, begin)
      return true
    }
    return false
  }

  #hasPlace(key: string): boolean {
    const { atOnce, atOncePerKey } = this.limits
    return this.#running < atOnce && (this.#runningOf.get(key) ?? 0) < atOncePerKey()
  }

  #begin(key: string, begin: () => void): void {
    this.#running += 1
    this.#runningOf.set(key, (this.#runningOf.get(key) ?? 0) + 1)
    begin()
  }
}
