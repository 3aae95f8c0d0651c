// Measures a store: how long it takes, what is read, and its connections.
import type { Reading, Store } from '../store/store.js'
import type { Metrics } from './catalogue.js'

/**
 * A store that is measured.
 * @param settleMs how long the change feed holds changes back
 * @param now a clock in milliseconds
 */
export const measuredStore = (
  store: Store,
  metrics: Metrics,
  settleMs: number,
  now = () => performance.now(),
): Store => {
  /** Runs an operation. What it waits for besides the database is not part of its time. */
  const timed = async <T>(
    operation: string,
    collection: string | undefined,
    run: () => Promise<T>,
    waitedMs = () => 0,
  ): Promise<T> => {
    const began = now()
    const end = (failed: { 'error.type'?: string }): void => {
      const labels = {
        'db.operation.name': operation,
        ...(collection && { 'db.collection.name': collection }),
        ...failed,
      }
      metrics.record('db.client.operation.duration', (now() - began - waitedMs()) / 1000, labels)
    }
    try {
      const result = await run()
      end({})
      return result
    } catch (error) {
      end({ 'error.type': (error as Error).name })
      throw error
    }
  }

  const connections = store.watchConnections?.()
  if (connections !== undefined) {
    metrics.observe('db.client.connection.count', () => [
      [connections.used, { 'db.client.connection.state': 'used' }],
      [connections.open - connections.used, { 'db.client.connection.state': 'idle' }],
    ])
    metrics.observe('db.client.connection.max', () => connections.max)
    metrics.observe('db.client.connection.pending_requests', () => connections.pending)
  }
  let lagMs: number | undefined
  metrics.observe('field_data.feed.lag', () => lagMs && lagMs / 1000)

  return {
    ...store,
    async aggregate(query, reading) {
      const { collection } = query
      let bytes = 0
      let waited = 0
      const onBytes: Reading['onBytes'] = async (more) => {
        bytes += more
        const began = now()
        await reading?.onBytes?.(more)
        waited += now() - began
      }
      const labels = { 'db.collection.name': collection }
      const run = () => store.aggregate(query, { ...reading, onBytes })
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
      lagMs = Math.max(0, time.now - time.majority) + settleMs
      return time
    },
    ping: () => timed('ping', undefined, () => store.ping()),
  }
}
