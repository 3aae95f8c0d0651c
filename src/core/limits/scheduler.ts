// Decides which task starts next, by start-time fair queueing (Goyal, Vin and Cheng, 1996): each key pays in bytes for what its
// tasks cost, and the waiting task whose key has paid least starts. Few large tasks run at once.
import { setImmediate } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'

/** A task that reads more bytes is large: they take milliseconds to process. A large task costs at least as much. */
export const LARGE = 512 * 1024
/** The least cost of a small task. */
export const SMALL = 16 * 1024
/** The time between two calls of tick(), in milliseconds. */
export const TICK_MS = 50
/** A key with this many tasks under way gets no further one while the service is late and another key has tasks too. */
const MANY = 8
/** The service is late while its ticks are late by more than this on average, or a small task has waited longer, in milliseconds. */
const LATE_MS = 60
const LONG_WAIT_MS = 500
/** The weight of the newest tick in the average. */
const NEWEST = 1 / 4
/** So many tasks of a key may wait for something else: a hundred for changes, and as many for what is read of all matches. */
const MOST_YIELDING = 200
/** The number of keys that are remembered. */
const KEYS = 10_000

/** The signal of a task that several callers share, so that none of them ends it. */
const { signal: NEVER } = new AbortController()

/** The error of every limit: the task is refused now, and a later try may succeed. */
export class Overloaded extends Error {
  constructor(message = 'Too many requests are running with this key, or too many responses have not been read yet') {
    super(message)
    this.name = 'Overloaded'
  }
}

export const SIZES = ['small', 'large'] as const
export type Size = (typeof SIZES)[number]

/** How many tasks of each size may run at once, and the other limits. */
export interface SchedulerOptions extends Readonly<Record<Size, { readonly all: number; readonly perKey: number }>> {
  /** How many bytes all responses may hold, and which part of what is left of them a key may hold. Work may reserve as many. */
  readonly memory: { readonly all: number; readonly partOfLeft: number }
  /** How long a task waits for its turn, in milliseconds. */
  readonly waitMs: number
  /** Is told how long a task has waited, also if its wait failed. */
  readonly onWaited?: ((ms: number, size: Size) => void) | undefined
  /** A clock in milliseconds. */
  readonly now?: () => number
}

/** What the tasks of a key use together, or all tasks. */
class Account {
  readonly running: Record<Size, number> = { small: 0, large: 0 }
  readonly waiting: Record<Size, number> = { small: 0, large: 0 }
  /** How many wait for something else than their turns. */
  yielding = 0
  /** How many bytes its responses hold, and how many are reserved for its work. */
  held = 0
  reserved = 0
  /** The virtual time up to which its tasks are paid for. Of all tasks, it is the latest of these times. */
  paid = 0
}

const tasksOf = ({ running, waiting }: Account): number => running.small + running.large + waiting.small + waiting.large

/** A task: whether it runs, and how many bytes it holds. */
export class Ticket {
  size: Size = 'small'
  isRunning = false
  /** The price of its start, in bytes. A task that became large has started before, so it pays nothing. */
  price = 0
  #read = 0
  /** In bytes. What its work needs is reserved when its next turn starts. */
  held = 0
  needs = 0
  reserved = 0
  #started: Promise<void> | undefined

  constructor(
    readonly scheduler: FairScheduler,
    readonly key: string,
    readonly account: Account,
    /** Aborts when nobody wants the result any more. */
    readonly signal: AbortSignal,
    /** Whether it only works, and holds no response. */
    readonly isWork = false,
  ) {}

  /** Starts when its turn comes, again after stop(). It throws as the scheduler's start() does. */
  start(cost: number, waitMs?: number): Promise<void> {
    this.#read = 0
    this.#started = this.scheduler.startTurn(this, cost < LARGE ? 'small' : 'large', cost, waitMs)
    return this.#started
  }

  /**
   * Pays for bytes that were read, and holds them unless it only works. A task that becomes large waits for its turn among the
   * large tasks.
   * @throws Overloaded if it waits too long, or the key holds too much besides, and the reason of the signal
   */
  async charge(bytes: number): Promise<void> {
    this.#read += bytes
    this.scheduler.charge(this.account, bytes)
    if (!this.isWork) this.hold(this.held + bytes)
    if (this.size === 'small' && this.#read > LARGE) {
      // What waits for its turn holds its bytes. So the next task finds no room, however many have started.
      if (!this.scheduler.hasRoom(this)) throw new Overloaded()
      this.stop()
      this.#started = this.scheduler.startTurn(this, 'large', 0)
    }
    // All reads of a task at the same time wait for its one turn.
    await this.#started
    this.signal.throwIfAborted()
  }

  /** What a read of a store needs of it. */
  get reading() {
    return { signal: this.signal, charge: (bytes: number) => this.charge(bytes) }
  }

  /** Sets how many bytes are held, or reserved. */
  hold(bytes: number, of: 'held' | 'reserved' = 'held'): void {
    const more = bytes - this[of]
    this[of] = bytes
    for (const each of [this.account, this.scheduler.all]) each[of] += more
    if (more < 0) this.scheduler.startWaiting()
  }

  /** Lets other tasks run. The task goes on to hold its bytes. */
  stop(): void {
    if (this.isRunning) this.scheduler.stopTurn(this)
  }

  /** Goes on as a large task, when its turn comes. */
  async becomeLarge(): Promise<void> {
    if (this.size === 'large') return
    this.stop()
    await this.start(LARGE)
  }

  /** Lets others run while it waits for something else, then takes its turn. It throws Overloaded if many tasks do. */
  async yieldWhile<T>(work: () => Promise<T>): Promise<T> {
    const { isRunning, size, account } = this
    if (account.yielding >= MOST_YIELDING) throw new Overloaded()
    this.stop()
    account.yielding += 1
    const result = await work().finally(() => {
      account.yielding -= 1
    })
    if (isRunning) await this.start(size === 'small' ? SMALL : LARGE)
    return result
  }

  /** Does a piece of work as a large task, and gives back what it held. Between two, others have their turns. */
  large<T>(work: () => Promise<T>, waitMs?: number): Promise<T> {
    return this.yieldWhile(async () => {
      const { held } = this
      await this.start(LARGE, waitMs)
      try {
        return await work()
      } finally {
        this.hold(held)
        this.stop()
      }
    })
  }

  /** Reserves memory at the first turn of work, so that none waits for what others hold. Work inside needs no more. */
  async reserving<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    if (this.needs > 0) return work()
    this.needs = bytes
    try {
      return await work()
    } finally {
      this.needs = 0
      this.hold(0, 'reserved')
    }
  }

  /** A ticket of the same key for work that several callers share. None of them ends it by leaving. */
  shared(): Ticket {
    return new Ticket(this.scheduler, this.key, this.account, NEVER, true)
  }
}

interface Wait {
  readonly since: number
  readonly until: number
  /** Ends the wait with an error, or the task starts. */
  readonly end: (error?: unknown) => void
}

export class FairScheduler {
  readonly all = new Account()
  readonly #accounts = new LRUCache<string, Account>({ max: KEYS, memoMethod: () => new Account() })
  readonly #waits = new Map<Ticket, Wait>()
  readonly #now: () => number
  /** The virtual time: what the key of the newest task had paid before the task began. */
  #time = 0
  #lastTick: number
  #lateMs = 0
  #isLate = false

  constructor(readonly options: SchedulerOptions) {
    this.#now = options.now ?? (() => performance.now())
    this.#lastTick = this.#now()
  }

  /**
   * Waits for the turn of a task.
   * @param cost its least cost in bytes: SMALL or LARGE
   * @param signal ends the wait; the promise rejects with its reason. By default nothing does, as for work that callers share
   * @throws Overloaded if it waits too long, and the error of failAll()
   */
  async start(key: string, cost: number, signal = NEVER): Promise<Ticket> {
    const ticket = new Ticket(this, key, this.#accounts.memo(key), signal)
    await ticket.start(cost)
    return ticket
  }

  /** Whether a key should be refused before anything is done for it. */
  refuses(key: string): boolean {
    const account = this.#accounts.memo(key)
    const underWay = tasksOf(account)
    // Where a key is alone, nobody would be served sooner.
    return (this.#isLate && underWay >= MANY && tasksOf(this.all) > underWay) || !this.hasRoom({ account })
  }

  /** Measures how late the event loop is, and ends the waits that are over. */
  tick(): void {
    const now = this.#now()
    this.#lateMs += (now - this.#lastTick - TICK_MS - this.#lateMs) * NEWEST
    this.#lastTick = now
    this.#isLate = this.#lateMs > LATE_MS
    for (const [{ signal, size }, { since, until, end }] of this.#waits) {
      if (signal.aborted) end(signal.reason)
      else if (now >= until) end(new Overloaded())
      else if (size === 'small' && now - since > LONG_WAIT_MS) this.#isLate = true
    }
  }

  failAll(error: unknown): void {
    for (const { end } of this.#waits.values()) end(error)
  }

  /** Pays for a task. A key that has not used its turns cannot use them later. Only tickets call this method and those below. */
  charge(account: Account, cost: number): void {
    account.paid = Math.max(this.#time, account.paid) + cost
    this.all.paid = Math.max(this.all.paid, account.paid)
  }

  async startTurn(ticket: Ticket, size: Size, price: number, waitMs = this.options.waitMs): Promise<void> {
    Object.assign(ticket, { size, price })
    ticket.signal.throwIfAborted()
    this.charge(ticket.account, 0)
    if (this.#mayStart(ticket)) this.#start(ticket)
    else await this.#wait(ticket, waitMs)
    // Other connections go on first: large tasks in a row would block them.
    if (ticket.size === 'large') await setImmediate()
  }

  stopTurn(ticket: Ticket): void {
    ticket.isRunning = false
    this.#count('running', ticket, -1)
    this.startWaiting()
    const { small, large } = this.all.running
    // When nothing runs, nobody owes anything.
    if (small + large === 0) this.#time = this.all.paid
  }

  /** Starts the tasks that wait and may start now, in their order. */
  startWaiting(): void {
    for (;;) {
      let next: Ticket | undefined
      for (const ticket of this.#waits.keys())
        if ((next === undefined || ticket.account.paid < next.account.paid) && this.#mayStart(ticket)) next = ticket
      if (next === undefined) return
      this.#waits.get(next)?.end(next.signal.aborted ? next.signal.reason : undefined)
    }
  }

  #count(state: 'running' | 'waiting', { account, size }: Ticket, more: 1 | -1): void {
    for (const each of [account, this.all]) each[state][size] += more
  }

  /**
   * Whether there is room for a task beside what others hold. It does not wait for what it holds itself. A key may hold a part of
   * what is left, so some is left however many keys hold all that they may (Choudhury and Hahne, 1998: dynamic thresholds).
   */
  hasRoom({ account, held = 0, isWork = false }: Pick<Ticket, 'account'> & Partial<Ticket>): boolean {
    const { all, partOfLeft } = this.options.memory
    return isWork || account.held - held < partOfLeft * (all - this.all.held + held)
  }

  #mayStart(ticket: Ticket): boolean {
    const { account, size, needs, reserved } = ticket
    const { all, perKey } = this.options[size]
    const hasPlace = this.all.running[size] < all && account.running[size] < perKey
    // A key may reserve more for its work while it has less than is left, and beyond that what takes a quarter of it at the most.
    const left = this.options.memory.all - this.all.reserved
    const mayReserve = account.reserved < left || needs <= left / 4
    return hasPlace && this.hasRoom(ticket) && (reserved === needs || mayReserve)
  }

  #start(ticket: Ticket): void {
    ticket.isRunning = true
    ticket.hold(ticket.needs, 'reserved')
    this.#count('running', ticket, 1)
    this.#time = Math.max(this.#time, ticket.account.paid)
    this.charge(ticket.account, ticket.price)
  }

  #wait(ticket: Ticket, waitMs: number): Promise<void> {
    const since = this.#now()
    this.#count('waiting', ticket, 1)
    return new Promise((resolve, reject) => {
      const end = (error?: unknown): void => {
        this.#waits.delete(ticket)
        this.#count('waiting', ticket, -1)
        this.options.onWaited?.(this.#now() - since, ticket.size)
        if (error !== undefined) reject(error)
        else {
          this.#start(ticket)
          resolve()
        }
      }
      this.#waits.set(ticket, { since, until: since + waitMs, end })
    })
  }
}
