// Tickets for what runs as a task of the scheduler, and readers that have one.
import { FairScheduler, SMALL, type Ticket } from '../../src/core/limits/scheduler.js'
import type { Scope } from '../../src/core/pipelines/stages.js'
import { Reader } from '../../src/core/read/reader.js'
import { withCache } from '../../src/core/store/cache.js'
import type { Store } from '../../src/core/store/store.js'

/** A scheduler whose tasks begin at once, each as the only one of its size. */
export const oneAtATime = (): FairScheduler => {
  const one = { all: 1, perKey: 1 }
  const memory = { all: 2 ** 30, partOfLeft: 1 }
  return new FairScheduler({ small: one, large: one, memory, waitMs: 10_000 })
}

/** A running ticket of a scheduler. */
export const testTicket = (
  scheduler = oneAtATime(),
  signal: AbortSignal = new AbortController().signal,
): Promise<Ticket> => scheduler.start('key', SMALL, signal)

/** A reader of a store with a running ticket. Nothing is kept from one reader to the next. */
export const testReader = async (store: Store, scope: Scope, scheduler?: FairScheduler): Promise<Reader> =>
  new Reader(withCache(store, 30_000), scope, await testTicket(scheduler))
