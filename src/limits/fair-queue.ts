// Limits how many tasks run at once, in all and for each key. While several keys wait, they take turns: each starts one task
// before any of them starts another.

export interface Limits {
  readonly atOnce: number
  /** Called each time, because the limit may change while tasks run. */
  readonly atOncePerKey: () => number
}

export class FairQueue {
  #running = 0
  readonly #runningOf = new Map<string, number>()
  /** The keys that wait, in the order of their turns, each with its tasks. */
  readonly #waiting = new Map<string, Set<() => void>>()

  constructor(readonly limits: Limits) {}

  /**
   * Starts a task by calling `begin`: now, or when it is the key's turn. A task that was started ends with leave().
   * @returns whether the task was started now
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

  /** Removes a task that waits. */
  withdraw(key: string, begin: () => void): void {
    const begins = this.#waiting.get(key)
    begins?.delete(begin)
    if (begins?.size === 0) this.#waiting.delete(key)
  }

  /** Ends a task that was started, so that the next one can start. */
  leave(key: string): void {
    const left = (this.#runningOf.get(key) as number) - 1
    this.#running -= 1
    if (left === 0) this.#runningOf.delete(key)
    else this.#runningOf.set(key, left)
    while (this.#beginNext());
  }

  /** Starts the next task that may run; returns whether there was one. */
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
