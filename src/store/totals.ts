// A cache for the totals of lists, and for what else is read of all records that match. Counting reads every match, so it
// gets slower as the data grows. A total is kept for twenty times as long as it took to count. So counting takes at most about
// a twentieth of the time, and small totals, which are quick to count, stay exact. That one took too long or was too much is
// kept too.
import { LRUCache } from 'lru-cache'
import type { Query } from '../pipelines/stages.js'
import { ProblemError } from '../problems/problems.js'
import { type KeptTotals, QueryTimeout, type Read, type Store, type Timed } from './store.js'

const AGE_PER_COST = 20
/** How many bytes are kept, of results that say how large they are, and what each result takes besides. */
const KEPT_BYTES = 16 * 1024 * 1024
const BYTES_BESIDES = 1024
type Sized = Readonly<Record<'bytes', number>>
/** A total, or that it took too long or was too much. */
interface Result {
  readonly total?: unknown
  readonly failure?: Error
  readonly ms: number
}
/** A count that takes less is quick, in milliseconds. */
const QUICK_MS = 20

/**
 * A store that caches its counts. Equal counts at the same time run once.
 * @param maxAgeMs the maximum age of a total in milliseconds; 0 turns the cache off
 * @param now a clock in milliseconds
 */
export const keepTotals = (store: Store, maxAgeMs: number, now = () => performance.now()): Store & KeptTotals => {
  const totals = new LRUCache<string, Result, Read<unknown>>({
    maxSize: KEPT_BYTES,
    sizeCalculation: ({ total }, key) => BYTES_BESIDES + key.length + ((total as Sized | undefined)?.bytes ?? 0),
    ttl: 1,
    ttlResolution: 0,
    perf: { now },
    // A count that other totals push out while it runs still ends with its total.
    ignoreFetchAbort: true,
    fetchMethod: async (_key, _stale, { options, context: read }) => {
      let ms = 0
      const timed: Timed = async (work) => {
        const start = now()
        return work().finally(() => {
          ms += now() - start
        })
      }
      // What took too long or was too much would be so again.
      const result = await read(timed).then(
        (total) => ({ total }),
        (failure: unknown) => {
          const isLasting =
            failure instanceof QueryTimeout || (failure instanceof ProblemError && failure.status === 400)
          if (isLasting) return { failure }
          throw failure
        },
      )
      options.ttl = Math.min(maxAgeMs, Math.ceil(AGE_PER_COST * ms))
      return { ...result, ms }
    },
  })
  // The organisation is part of the match, so organisations never share a total.
  const keyOf = ({ collection, match, stages }: Query): string => JSON.stringify([collection, match, stages])
  const keep = async <T>(query: Query, read: Read<T>): Promise<T> => {
    if (maxAgeMs === 0) return read((work) => work())
    const { total, failure } = (await totals.fetch(keyOf(query), { context: read })) as Result
    if (failure !== undefined) throw failure
    return total as T
  }
  const isQuick = (query: Query): boolean => {
    const key = keyOf(query)
    return totals.has(key) || (totals.peek(key, { allowStale: true })?.ms ?? QUICK_MS) < QUICK_MS
  }
  return { ...store, keep, isQuick }
}
