// Measures a store: how long it takes, what is read, and its connections.
import type { Reading, Store } from '../store/store.js'
import type { Metrics } from './catalogue.js'

/** How long after a feed was read its lag is shown. */
const LAG_KNOWN_MS = 5 * 60_000
/** The names of what ends an operation though the database has not failed: no memory for what is read, or a caller who left. */
const NOT_THE_DATABASE = new Set(['Overloaded', 'AbortError'])

export const measuredStore = (store: Store, metrics: Metrics, now = () => performance.now()): Store => {
  /** Runs an operation. What it waits for besides the database is not part of its time. */
  const timed = <T>(operation: string, collection: string | undefined, run: () => Promise<T>, waitedMs = () => 0) => {
    const began = now()
    let failed: string | undefined
    return run()
      .catch((error: Error) => {
        if (!NOT_THE_DATABASE.has(error.name)) failed = error.name
        throw error
      })
      .finally(() =>
        metrics.record('db.client.operation.duration', (now() - began - waitedMs()) / 1000, {
          'db.operation.name': operation,
          ...(collection && { 'db.collection.name': collection }),
          ...(failed && { 'error.type': failed }),
        }),
      )
  }

  const { connections } = store
  if (connections !== undefined) {
    metrics.observe('db.client.connection.count', () => [
      [connections.used, { 'db.client.connection.state': 'used' }],
      [connections.open - connections.used, { 'db.client.connection.state': 'idle' }],
    ])
    metrics.observe('db.client.connection.pending_requests', () => connections.pending)
  }
  let lag = { ms: 0, readAt: Number.NEGATIVE_INFINITY }
  metrics.observe('field_data.feed.lag', () => (now() < lag.readAt + LAG_KNOWN_MS ? lag.ms / 1000 : undefined))

  return {
    ...store,
    async aggregate(query, reading) {
      const { collection } = query
      let bytes = 0
      let waited = 0
      const charge: Reading['charge'] = async (more) => {
        bytes += more
        const since = now()
        await reading?.charge?.(more).finally(() => {
          waited += now() - since
        })
      }
      const labels = { 'db.collection.name': collection }
      const run = () => store.aggregate(query, { ...reading, charge })
      const list = await timed('aggregate', collection, run, () => waited).finally(() =>
        metrics.record('field_data.read', bytes, labels),
      )
      metrics.record('field_data.read.rows', list.documents.length, labels)
      return list
    },
    count: (query) => timed('count', query.collection, () => store.count(query)),
    dangerouslyFind: (collection, id) => timed('find', collection, () => store.dangerouslyFind(collection, id)),
    update: (collection, ...rest) => timed('update', collection, () => store.update(collection, ...rest)),
    async now() {
      const time = await timed('hello', undefined, () => store.now())
      lag = { ms: Math.max(0, time.now - time.majority), readAt: now() }
      return time
    },
    ping: () => timed('ping', undefined, () => store.ping()),
  }
}
