// How the work of a request is done: in slices between which other requests go on, and never beyond its end.
import { setImmediate } from 'node:timers/promises'

/**
 * Does work that yields between its slices. Other requests go on there. Work of one slice does not wait.
 * @param signal ends the work after a slice; the promise rejects with its reason
 */
export const runInSlices = async <T>(work: Generator<void, T>, signal?: AbortSignal): Promise<T> => {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
    await setImmediate()
    signal?.throwIfAborted()
  }
}

/** Like Promise.all(), but it waits for all even if one fails, so that nothing of a request runs after its end. */
export const allEnded = async <T extends readonly unknown[]>(
  promises: T,
): Promise<{ -readonly [P in keyof T]: Awaited<T[P]> }> => {
  await Promise.allSettled(promises)
  return Promise.all(promises)
}
