// Keeps what lists count. Counting reads every match, so it is what grows with the data: a total may be as old as twenty
// times what it cost, so that counting never takes more than about a twentieth of the time and small totals stay exact.
import { LRUCache } from 'lru-cache'
import type { Query } from '../pipelines/stages.js'
import type { Store } from './store.js'

const AGE_PER_COST = 20
const KEPT_TOTALS = 10_000

/**
 * A store whose equal counts are made once: those that are asked for at the same time, and later ones for a while.
 * @param maxAgeMs how old a total may be at the most, in milliseconds; 0 counts every time
 * @param now a clock, in milliseconds
 */
export const keepTotals = (store: Store, maxAgeMs: number, now = () => performance.now()): Store => {
  const totals = new LRUCache<string, number, Query>({
    max: KEPT_TOTALS,
    ttl: 1,
    ttlResolution: 0,
    perf: { now },
    fetchMethod: async (_key, _stale, { options, context: query }) => {
      const start = now()
      const total = await store.count(query)
      options.ttl = Math.min(maxAgeMs, Math.ceil(AGE_PER_COST * (now() - start)))
      return total
    },
  })
  const count = async (query: Query): Promise<number> => {
    // The organisation is part of the match, so no total is another's.
    const key = JSON.stringify([query.collection, query.match])
    return (await totals.fetch(key, { context: query })) as number
  }
  return maxAgeMs === 0 ? store : { ...store, count }
}
