// Limits how many keys are looked up in the database at once. Requests with the same key share one look-up, and a flood of
// unknown keys can neither use up all connections nor keep others from looking up theirs.
import { FairQueue, partOf } from '../limits/fair-queue.js'
import { QueryTimeout, StoreUnavailable } from '../store/store.js'

/** A quarter of what the database runs at once may be look-ups, and a half of these from one address. */
const PART_OF_STORE = 1 / 4
const PART_PER_ADDRESS = 1 / 2
/** How many look-ups from one address wait, and for how long. */
const WAITING_PER_ADDRESS = 1000
const WAIT_MS = 5000

/**
 * Looks up a key by its id, or joins a look-up that the same caller has begun.
 * @param address of the caller. Callers with different addresses take turns. Undefined for a key that was verified before:
 * of these there are not many, so they wait for nothing
 * @throws Overloaded if too many look-ups from the address wait
 */
type LookUp<T> = (keyId: string, address: string | undefined) => Promise<T>

/** @param capacity how many operations the database runs at once */
export const limitedLookUp = <T>(find: (keyId: string) => Promise<T>, capacity: number): LookUp<T> => {
  const shared = new Map<string, Promise<T>>()
  const atOnce = partOf(capacity, PART_OF_STORE)
  const queue = new FairQueue({
    atOnce,
    atOncePerKey: () => partOf(atOnce, PART_PER_ADDRESS),
    waitingPerKey: WAITING_PER_ADDRESS,
    waitMs: WAIT_MS,
    refusal: 'Too many keys are being looked up',
  })

  /** When the database is away, all fail at once. Otherwise each look-up would time out after the other. */
  const failAll = (error: unknown): never => {
    if (error instanceof StoreUnavailable || error instanceof QueryTimeout) queue.failAll(error)
    throw error
  }

  const findInTurn = async (keyId: string, address: string): Promise<T> => {
    const leave = await queue.enter(address)
    return find(keyId).catch(failAll).finally(leave)
  }

  return (keyId, address) => {
    const name = `${keyId} ${address}`
    const found =
      shared.get(name) ??
      (address === undefined ? find(keyId) : findInTurn(keyId, address)).finally(() => shared.delete(name))
    shared.set(name, found)
    return found
  }
}
