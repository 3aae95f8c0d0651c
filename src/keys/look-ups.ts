// Shares the look-ups of keys: requests with the same key have one look-up, and a flood of unknown keys waits for its turn by
// address, so that it can neither use up all connections nor keep others from looking up theirs.
import { type FairScheduler, SMALL } from '../limits/scheduler.js'
import { StoreUnavailable } from '../store/store.js'

/**
 * Looks up a key by its id, or joins a look-up that the same caller has begun.
 * @param address of the caller, whose turn it waits for; undefined for a key that was verified before: there are few of these
 * @throws Overloaded if it has to wait too long
 */
type LookUp<T> = (keyId: string, address: string | undefined) => Promise<T>

/** A look-up has no caller who leaves: others may have joined it. */
const { signal: NEVER } = new AbortController()

/** @param scheduler without one, nobody waits */
export const sharedLookUp = <T>(find: (keyId: string) => Promise<T>, scheduler?: FairScheduler): LookUp<T> => {
  const shared = new Map<string, Promise<T>>()
  const findInTurn = async (keyId: string, address: string | undefined): Promise<T> => {
    if (scheduler === undefined || address === undefined) return find(keyId)
    const ticket = await scheduler.enter(`address ${address}`, SMALL, NEVER)
    return find(keyId)
      .catch((error) => {
        if (error instanceof StoreUnavailable) scheduler.failAll(error)
        throw error
      })
      .finally(() => ticket.release())
  }
  return (keyId, address) => {
    const name = `${keyId} ${address}`
    const found = shared.get(name) ?? findInTurn(keyId, address).finally(() => shared.delete(name))
    shared.set(name, found)
    return found
  }
}
