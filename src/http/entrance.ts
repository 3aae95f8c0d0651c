// Where requests wait for the event loop: a few begin in each turn, and none while connections arrive. So the turns stay
// short however many callers there are. Callers with different credentials take turns. Urgent requests, such as health
// checks, have a line of their own, and begin in every turn.
import { AsyncResource } from 'node:async_hooks'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

/** How many requests begin in one turn of the event loop. Those that are refused are among them. */
const BEGIN_PER_TURN = 10
/**
 * Node takes over one connection in each turn. While they arrive, the turns are for them alone, but never for longer than this
 * in a row, in milliseconds. Then requests have about as long: whoever opens connections without end must not stop the others.
 */
const CONNECTIONS_MS = 25
/**
 * While the first request with some credentials has waited for longer, and so many wait behind it, those that come after them
 * are late. The number keeps callers with few requests from paying for one long turn.
 */
const LATE_MS = 500
const LATE_BEHIND = 8
/** How many late requests begin in a turn besides, since refusing them is little work. */
const LATE_PER_TURN = 16
/** How many urgent ones do. Anybody may send them, so they have a limit too. */
const URGENT_PER_TURN = 4

/** A request that has arrived. It begins in the asynchronous context in which it came, so that tracers know what it causes. */
export class Arrival extends AsyncResource {
  /** When it began to wait at the entrance. */
  since = 0

  constructor(readonly response: ServerResponse) {
    super('HTTPREQUEST')
  }

  begin(listener: RequestListener): void {
    const { req } = this.response
    if (!req.socket.destroyed) this.runInAsyncScope(listener, undefined, req, this.response)
  }
}

/** Requests that are to be refused, because more arrive with their credentials than the process can handle. */
export const lateRequests = new WeakSet<IncomingMessage>()

/** Which requests begin before others, and which may be refused. */
export interface EntranceOptions {
  /** Requests for a path that begins with this are urgent; by default none is. */
  urgentPath?: string | undefined
  /** Only requests for a path that begins with this may be late; by default all may. */
  refusingPath?: string | undefined
  lateMs?: number
  connectionsMs?: number
  /** Told how long a request has waited, in milliseconds, if it could not begin in the first turn after it came, or its caller left. */
  onWaited?: ((ms: number) => void) | undefined
}

export class Entrance {
  /** Whether this turn is for connections that arrive: nothing else begins in it that can wait. */
  isForConnections = false
  #hasArrived = false
  #stretchBegan = Number.NEGATIVE_INFINITY
  /** When the turn before began. */
  #lastTurn = 0
  #isHeld = false
  /** The credentials whose requests wait, in the order of their turns. Who makes some up only shares with more others. */
  readonly #waiting = new Map<string, Set<Arrival>>()
  readonly #late = new Set<Arrival>()
  readonly #urgent = new Set<Arrival>()
  #isLooking = false
  readonly #urgentPath: string | undefined
  readonly #refusingPath: string
  readonly #lateMs: number
  readonly #connectionsMs: number
  readonly #onWaited: EntranceOptions['onWaited']

  constructor(
    readonly listener: RequestListener,
    { urgentPath, refusingPath = '', lateMs = LATE_MS, connectionsMs = CONNECTIONS_MS, onWaited }: EntranceOptions = {},
  ) {
    this.#urgentPath = urgentPath
    this.#refusingPath = refusingPath
    this.#lateMs = lateMs
    this.#connectionsMs = connectionsMs
    this.#onWaited = onWaited
  }

  /** How many requests wait. */
  get waiting(): number {
    const ofCallers = [...this.#waiting.values()].reduce((sum, requests) => sum + requests.size, 0)
    return ofCallers + this.#late.size + this.#urgent.size
  }

  enter(arrival: Arrival): void {
    const { url = '' } = arrival.response.req
    const credentials = credentialsOf(arrival)
    arrival.since = performance.now()
    const others = this.#waiting.get(credentials)
    if (this.#urgentPath !== undefined && url.startsWith(this.#urgentPath)) this.#urgent.add(arrival)
    else if (others === undefined) this.#waiting.set(credentials, new Set([arrival]))
    else if (url.startsWith(this.#refusingPath) && this.#isLate(others, arrival.since)) {
      lateRequests.add(arrival.response.req)
      this.#late.add(arrival)
    } else others.add(arrival)
    this.#look()
  }

  /** Forgets a request whose caller has left. So no more wait than there are connections. */
  leave(arrival: Arrival): void {
    const credentials = credentialsOf(arrival)
    const requests = this.#waiting.get(credentials)
    const lines = [this.#urgent, this.#late, requests]
    if (lines.some((line) => line?.delete(arrival))) this.#onWaited?.(performance.now() - arrival.since)
    if (requests?.size === 0) this.#waiting.delete(credentials)
  }

  connectionArrived(): void {
    this.#hasArrived = true
    this.#look()
  }

  #look(): void {
    if (!this.#isLooking) setImmediate(this.#next)
    this.#isLooking = true
  }

  /** Lets only urgent requests begin until release() is called. The time until then makes none late. */
  hold(): void {
    this.#isHeld = true
  }

  release(): void {
    this.#isHeld = false
    const since = performance.now()
    for (const requests of this.#waiting.values()) for (const arrival of requests) arrival.since = since
  }

  #isLate(others: ReadonlySet<Arrival>, now: number): boolean {
    const [first] = others
    return !this.#isHeld && others.size > LATE_BEHIND && now - (first as Arrival).since >= this.#lateMs
  }

  readonly #next = (): void => {
    const now = performance.now()
    // A stretch for connections never begins right after another: however long turns are, others have one in between.
    const mayBegin = !this.isForConnections && now - this.#stretchBegan >= 2 * this.#connectionsMs
    if (this.#hasArrived && mayBegin) this.#stretchBegan = now
    this.isForConnections = this.#hasArrived && now - this.#stretchBegan < this.#connectionsMs
    this.#begin(this.#urgent, URGENT_PER_TURN)
    if (!this.#isHeld && !this.isForConnections) this.#beginSome()
    this.#lastTurn = now
    this.#isLooking = false
    // One more turn tells whether further connections arrive.
    if (this.#hasArrived || this.#waiting.size + this.#late.size + this.#urgent.size > 0) this.#look()
    this.#hasArrived = false
  }

  #beginSome(): void {
    this.#begin(this.#late, LATE_PER_TURN)
    let begun = 0
    for (const [credentials, requests] of this.#waiting) {
      if (begun++ === BEGIN_PER_TURN) return
      this.#waiting.delete(credentials)
      // Its next request waits behind those of all others. A loop over a map comes to what is added meanwhile.
      if (requests.size > 1) this.#waiting.set(credentials, requests)
      this.#begin(requests, 1)
    }
  }

  /** Lets so many of some requests begin. */
  #begin(requests: Set<Arrival>, count: number): void {
    let begun = 0
    for (const arrival of requests) {
      if (begun++ === count) return
      requests.delete(arrival)
      if (arrival.since < this.#lastTurn) this.#onWaited?.(performance.now() - arrival.since)
      arrival.begin(this.listener)
    }
  }
}

const credentialsOf = ({ response }: Arrival): string => response.req.headers.authorization ?? ''
