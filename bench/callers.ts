// The neighbours, a process of its own: callers that request as much as they can. Each sends many requests in one packet.
// When it has all responses, or its connection has ended, it does the same again on a new connection.
import { connect, type Socket } from 'node:net'
import { handleCalls } from './ipc.js'

export interface NeighbourLoad {
  port: number
  path: string
  headers: Record<string, string>
  callers: number
  /** The number of requests in a packet. */
  pipelined: number
  /** Whether the callers read the responses as fast as they can, or not at all. */
  read: boolean
}

/** What the callers received. */
export interface Received {
  connections: number
  /** Complete responses with status 200. */
  pages: number
  /** Responses with status 503. */
  refusals: number
}

/**
 * How long a caller that reads nothing keeps a connection, in milliseconds. It cannot notice that the service has closed
 * the connection, because it would first have to read the responses.
 */
const UNREAD_MS = 500

const nothing = (): Received => ({ connections: 0, pages: 0, refusals: 0 })

let received = nothing()
/** Undefined while the callers are stopped. */
let current: NeighbourLoad | undefined
const open = new Set<Socket>()
/** All data goes through one buffer, because none of it is kept. */
const buffer = Buffer.allocUnsafe(256 * 1024)

const call = (load: NeighbourLoad): void => {
  const { port, path, headers, pipelined, read } = load
  const lines = Object.entries({ host: `127.0.0.1:${port}`, ...headers }).map(([name, value]) => `${name}: ${value}`)
  let left = pipelined
  const take = responseReader((status) => {
    if (status === 200) received.pages++
    else if (status === 503) received.refusals++
    else throw new Error(`A neighbour got status ${status}, expected 200 or 503`)
    if (--left === 0) socket.destroy()
  })
  const onread = { buffer, callback: (bytes: number) => take(buffer.subarray(0, bytes)) }
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, ...(read && { onread }) })
  if (!read) {
    socket.pause()
    const timer = setTimeout(() => socket.destroy(), UNREAD_MS)
    socket.once('close', () => clearTimeout(timer))
  }
  open.add(socket)
  received.connections++
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`.repeat(pipelined))
  socket.on('error', () => {}) // 'close' follows
  socket.once('close', () => {
    open.delete(socket)
    if (current === load) call(load)
  })
}

/** Parses the bytes of a connection, and reports the status of each response when it is complete. */
const responseReader = (report: (status: number) => void) => {
  let head = ''
  let status = 0
  /** The number of bytes of the body that are still missing. */
  let left = 0
  return (bytes: Buffer): boolean => {
    for (let at = 0; at < bytes.length; ) {
      if (left === 0) {
        const before = head.length
        head += bytes.toString('latin1', at, at + 4096)
        const end = head.indexOf('\r\n\r\n') + 4
        if (end < 4) return true
        const [, code, length] = /^HTTP\/1\.1 (\d+) .*\r\ncontent-length: (\d+)\r\n/is.exec(head.slice(0, end)) ?? []
        if (code === undefined) throw new Error(`Expected a response with a content-length, got: ${head.slice(0, 300)}`)
        status = Number(code)
        left = Number(length)
        at += end - before
        head = ''
      }
      const taken = Math.min(left, bytes.length - at)
      at += taken
      left -= taken
      if (left === 0) report(status)
    }
    return true
  }
}

handleCalls({
  begin: (load: NeighbourLoad) => {
    received = nothing()
    current = load
    for (let caller = 0; caller < load.callers; caller++) call(load)
  },
  end: (): Received => {
    current = undefined
    for (const socket of open) socket.destroy()
    return received
  },
})
