// The crowd, a process of its own: requests that arrive at a given rate, however slow the responses are, or as fast as a
// few callers get them. Each takes an idle connection, or opens another one.
import { connect, type Socket } from 'node:net'
import { handleCalls } from './ipc.js'
import { quantiles } from './timing.js'

export interface Arrivals {
  port: number
  /** Each request takes the next of these paths and keys, again and again. */
  paths: string[]
  keys: string[]
  ms: number
  /** How many requests arrive in a second, or how many callers ask again as soon as they have a response. */
  perSecond?: number
  callers?: number
}

/** What became of the requests. Times are those of the served ones, in milliseconds. */
export interface Arrived {
  sent: number
  served: number
  /** How many were served in a second, of those that ended before the last arrival. */
  perSecond: number
  p50: number
  p99: number
  /** How many ended otherwise, by what the caller saw: the status and the code of the service, or what was no response of it. */
  others: Record<string, number>
}

/** More connections than these are not opened: an arrival that finds none counts as `no connection`. */
const MOST_CONNECTIONS = 8000
const TICK_MS = 5
/** After the last arrival, requests have so long to end. */
const END_MS = 10_000

class Crowd {
  readonly #load: Arrivals
  readonly #start = performance.now()
  readonly #idle: Caller[] = []
  readonly #times: number[] = []
  readonly #others: Record<string, number> = {}
  #inTime = 0
  #connections = 0
  #underway = 0
  #sent = 0

  constructor(load: Arrivals) {
    this.#load = load
  }

  async run(): Promise<Arrived> {
    const { ms, perSecond, callers } = this.#load
    const start = this.#start
    await new Promise<void>((resolve) => {
      const timer = setInterval(() => {
        const passed = performance.now() - start
        if (passed >= ms && (this.#underway === 0 || passed >= ms + END_MS)) {
          clearInterval(timer)
          return resolve()
        }
        if (passed >= ms) return
        if (perSecond !== undefined) while (this.#sent < (passed / 1000) * perSecond) this.#send()
        if (callers !== undefined) while (this.#underway < callers) this.#send()
      }, TICK_MS)
    })
    this.#count('no response', this.#underway)
    const times = quantiles(this.#times)
    return {
      sent: this.#sent,
      served: this.#times.length,
      perSecond: this.#inTime / (ms / 1000),
      ...times,
      others: this.#others,
    }
  }

  #count(what: string, by = 1): void {
    if (by > 0) this.#others[what] = (this.#others[what] ?? 0) + by
  }

  #send(): void {
    const { port, paths, keys, callers, ms } = this.#load
    const n = this.#sent++
    const path = paths[n % paths.length]
    const key = keys[n % keys.length]
    const caller = this.#takeIdle() ?? this.#open()
    if (caller === undefined) {
      this.#count('no connection')
      return
    }
    this.#underway += 1
    const begun = performance.now()
    caller.ask(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${key}\r\n\r\n`, (what) => {
      const now = performance.now()
      const isInTime = now < this.#start + ms
      this.#underway -= 1
      if (caller.isOpen) this.#idle.push(caller)
      if (what !== '200') this.#count(what)
      else {
        this.#times.push(now - begun)
        if (isInTime) this.#inTime += 1
      }
      if (callers !== undefined && isInTime) this.#send()
    })
  }

  /** An idle connection that was not closed meanwhile. */
  #takeIdle(): Caller | undefined {
    for (;;) {
      const caller = this.#idle.pop()
      if (caller === undefined || caller.isOpen) return caller
    }
  }

  #open(): Caller | undefined {
    if (this.#connections === MOST_CONNECTIONS) return undefined
    this.#connections += 1
    return new Caller(this.#load.port, () => {
      this.#connections -= 1
    })
  }
}

/** All data goes through one buffer, because none of it is kept. */
const buffer = Buffer.allocUnsafe(256 * 1024)

/** A connection with one request at a time. */
class Caller {
  readonly #socket: Socket
  #report: ((what: string) => void) | undefined
  #head = ''
  #what = ''
  /** The number of bytes of the body that are still missing; undefined until the head has arrived. */
  #left: number | undefined

  constructor(port: number, whenClosed: () => void) {
    const onread = { buffer, callback: (bytes: number) => this.#read(buffer.subarray(0, bytes)) }
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true, onread })
    let failure = 'closed without a response'
    this.#socket.on('error', ({ message }) => {
      failure = message.replace(/ [\d.:]+$/, '')
    })
    this.#socket.once('close', () => {
      whenClosed()
      this.#end(failure)
    })
  }

  get isOpen(): boolean {
    return this.#socket.writable
  }

  ask(request: string, report: (what: string) => void): void {
    this.#report = report
    this.#head = ''
    this.#left = undefined
    this.#socket.write(request)
  }

  #end(what: string): void {
    const report = this.#report
    this.#report = undefined
    report?.(what)
  }

  #read(bytes: Buffer): boolean {
    if (this.#left === undefined) {
      const before = this.#head.length
      this.#head += bytes.toString('latin1', 0, 8192)
      const end = this.#head.indexOf('\r\n\r\n') + 4
      if (end < 4) return true
      const head = this.#head.slice(0, end)
      const [, status = ''] = /^HTTP\/1\.\d (\d+) /.exec(head) ?? []
      const isOurs = /\r\ncontent-type: application\/(problem\+)?json/i.test(head)
      const length = /\r\ncontent-length: (\d+)\r\n/i.exec(head)?.[1]
      this.#what = isOurs ? status : `${status} of the proxy`
      if (/\r\nconnection: close\r\n/i.test(head)) this.#socket.end()
      this.#left = Number(length ?? Number.POSITIVE_INFINITY) - (bytes.length - (end - before))
    } else this.#left -= bytes.length
    if (this.#left === 0) this.#end(this.#what)
    return true
  }
}

handleCalls({ arrive: (load: Arrivals): Promise<Arrived> => new Crowd(load).run() })
