// How the work of a request is done: in steps between which other requests have their turn, and never beyond its end.
import { setImmediate } from 'node:timers/promises'

/**
 * Does work that yields between its steps. Other requests have their turn at each of them.
 * @param signal ends the work at the next step; the promise rejects with its reason
 */
export const inTurns = async <T>(work: Generator<void, T>, signal?: AbortSignal): Promise<T> => {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
    await setImmediate()
    signal?.throwIfAborted()
  }
}

/** Does the same work without a pause, for when there is little of it. */
export const atOnce = <T>(work: Generator<void, T>): T => {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
  }
}

/** Like Promise.all(), but it waits for all even if one fails, so that nothing of a request runs after its end. */
export const allEnded = async <T extends readonly unknown[]>(
  promises: T,
): Promise<{ -readonly [P in keyof T]: Awaited<T[P]> }> => {
  await Promise.allSettled(promises)
  return Promise.all(promises)
}
