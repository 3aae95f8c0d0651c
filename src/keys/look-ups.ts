// Limits how many keys are looked up in the database at once. Requests with the same key share one look-up, and a flood of
// unknown keys can neither use up all connections nor queue without end.
import { QueryTimeout, StoreUnavailable } from '../store/store.js'

const MAX_RUNNING = 32
const MAX_WAITING = 1000

/**
 * Looks up a key by its id, or joins a look-up of the same key that is running.
 * @param immediately skips the queue. This is for keys that were verified before, of which there are not many.
 * @throws StoreUnavailable when the queue is full
 */
export type LookUp<T> = (keyId: string, immediately: boolean) => Promise<T>

interface Waiting {
  start(): void
  fail(error: unknown): void
}

export const limitedLookUp = <T>(find: (keyId: string) => Promise<T>): LookUp<T> => {
  const shared = new Map<string, Promise<T>>()
  const queue: Waiting[] = []
  let running = 0

  const acquire = async (): Promise<void> => {
    if (running < MAX_RUNNING) {
      running += 1
      return
    }
    if (queue.length === MAX_WAITING) {
      throw new StoreUnavailable(new Error(`${MAX_WAITING} keys are waiting to be looked up already`))
    }
    await new Promise<void>((start, fail) => queue.push({ start, fail }))
  }

  /** Hands the place of a finished look-up to the next in the queue. */
  const release = (): void => {
    const next = queue.shift()
    if (next === undefined) running -= 1
    else next.start()
  }

  /** When the database is away, the whole queue fails at once. Otherwise each look-up would time out after the other. */
  const failQueue = (error: unknown): never => {
    if (error instanceof StoreUnavailable || error instanceof QueryTimeout) {
      for (const { fail } of queue.splice(0)) fail(error)
    }
    throw error
  }

  const findInTurn = async (keyId: string): Promise<T> => {
    await acquire()
    return find(keyId).catch(failQueue).finally(release)
  }

  return (keyId, immediately) => {
    const found = shared.get(keyId) ?? (immediately ? find : findInTurn)(keyId).finally(() => shared.delete(keyId))
    shared.set(keyId, found)
    return found
  }
}
