// The clock of the database, which sets the stamps of all records. It is read at most once a second for all requests of
// the process. A value that is some time old only delays what a feed shows; a value that was read after the rows could
// hide rows.
import type { Store } from '../store/store.js'

export type Clock = () => Promise<number>

/**
 * The time of the database in milliseconds. It never goes back.
 * @param maxAgeMs how old a value may be
 * @param elapsed a clock of this process in milliseconds
 */
export const databaseClock = (
  store: Pick<Store, 'now'>,
  maxAgeMs: number,
  elapsed = () => performance.now(),
): Clock => {
  let latest = Number.NEGATIVE_INFINITY
  let begun = Number.NEGATIVE_INFINITY
  let reading: Promise<number> | undefined
  const read = async (): Promise<number> => {
    try {
      latest = Math.max(latest, (await store.now()).getTime())
      return latest
    } catch (error) {
      reading = undefined
      throw error
    }
  }
  return () => {
    if (reading === undefined || elapsed() - begun >= maxAgeMs) {
      begun = elapsed()
      reading = read()
    }
    return reading
  }
}
