// Shares the look-ups of keys: requests with the same key have one look-up, and a flood of unknown keys waits for its turn by
// address, so that it can neither use up all connections nor keep others from looking up theirs.
import { ownText } from '../bson/values.js'
import { type FairScheduler, SMALL } from '../limits/scheduler.js'

/**
 * Makes a function that looks up a key by its id, or joins a look-up that the same caller has begun. It takes the address of
 * the caller, or undefined for a key that was verified before: these are few, and do not wait. It throws Overloaded if it has
 * to wait too long.
 * @param scheduler without it, nobody waits
 */
export const sharedLookUp = <T>(find: (keyId: string) => Promise<T>, scheduler?: FairScheduler) => {
  const shared = new Map<string, Promise<T>>()
  const findInTurn = async (keyId: string, address: string | undefined): Promise<T> => {
    if (scheduler === undefined || address === undefined) return find(keyId)
    // An address may be a part of a long header, which the scheduler would keep with it.
    const ticket = await scheduler.enter(ownText(`address ${address}`), SMALL)
    return find(keyId).finally(() => ticket.release())
  }
  return (keyId: string, address: string | undefined): Promise<T> => {
    const name = `${keyId} ${address}`
    const found = shared.get(name) ?? findInTurn(keyId, address).finally(() => shared.delete(name))
    shared.set(name, found)
    return found
  }
}
