// The load generator, a process of its own. It keeps its connections open and has one request in progress on each. It
// parses the head of a response and then only counts bytes. autocannon 8 parses everything: against a ready buffer of
// 50 KB it is the bottleneck, at a third of the requests a second, and here the replayer shares its core.
import { connect, type Socket } from 'node:net'
import { handleCalls } from './ipc.js'
import { type Timing, timed, timesOf } from './timing.js'

export interface Load {
  port: number
  path: string
  headers: Record<string, string>
  concurrency: number
  ms: number
}

/** A connection that repeats one request. */
class Connection {
  readonly #socket: Socket
  readonly #request: Buffer
  readonly opened: Promise<void>
  /** The number of bytes of the body that are still missing; undefined until the head has arrived. */
  #left: number | undefined
  #done: () => void = () => {}
  #fail: (error: Error) => void = () => {}

  constructor({ port, path, headers }: Load) {
    const lines = Object.entries({ host: `127.0.0.1:${port}`, ...headers }).map(([name, value]) => `${name}: ${value}`)
    this.#request = Buffer.from(`GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
    this.#socket = connect({
      port,
      host: '127.0.0.1',
      noDelay: true,
      // All data goes through one buffer, because none of it is kept.
      onread: { buffer: Buffer.allocUnsafe(256 * 1024), callback: (bytes, buffer) => this.#read(bytes, buffer) },
    })
    this.opened = new Promise((resolve, reject) => {
      this.#socket.once('connect', resolve)
      this.#fail = reject
    })
    this.#socket.on('error', (error) => this.#fail(error))
    this.#socket.on('close', () => this.#fail(new Error('The server closed the connection')))
  }

  /** Sends the request. Resolves when the whole response has arrived, and rejects if it is not a 200. */
  send(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#done = resolve
      this.#fail = reject
      this.#left = undefined
      this.#socket.write(this.#request)
    })
  }

  close(): void {
    this.#fail = () => {}
    this.#socket.destroy()
  }

  #read(bytes: number, buffer: Uint8Array): boolean {
    this.#left = this.#left === undefined ? this.#afterHead(bytes, buffer as Buffer) : this.#left - bytes
    if (this.#left === 0) this.#done()
    return true
  }

  #afterHead(bytes: number, buffer: Buffer): number {
    const text = buffer.toString('latin1', 0, Math.min(bytes, 4096))
    const end = text.indexOf('\r\n\r\n')
    const length = /\r\ncontent-length: (\d+)\r\n/i.exec(text.slice(0, end + 2))?.[1]
    if (!text.startsWith('HTTP/1.1 200 ') || length === undefined) {
      this.#fail(
        new Error(`Expected a 200 with a content-length and its whole head in one piece, got: ${text.slice(0, 300)}`),
      )
      return Number.NaN
    }
    return end + 4 + Number(length) - bytes
  }
}

/** Opens the connections, sends the request over them as `time` says, and closes them. */
const over = async <T>(
  load: Load,
  time: (concurrency: number, ms: number, once: (worker: number) => Promise<void>) => Promise<T>,
): Promise<T> => {
  const connections = Array.from({ length: load.concurrency }, () => new Connection(load))
  try {
    await Promise.all(connections.map((connection) => connection.opened))
    return await time(load.concurrency, load.ms, (worker) => (connections[worker] as Connection).send())
  } finally {
    for (const connection of connections) connection.close()
  }
}

handleCalls({
  load: (load: Load): Promise<Timing> => over(load, timed),
  times: (load: Load): Promise<number[]> => over(load, timesOf),
})
