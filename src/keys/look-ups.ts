// The look-ups of keys in the database: each key is looked up once, however many requests wait for it, and a flood of keys
// that nobody has seen before neither takes all connections nor waits without end.
import { QueryTimeout, StoreUnavailable } from '../store/store.js'

/** How many keys are looked up at once at the most, and how many wait for their turn. */
const MOST_UNDER_WAY = 32
const MOST_WAITING = 1000

/**
 * Looks a key up; a look-up of the same key that is under way is shared.
 * @param atOnce does not wait for a turn: for keys of which there are not many, since they were verified before
 * @throws StoreUnavailable when too many wait already
 */
export type LookUp<T> = (keyId: string, atOnce: boolean) => Promise<T>

interface Turn {
  begin(): void
  giveUp(error: unknown): void
}

export const lookUpsBy = <T>(find: (keyId: string) => Promise<T>): LookUp<T> => {
  const shared = new Map<string, Promise<T>>()
  const waiting: Turn[] = []
  let underWay = 0

  const turn = async (): Promise<void> => {
    if (underWay < MOST_UNDER_WAY) {
      underWay += 1
      return
    }
    if (waiting.length === MOST_WAITING) {
      throw new StoreUnavailable(new Error(`${MOST_WAITING} keys wait for their look-up already`))
    }
    await new Promise<void>((begin, giveUp) => waiting.push({ begin, giveUp }))
  }

  /** Those who wait would meet the same outage, one after the other, each after its own time. */
  const tellOutage = (error: unknown): never => {
    if (error instanceof StoreUnavailable || error instanceof QueryTimeout) {
      for (const { giveUp } of waiting.splice(0)) giveUp(error)
    }
    throw error
  }

  const passOn = (): void => {
    const next = waiting.shift()
    if (next === undefined) underWay -= 1
    else next.begin()
  }

  const inTurn = async (keyId: string): Promise<T> => {
    await turn()
    return find(keyId).catch(tellOutage).finally(passOn)
  }

  return (keyId, atOnce) => {
    const found = shared.get(keyId) ?? (atOnce ? find : inTurn)(keyId).finally(() => shared.delete(keyId))
    shared.set(keyId, found)
    return found
  }
}
