// The neighbours, a process of its own: callers that ask for as much as they can. Each sends many requests in one packet
// and, when all are answered or its connection has ended, does so again on a new connection.
import { connect, type Socket } from 'node:net'
import { answerParent } from './ipc.js'

export interface Calls {
  port: number
  path: string
  headers: Record<string, string>
  callers: number
  /** How many requests are in a packet. */
  pipelined: number
  /** Whether they read what comes, as fast as they can, or nothing of it. */
  read: boolean
}

/** What the callers were given. */
export interface Given {
  connections: number
  /** Whole responses. */
  pages: number
  refusals: number
}

/**
 * How long a caller that reads nothing keeps a connection, in milliseconds. It cannot see the end of one: that comes
 * after all that it has not read.
 */
const UNREAD_MS = 500

const nothing = (): Given => ({ connections: 0, pages: 0, refusals: 0 })

let given = nothing()
let wanted: Calls | undefined
const open = new Set<Socket>()
/** One buffer for all that comes: nothing is kept of it. */
const buffer = Buffer.allocUnsafe(256 * 1024)

const call = (calls: Calls): void => {
  const { port, path, headers, pipelined, read } = calls
  const lines = Object.entries({ host: `127.0.0.1:${port}`, ...headers }).map(([name, value]) => `${name}: ${value}`)
  let left = pipelined
  const take = responses((status) => {
    if (status === 200) given.pages++
    else if (status === 503) given.refusals++
    else throw new Error(`A neighbour is answered ${status}, neither 200 nor 503`)
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
  given.connections++
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`.repeat(pipelined))
  socket.on('error', () => {}) // is followed by close
  socket.once('close', () => {
    open.delete(socket)
    if (wanted === calls) call(calls)
  })
}

/** Takes what comes over a connection, and tells the status of each response that has come to its end. */
const responses = (tell: (status: number) => void) => {
  let head = ''
  let status = 0
  /** How many bytes of the body are still to come. */
  let left = 0
  return (bytes: Buffer): boolean => {
    for (let at = 0; at < bytes.length; ) {
      if (left === 0) {
        const before = head.length
        head += bytes.toString('latin1', at, at + 4096)
        const end = head.indexOf('\r\n\r\n') + 4
        if (end < 4) return true
        const [, code, length] = /^HTTP\/1\.1 (\d+) .*\r\ncontent-length: (\d+)\r\n/is.exec(head.slice(0, end)) ?? []
        if (code === undefined) throw new Error(`Not a response with a content-length: ${head.slice(0, 300)}`)
        status = Number(code)
        left = Number(length)
        at += end - before
        head = ''
      }
      const taken = Math.min(left, bytes.length - at)
      at += taken
      left -= taken
      if (left === 0) tell(status)
    }
    return true
  }
}

answerParent({
  begin: (calls: Calls) => {
    given = nothing()
    wanted = calls
    for (let caller = 0; caller < calls.callers; caller++) call(calls)
  },
  end: (): Given => {
    wanted = undefined
    for (const socket of open) socket.destroy()
    return given
  },
})
