// How the work of a request is done: in slices between which other requests go on, and never beyond its end.
import { setImmediate } from 'node:timers/promises'

/** Does work that yields between its slices, where other requests go on, and the signal may end it with its reason. */
export const runInSlices = async <T>(work: Generator<void, T>, signal?: AbortSignal): Promise<T> => {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
    await setImmediate()
    signal?.throwIfAborted()
  }
}

/** A slice is so much work: as much as so many characters. What is gone through is as much work as a hundred, besides its text. */
const SLICE = 256 * 1024
const THING = 100

/** A function that is told what is gone through, and says when a slice of some milliseconds is over. */
export const slices = (): ((text?: string) => boolean) => {
  let done = 0
  return (text = '') => {
    done += THING + text.length
    if (done < SLICE) return false
    done = 0
    return true
  }
}

/** How many things are sorted in a slice, besides the first ones. */
const SORTED = 1000

/** The first of many things in an order, found in slices. */
export function* firstOf<T>(all: Iterable<T>, order: (a: T, b: T) => number, most: number): Generator<void, T[]> {
  const first: T[] = []
  let added = 0
  for (const each of all) {
    first.push(each)
    added += 1
    if (added % SORTED > 0) continue
    first.sort(order).splice(most)
    yield
  }
  first.sort(order).splice(most)
  return first
}

/** Like Promise.all(), but it waits for all even if one fails, so that nothing of a request runs after its end. */
export const allEnded = async <T extends readonly unknown[]>(promises: T) => {
  await Promise.allSettled(promises)
  return Promise.all(promises)
}
