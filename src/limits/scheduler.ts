// Decides whose task begins next, by start-time fair queueing (Goyal, Vin and Cheng, 1996): each key pays for what its tasks
// cost, in bytes, and of the tasks that wait the one whose key has paid least begins. Few large ones run at once.
import { setImmediate } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'

/** A task that reads more bytes is large: they take milliseconds to process. It is also the least that a large one costs. */
export const LARGE = 512 * 1024
/** What any other task costs at least. */
export const SMALL = 16 * 1024
/** How often tick() is to be called, in milliseconds. */
export const TICK_MS = 50
/**
 * A key with so many tasks under way gets no further one while ticks come so late on average, or a small task has waited for so
 * long, in milliseconds.
 */
const MANY = 8
const LATE_MS = 60
const LONG_WAIT_MS = 500
/** How much of the average the newest tick makes. */
const NEWEST = 1 / 4
/** The keys that are remembered. */
const KEYS = 10_000

/** The error of every limit: the task is refused now, and a later try may succeed. */
export class Overloaded extends Error {
  constructor(message = 'Too many requests with this key are running, or too many of its responses are not read yet') {
    super(message)
    this.name = 'Overloaded'
  }
}

export type Size = 'small' | 'large'

/** A limit of all keys together, and that of each key. */
interface Limit {
  readonly all: number
  readonly perKey: number
}

export interface SchedulerOptions {
  /** How many tasks of a size run at once. */
  readonly small: Limit
  readonly large: Limit
  /** While this many bytes are held, no further task begins. */
  readonly memory: Limit
  /** How long a task waits for its turn, in milliseconds. */
  readonly waitMs: number
  /** Told how long a task has waited, also one that failed. */
  readonly onWaited?: ((ms: number, size: Size) => void) | undefined
  /** A clock in milliseconds. */
  readonly now?: () => number
}

/** What the tasks of a key have in common, or all tasks. */
class Account {
  readonly running: Record<Size, number> = { small: 0, large: 0 }
  waiting = 0
  held = 0
  /** The virtual time at which the tasks would end, if each ran for as long as it costs. */
  finish = 0
}

/** A task: whether it runs, and what it holds. */
export class Ticket {
  size: Size = 'small'
  isRunning = false
  /** Its virtual time. Of the tasks that wait, the one with the least begins. */
  start = 0
  #read = 0
  #held = 0
  #begun: Promise<void> | undefined

  /** @param signal aborts when nobody wants the result any more */
  constructor(
    readonly scheduler: FairScheduler,
    readonly key: string,
    readonly account: Account,
    readonly signal: AbortSignal,
  ) {}

  /** Waits for its turn, again after release(). It throws as the scheduler's enter() does. */
  enter(cost: number, waitMs?: number): Promise<void> {
    this.size = cost < LARGE ? 'small' : 'large'
    this.start = this.scheduler.pay(this.account, cost)
    this.#read = 0
    this.#begun = this.scheduler.begin(this, waitMs)
    return this.#begun
  }

  /** Another task of the same key, which nobody wants either when nobody wants this one. */
  beside(cost: number): Promise<Ticket> {
    return this.scheduler.enter(this.key, cost, this.signal)
  }

  /**
   * Pays for so many more bytes that were read, which are held from now on. A task that becomes large waits for its turn among
   * the large ones.
   * @throws Overloaded if it waits too long, and the reason of the signal
   */
  readonly charge = async (bytes: number): Promise<void> => {
    this.#read += bytes
    this.scheduler.pay(this.account, bytes)
    this.hold(this.#held + bytes)
    if (this.size === 'small' && this.#read > LARGE) {
      this.release()
      this.size = 'large'
      this.#begun = this.scheduler.begin(this)
    }
    // All that is read for a task at the same time waits for its one turn.
    await this.#begun
    this.signal.throwIfAborted()
  }

  /** Sets how many bytes are held. */
  hold(bytes: number): void {
    this.scheduler.hold(this.account, bytes - this.#held)
    this.#held = bytes
  }

  /** Lets others run, and goes on to hold what it holds. */
  release(): void {
    if (this.isRunning) this.scheduler.end(this)
  }
}

interface Waiting {
  readonly since: number
  readonly until: number
  /** Ends the wait: with an error, or the task begins. */
  readonly end: (error?: unknown) => void
}

export class FairScheduler {
  readonly #accounts = new LRUCache<string, Account>({ max: KEYS })
  readonly all = new Account()
  readonly #waiting = new Map<Ticket, Waiting>()
  readonly #now: () => number
  /** The virtual time: that of the newest task which has begun. */
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
   * @param cost what it costs at least, in bytes: SMALL or LARGE
   * @param signal ends the wait; the promise rejects with its reason
   * @throws Overloaded if it waits too long, and the error of failAll()
   */
  async enter(key: string, cost: number, signal: AbortSignal): Promise<Ticket> {
    const ticket = new Ticket(this, key, this.#accountOf(key), signal)
    await ticket.enter(cost)
    return ticket
  }

  /** Whether a key should be refused before anything is done for it. */
  refuses(key: string): boolean {
    const account = this.#accountOf(key)
    const { running, waiting } = account
    const hasMany = running.small + running.large + waiting >= MANY
    return (hasMany && this.#isLate) || !this.#hasRoom(account)
  }

  /** Measures how late the event loop is, and ends the waits that are over. */
  tick(): void {
    const now = this.#now()
    this.#lateMs += (now - this.#lastTick - TICK_MS - this.#lateMs) * NEWEST
    this.#lastTick = now
    this.#isLate = this.#lateMs > LATE_MS
    for (const [{ signal, size }, { since, until, end }] of this.#waiting) {
      if (signal.aborted) end(signal.reason)
      else if (now >= until) end(new Overloaded())
      else if (size === 'small' && now - since > LONG_WAIT_MS) this.#isLate = true
    }
  }

  /** Fails all tasks that wait. */
  failAll(error: unknown): void {
    for (const { end } of this.#waiting.values()) end(error)
  }

  /** How many tasks of a size wait. */
  waiting(size: Size): number {
    return [...this.#waiting.keys()].filter((ticket) => ticket.size === size).length
  }

  /** Pays for a task. Returns the virtual time at which that begins. For tickets, as what follows. */
  pay(account: Account, cost: number): number {
    const start = Math.max(this.#time, account.finish)
    account.finish = start + cost
    this.all.finish = Math.max(this.all.finish, account.finish)
    return start
  }

  hold(account: Account, more: number): void {
    for (const each of [account, this.all]) each.held += more
    if (more < 0) this.#beginAll()
  }

  async begin(ticket: Ticket, waitMs = this.options.waitMs): Promise<void> {
    ticket.signal.throwIfAborted()
    if (this.#mayBegin(ticket)) this.#run(ticket)
    else await this.#wait(ticket, waitMs)
    // Other connections have their turn first: large tasks in a row would block them.
    if (ticket.size === 'large') await setImmediate()
  }

  end(ticket: Ticket): void {
    ticket.isRunning = false
    for (const { running } of [ticket.account, this.all]) running[ticket.size] -= 1
    const { small, large } = this.all.running
    // When nothing runs, nobody owes anything.
    if (small + large === 0) this.#time = this.all.finish
    this.#beginAll()
  }

  #accountOf(key: string): Account {
    const account = this.#accounts.get(key) ?? new Account()
    this.#accounts.set(key, account)
    return account
  }

  #mayBegin({ account, size }: Ticket): boolean {
    const { all, perKey } = this.options[size]
    return this.all.running[size] < all && account.running[size] < perKey && this.#hasRoom(account)
  }

  #hasRoom({ held }: Account): boolean {
    const { all, perKey } = this.options.memory
    return this.all.held < all && held < perKey
  }

  #run(ticket: Ticket): void {
    ticket.isRunning = true
    for (const { running } of [ticket.account, this.all]) running[ticket.size] += 1
    this.#time = Math.max(this.#time, ticket.start)
  }

  /** Begins the tasks that wait and may begin now, in their order. */
  #beginAll(): void {
    for (;;) {
      let next: Ticket | undefined
      for (const ticket of this.#waiting.keys())
        if ((next === undefined || ticket.start < next.start) && this.#mayBegin(ticket)) next = ticket
      if (next === undefined) return
      this.#waiting.get(next)?.end(next.signal.aborted ? next.signal.reason : undefined)
    }
  }

  #wait(ticket: Ticket, waitMs: number): Promise<void> {
    const { account, size } = ticket
    const since = this.#now()
    account.waiting += 1
    return new Promise((resolve, reject) => {
      const end = (error?: unknown): void => {
        this.#waiting.delete(ticket)
        account.waiting -= 1
        this.options.onWaited?.(this.#now() - since, size)
        if (error !== undefined) reject(error)
        else {
          this.#run(ticket)
          resolve()
        }
      }
      this.#waiting.set(ticket, { since, until: since + waitMs, end })
    })
  }
}
