// Tickets for what runs as a task of the scheduler.
import { FairScheduler, SMALL, type Ticket } from '../../src/limits/scheduler.js'

/** A scheduler whose tasks begin at once, each as the only one of its size. */
export const oneAtATime = (): FairScheduler => {
  const one = { all: 1, perKey: 1 }
  const memory = { all: 2 ** 30, perKey: 2 ** 30 }
  return new FairScheduler({ small: one, large: one, memory, waitMs: 10_000 })
}

/** A running ticket of a scheduler. */
export const testTicket = (
  scheduler = oneAtATime(),
  signal: AbortSignal = new AbortController().signal,
): Promise<Ticket> => scheduler.enter('key', SMALL, signal)
