// A cache for the totals of lists, and for what else is read of all records that match. A total stays for twenty times as long
// as it took to count. So counting takes at most about a twentieth of the time, and small totals, which are quick to count,
// stay exact. A failure that would come again, such as a timeout, stays too, for a moment.
import { LRUCache } from 'lru-cache'
import { ProblemError } from '../problems/problems.js'
import { type Cache, QueryTimeout, type Read, type Store, type Timed } from './store.js'

const AGE_PER_COST = 20
/** How long a failure stays at the most, whatever it cost. */
const FAILURE_MS = 1000
/** How many bytes all results may take, which say how large they are, and what each takes besides. */
const MAX_BYTES = 16 * 1024 * 1024
const BYTES_BESIDES = 1024
interface Result {
  readonly value?: unknown
  readonly failure?: Error
}
/** What takes less is quick, in milliseconds. Of so many keys it is known whether they are. */
const [QUICK_MS, KNOWN] = [20, 10_000]

/**
 * A store with a cache. Equal reads at the same time run once.
 * @param maxAgeMs the maximum age of a result in milliseconds; 0 turns the cache off
 * @param now a clock in milliseconds
 */
export const withCache = (store: Store, maxAgeMs: number, now = () => performance.now()): Store & Cache => {
  const results = new LRUCache<string, Result>({
    maxSize: MAX_BYTES,
    sizeCalculation: ({ value }) => BYTES_BESIDES + Math.ceil((value as { bytes?: number } | undefined)?.bytes ?? 0),
    ttl: 1,
    ttlResolution: 0,
    // What is stale goes, also if nobody asks for it again.
    ttlAutopurge: true,
    perf: { now },
  })
  const running = new Map<string, Promise<Result>>()
  const quick = new LRUCache<string, boolean>({ max: KNOWN })
  const readNow = async (key: string, read: Read<unknown>): Promise<Result> => {
    let ms = 0
    const timed: Timed = async (work) => {
      const start = now()
      return work().finally(() => {
        ms += now() - start
      })
    }
    // What took too long or was too much would be so again.
    const result: Result = await read(timed).then(
      (value) => ({ value }),
      (failure: unknown) => {
        const isLasting = failure instanceof QueryTimeout || (failure instanceof ProblemError && failure.status === 400)
        if (isLasting) return { failure }
        throw failure
      },
    )
    quick.set(key, ms < QUICK_MS)
    const longest = result.failure === undefined ? maxAgeMs : Math.min(maxAgeMs, FAILURE_MS)
    // A time to live of 0 would mean for ever.
    results.set(key, result, { ttl: Math.min(longest, Math.max(1, Math.ceil(AGE_PER_COST * ms))) })
    return result
  }
  const cached = async <T>(key: string, read: Read<T>): Promise<T> => {
    if (maxAgeMs === 0) return read((work) => work())
    let result = results.get(key) ?? running.get(key)
    if (result === undefined) {
      result = readNow(key, read).finally(() => running.delete(key))
      running.set(key, result)
    }
    const { value, failure } = await result
    if (failure !== undefined) throw failure
    return value as T
  }
  const isQuick = (key: string): boolean => results.has(key) || quick.get(key) === true
  return { ...store, cached, isQuick }
}
