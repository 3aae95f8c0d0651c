// Logs when the database cannot be reached: one line for an outage and one for its end, however many requests fail. What
// fails because the store was closed is no outage. What waits is told at once: it would fail, one task after the other.
import { type Store, StoreUnavailable } from './store.js'

/** Outages are logged at most this often. A database that fails now and then would fill the log. */
const INTERVAL_MS = 10_000

interface Log {
  warn(details: object, message: string): void
  info(message: string): void
}

/** @param onFailure gets the error of each operation that cannot reach the database @param now a clock in ms */
export const watchOutages = (
  store: Store,
  log: Log,
  onFailure: (error: StoreUnavailable) => void,
  now = () => performance.now(),
): Store => {
  let isDown = false
  let isClosed = false
  let logged = Number.NEGATIVE_INFINITY

  const watched =
    <A extends unknown[], R>(operation: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      // An operation that began before the outage does not tell that it is over.
      const beganDown = isDown
      try {
        const result = await operation(...args)
        if (beganDown && isDown) {
          isDown = false
          log.info('the database can be reached again')
        }
        return result
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
        onFailure(error)
        if (!isDown && !isClosed && now() - logged >= INTERVAL_MS) {
          isDown = true
          logged = now()
          const reason = (error.cause as Error).message
          log.warn({ reason }, 'the database cannot be reached: requests fail with 503 until it can')
        }
        throw error
      }
    }

  return {
    ...store,
    aggregate: watched(store.aggregate),
    count: watched(store.count),
    dangerouslyFind: watched(store.dangerouslyFind),
    update: watched(store.update),
    now: watched(store.now),
    ensureIndexes: watched(store.ensureIndexes),
    ping: watched(store.ping),
    close() {
      isClosed = true
      return store.close()
    },
  }
}
