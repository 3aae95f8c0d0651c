// A cache for the totals of lists. Counting reads every match, so it gets slower as the data grows. A total is kept for
// twenty times as long as it took to count. So counting takes at most about a twentieth of the time, and small totals,
// which are quick to count, stay exact.
import { LRUCache } from 'lru-cache'
import type { Query } from '../pipelines/stages.js'
import type { KeptTotals, Store } from './store.js'

const AGE_PER_COST = 20
const KEPT_TOTALS = 10_000
/** A count that takes less is quick, in milliseconds. */
const QUICK_MS = 20

/**
 * A store that caches its counts. Equal counts at the same time run once.
 * @param maxAgeMs the maximum age of a total in milliseconds; 0 turns the cache off
 * @param now a clock in milliseconds
 */
export const keepTotals = (store: Store, maxAgeMs: number, now = () => performance.now()): Store & KeptTotals => {
  const totals = new LRUCache<string, { total: number; at: number; ms: number }, Query>({
    max: KEPT_TOTALS,
    ttl: 1,
    ttlResolution: 0,
    perf: { now },
    // A count that other totals push out while it runs still ends with its total.
    ignoreFetchAbort: true,
    fetchMethod: async (_key, _stale, { options, context: query }) => {
      const start = now()
      const total = await store.count(query)
      const ms = now() - start
      options.ttl = Math.min(maxAgeMs, Math.ceil(AGE_PER_COST * ms))
      return { total, at: start, ms }
    },
  })
  // The organisation is part of the match, so organisations never share a total.
  const keyOf = ({ collection, match }: Query): string => JSON.stringify([collection, match])
  const count = async (query: Query): Promise<number> => {
    const { total } = (await totals.fetch(keyOf(query), { context: query })) as { total: number }
    return total
  }
  const isQuick = (query: Query): boolean => {
    const key = keyOf(query)
    return totals.has(key) || (totals.peek(key, { allowStale: true })?.ms ?? QUICK_MS) < QUICK_MS
  }
  const keptTotals = () => {
    let kept = 0
    let oldest: number | undefined
    for (const { at } of totals.values()) {
      kept += 1
      oldest = Math.min(oldest ?? at, at)
    }
    return { kept, oldestMs: oldest === undefined ? undefined : now() - oldest }
  }
  return { ...store, ...(maxAgeMs > 0 && { count }), keptTotals, isQuick }
}
