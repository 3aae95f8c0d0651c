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
/** While the ticks come later than this on average, in milliseconds, a key with so many tasks under way gets no further one. */
const LATE_MS = 60
const MANY = 8
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

/** The place of a task, and what it holds. */
export interface Ticket {
  /** Aborts when nobody wants the result any more. */
  readonly signal: AbortSignal
  readonly isLarge: boolean
  /**
   * Pays for so many more bytes that were read, which are held from now on. A task that becomes large waits for its place
   * among the large ones.
   * @throws Overloaded if it waits too long, and the reason of the signal
   */
  charge(bytes: number): Promise<void>
  /** Sets how many bytes are held. */
  hold(bytes: number): void
  /** Gives up the place, but not what is held. */
  release(): void
  /** Waits for a place again, as the scheduler's enter() does. */
  enter(cost: number, waitMs?: number): Promise<void>
  /** Waits for a place of another task with the same key and signal. */
  beside(cost: number): Promise<Ticket>
}

/** What the tasks of a key have in common, or all tasks. */
class Account {
  readonly running: Record<Size, number> = { small: 0, large: 0 }
  waiting = 0
  held = 0
  /** The virtual time at which the tasks would end, if each ran for as long as it costs. */
  finish = 0
}

interface Task {
  readonly account: Account
  readonly signal: AbortSignal
  size: Size
  /** Its virtual time. Of the tasks that wait, the one with the least begins. */
  start: number
  paid: number
  read: number
  held: number
  hasPlace: boolean
  /** Resolves when it has its place. */
  place: Promise<void> | undefined
}

interface Waiting {
  readonly until: number
  readonly begin: () => void
  readonly fail: (reason: unknown) => void
}

export class FairScheduler {
  readonly #accounts = new LRUCache<string, Account>({ max: KEYS })
  readonly #all = new Account()
  readonly #waiting = new Map<Task, Waiting>()
  readonly #now: () => number
  /** The virtual time: that of the newest task which has begun. */
  #time = 0
  #lastTick: number
  #lateMs = 0

  constructor(readonly options: SchedulerOptions) {
    this.#now = options.now ?? (() => performance.now())
    this.#lastTick = this.#now()
  }

  /** How many tasks of a size run. */
  running(size: Size): number {
    return this.#all.running[size]
  }

  /** How many tasks of a size wait. */
  waiting(size: Size): number {
    return [...this.#waiting.keys()].filter((task) => task.size === size).length
  }

  /** How many bytes all tasks hold. */
  get held(): number {
    return this.#all.held
  }

  /** Whether a key should be refused before anything is done for it. */
  refuses(key: string): boolean {
    const account = this.#accountOf(key)
    const { running, waiting } = account
    const hasMany = running.small + running.large + waiting >= MANY
    return (hasMany && this.#lateMs > LATE_MS) || !this.#hasRoom(account)
  }

  /** Measures how late the event loop is, and ends the waits that are over. */
  tick(): void {
    const now = this.#now()
    this.#lateMs += (now - this.#lastTick - TICK_MS - this.#lateMs) * NEWEST
    this.#lastTick = now
    for (const [{ signal }, { until, fail }] of this.#waiting) {
      if (signal.aborted) fail(signal.reason)
      else if (now >= until) fail(new Overloaded())
    }
  }

  /** Fails all tasks that wait. */
  failAll(error: unknown): void {
    for (const { fail } of this.#waiting.values()) fail(error)
  }

  /**
   * Waits for the turn of a task.
   * @param cost what it costs at least, in bytes: SMALL or LARGE
   * @param signal ends the wait; the promise rejects with its reason
   * @param waitMs how long it waits at the most, in milliseconds
   * @throws Overloaded if it waits too long, and the error of failAll()
   */
  async enter(key: string, cost: number, signal: AbortSignal, waitMs?: number): Promise<Ticket> {
    const account = this.#accountOf(key)
    const place = Promise.resolve()
    const task: Task = { account, signal, size: 'small', start: 0, paid: 0, read: 0, held: 0, hasPlace: false, place }
    const ticket: Ticket = {
      signal,
      get isLarge() {
        return task.size === 'large'
      },
      charge: (bytes) => this.#charge(task, bytes),
      hold: (bytes) => this.#hold(task, bytes),
      release: () => this.#release(task),
      enter: (cost, waitMs) => this.#enter(task, cost, waitMs),
      beside: (cost) => this.enter(key, cost, signal),
    }
    await ticket.enter(cost, waitMs)
    return ticket
  }

  #accountOf(key: string): Account {
    const account = this.#accounts.get(key) ?? new Account()
    this.#accounts.set(key, account)
    return account
  }

  #enter(task: Task, cost: number, waitMs?: number): Promise<void> {
    task.size = cost < LARGE ? 'small' : 'large'
    task.start = Math.max(this.#time, task.account.finish)
    task.paid = 0
    task.read = 0
    this.#pay(task, cost)
    task.place = this.#place(task, waitMs)
    return task.place
  }

  async #charge(task: Task, bytes: number): Promise<void> {
    task.read += bytes
    this.#pay(task, task.read)
    this.#hold(task, task.held + bytes)
    if (task.size === 'small' && task.read > LARGE) {
      this.#release(task)
      task.size = 'large'
      task.place = this.#place(task)
    }
    // All that is read for a task at the same time waits for its one place.
    await task.place
    task.signal.throwIfAborted()
  }

  /** Pays so much in all for what a task does at its place. */
  #pay(task: Task, cost: number): void {
    if (cost <= task.paid) return
    const { account } = task
    account.finish = Math.max(this.#time, account.finish) + cost - task.paid
    this.#all.finish = Math.max(this.#all.finish, account.finish)
    task.paid = cost
  }

  #hold(task: Task, bytes: number): void {
    const more = bytes - task.held
    task.held = bytes
    for (const account of [task.account, this.#all]) account.held += more
    if (more < 0) this.#beginAll()
  }

  #release(task: Task): void {
    if (!task.hasPlace) return
    task.hasPlace = false
    for (const { running } of [task.account, this.#all]) running[task.size] -= 1
    const { small, large } = this.#all.running
    // When nothing runs, nobody owes anything.
    if (small + large === 0) this.#time = this.#all.finish
    this.#beginAll()
  }

  /** Waits until the task may begin. */
  async #place(task: Task, waitMs = this.options.waitMs): Promise<void> {
    task.signal.throwIfAborted()
    if (this.#mayBegin(task)) this.#begin(task)
    else await this.#wait(task, waitMs)
    // Other connections have their turn first: large tasks in a row would block them.
    if (task.size === 'large') await setImmediate()
  }

  #mayBegin({ account, size }: Task): boolean {
    const { all, perKey } = this.options[size]
    return this.#all.running[size] < all && account.running[size] < perKey && this.#hasRoom(account)
  }

  #hasRoom({ held }: Account): boolean {
    const { all, perKey } = this.options.memory
    return this.#all.held < all && held < perKey
  }

  #begin(task: Task): void {
    task.hasPlace = true
    for (const { running } of [task.account, this.#all]) running[task.size] += 1
    this.#time = Math.max(this.#time, task.start)
  }

  /** Begins the tasks that wait and may begin now, in their order. */
  #beginAll(): void {
    for (;;) {
      let next: Task | undefined
      for (const task of this.#waiting.keys())
        if ((next === undefined || task.start < next.start) && this.#mayBegin(task)) next = task
      if (next === undefined) return
      const waiting = this.#waiting.get(next)
      if (next.signal.aborted) waiting?.fail(next.signal.reason)
      else waiting?.begin()
    }
  }

  #wait(task: Task, waitMs: number): Promise<void> {
    const { account, size } = task
    const since = this.#now()
    account.waiting += 1
    return new Promise((resolve, reject) => {
      const over = (): void => {
        this.#waiting.delete(task)
        account.waiting -= 1
        this.options.onWaited?.(this.#now() - since, size)
      }
      this.#waiting.set(task, {
        until: since + waitMs,
        begin: () => {
          over()
          this.#begin(task)
          resolve()
        },
        fail: (reason) => {
          over()
          reject(reason)
        },
      })
    })
  }
}
