// The clock of the database, which sets the stamps of all records. A reading that was kept would hide what was committed
// since, so every request has one that was taken after it began. Requests at the same time share it.
import type { DatabaseTime, Store } from '../core/store/store.js'

export type Clock = () => Promise<DatabaseTime>

/** How much faster than the clock of this process the database's clock may go from one reading to the next. */
const TOLERANCE_MS = 2000

/** The time of the database. A reading that is ahead of what this process expects is taken again. */
export const databaseClock = (store: Pick<Store, 'now'>, elapsed = () => performance.now()): Clock => {
  let latest = Number.NEGATIVE_INFINITY
  let readAt = 0
  let running: Promise<DatabaseTime> | undefined
  let next: Promise<DatabaseTime> | undefined

  const read = async (): Promise<DatabaseTime> => {
    const first = await store.now()
    // The second one counts: a single wrong one would let a cursor pass writes that come later.
    const time = first.now > latest + elapsed() - readAt + TOLERANCE_MS ? await store.now() : first
    latest = time.now
    readAt = elapsed()
    return time
  }
  const begin = (): Promise<DatabaseTime> => {
    next = undefined
    running = read().finally(() => {
      running = undefined
    })
    return running
  }
  const fail = (error: unknown): never => {
    next = undefined
    throw error
  }
  return () => {
    if (running === undefined) return begin()
    next ??= running.then(begin, fail)
    return next
  }
}
