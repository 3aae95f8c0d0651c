// Limits how many tasks run at once, in all and for each key. While several keys wait, they take turns: each starts one task
// before any of them starts another.
import { Counts } from './counts.js'
import { Overloaded } from './overloaded.js'

export interface Limits {
  readonly atOnce: number
  /** Called each time, because the limit may change while tasks run. */
  readonly atOncePerKey: () => number
  /** How many tasks of a key may wait, and how long each of them, in milliseconds. */
  readonly waitingPerKey?: number
  readonly waitMs: number
  /** What a caller is told whose task cannot wait any longer. */
  readonly refusal: string
  /** Told how long a task has waited, in milliseconds, also of one that fails. */
  readonly onWaited?: ((ms: number) => void) | undefined
}

/** How many tasks may run at once with a part of something. */
export const partOf = (whole: number, part: number): number => Math.max(1, Math.floor(whole * part))

/** Ends a task, so that the next one can start. Only the first call counts. */
export type Leave = () => void

interface Waiter {
  readonly since: number
  begin(leave: Leave): void
  fail(reason: unknown): void
}

export class FairQueue {
  readonly #running = new Counts()
  /** The keys that wait, in the order of their turns, each with its tasks. */
  readonly #waiting = new Map<string, Set<Waiter>>()

  constructor(readonly limits: Limits) {}

  /** How many tasks run. */
  get running(): number {
    return this.#running.total
  }

  /** How many tasks wait. */
  get waiting(): number {
    return [...this.#waiting.values()].reduce((sum, waiters) => sum + waiters.size, 0)
  }

  /**
   * Waits for the turn of a task. The task begins when the promise resolves, and ends when it calls the function that the
   * promise gives.
   * @param signal ends the wait; the promise rejects with its reason
   * @param waitMs how long it waits at the most, by default as long as all tasks
   * @throws Overloaded if the task would wait too long or behind too many of its key, and the error of failAll()
   */
  async enter(key: string, signal?: AbortSignal, waitMs = this.limits.waitMs): Promise<Leave> {
    signal?.throwIfAborted()
    return this.#hasPlace(key) ? this.#begin(key) : this.#wait(key, waitMs, signal)
  }

  /** For how long the first task of a key has waited, in milliseconds. */
  waitOf(key: string): number {
    const [first] = this.#waiting.get(key) ?? []
    return first === undefined ? 0 : performance.now() - first.since
  }

  /** Fails all tasks that wait. */
  failAll(error: unknown): void {
    for (const waiter of [...this.#waiting.values()].flatMap((waiters) => [...waiters])) waiter.fail(error)
  }

  #wait(key: string, waitMs: number, signal?: AbortSignal): Promise<Leave> {
    const { waitingPerKey = Number.POSITIVE_INFINITY, refusal } = this.limits
    const waiters = this.#waiting.get(key) ?? new Set()
    if (waiters.size >= waitingPerKey) throw new Overloaded(refusal)
    this.#waiting.set(key, waiters)
    const since = performance.now()
    return new Promise((resolve, reject) => {
      const end = (): void => {
        this.limits.onWaited?.(performance.now() - since)
        clearTimeout(timer)
        signal?.removeEventListener('abort', leave)
        waiters.delete(waiter)
        if (waiters.size === 0) this.#waiting.delete(key)
      }
      const waiter: Waiter = {
        since,
        begin(leave) {
          end()
          resolve(leave)
        },
        fail(reason) {
          end()
          reject(reason)
        },
      }
      const leave = (): void => waiter.fail(signal?.reason)
      const timer = setTimeout(() => waiter.fail(new Overloaded(refusal)), waitMs)
      signal?.addEventListener('abort', leave)
      waiters.add(waiter)
    })
  }

  #begin(key: string): Leave {
    this.#running.add(key, 1)
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#running.add(key, -1)
      while (this.#beginNext());
    }
  }

  /** Starts the next task that may run; returns whether there was one. */
  #beginNext(): boolean {
    for (const [key, waiters] of this.#waiting) {
      const [waiter] = waiters
      if (waiter === undefined || !this.#hasPlace(key)) continue
      waiter.begin(this.#begin(key))
      // The key's next task waits behind those of all other keys.
      if (this.#waiting.delete(key)) this.#waiting.set(key, waiters)
      return true
    }
    return false
  }

  #hasPlace(key: string): boolean {
    const { atOnce, atOncePerKey } = this.limits
    return this.#running.total < atOnce && this.#running.of(key) < atOncePerKey()
  }
}
