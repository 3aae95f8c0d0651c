// The neighbours, a process of its own: callers that request as much as they can. Each sends many requests in one packet.
// When it has all responses, or its connection has ended, it does the same again on a new connection.
import { connect, type Socket } from 'node:net'
import { makeKey } from '../src/core/keys/format.js'
import { handleCalls } from './ipc.js'

export interface NeighbourLoad {
  port: number
  /** Each connection takes the next of these paths and keys, again and again. */
  paths: string[]
  /** What is sent by POST, as JSON. Undefined for GET. */
  body?: string
  keys: string[]
  callers: number
  /** The number of requests in a packet. */
  pipelined: number
  /**
   * How long a caller keeps a connection on which it reads nothing, in milliseconds. Undefined for callers who read the
   * responses as fast as they can.
   */
  leaveAfterMs?: number
  /** Whether what they ask for may be too much: then a 400 is a refusal too. */
  isTooMuch?: boolean
  /** Whether they ask for files. A file tells no length, so it ends with its connection. */
  areFiles?: boolean
}

/** Stands for a key that is well formed and unknown, another one for each request. */
export const UNKNOWN_KEYS = 'unknown'

/** What the callers received. */
export interface Received {
  connections: number
  /** Complete responses with status 200. */
  pages: number
  /** Responses with status 503, and what else may refuse them. */
  refusals: number
}

const nothing = (): Received => ({ connections: 0, pages: 0, refusals: 0 })

let received = nothing()
/** Undefined while the callers are stopped. */
let current: NeighbourLoad | undefined
const open = new Set<Socket>()
/** All data goes through one buffer, because none of it is kept. */
const buffer = Buffer.allocUnsafe(256 * 1024)

const call = (load: NeighbourLoad): void => {
  const { port, paths, body, keys, pipelined, leaveAfterMs, isTooMuch = false, areFiles = false } = load
  const read = leaveAfterMs === undefined
  const path = paths[received.connections % paths.length]
  const key = keys[received.connections % keys.length] as string
  const [method, about] =
    body === undefined
      ? ['GET', '']
      : [
          'POST',
          `content-type: application/json\r\naccept: application/json, text/event-stream\r\ncontent-length: ${body.length}\r\n`,
        ]
  const request = () => {
    const authorization = `Bearer ${key === UNKNOWN_KEYS ? makeKey() : key}`
    const close = areFiles ? 'connection: close\r\n' : ''
    const head = `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: ${authorization}\r\n${close}${about}`
    return `${head}\r\n${body ?? ''}`
  }
  let left = pipelined
  const { take, end } = responseReader(areFiles, (status) => {
    if (status === 200) received.pages++
    else if (status === 503 || (status === 401 && key === UNKNOWN_KEYS) || (status === 400 && isTooMuch))
      received.refusals++
    else throw new Error(`A neighbour got status ${status}, expected 200 or 503`)
    if (--left === 0) socket.destroy()
  })
  const onread = { buffer, callback: (bytes: number) => take(buffer.subarray(0, bytes)) }
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, ...(read && { onread }) })
  if (!read) {
    socket.pause()
    const timer = setTimeout(() => socket.destroy(), leaveAfterMs)
    socket.once('close', () => clearTimeout(timer))
  }
  open.add(socket)
  received.connections++
  socket.write(Array.from({ length: pipelined }, request).join(''))
  socket.on('error', () => {}) // 'close' follows
  socket.once('end', end)
  if (read) socket.resume() // or there is no 'end'
  socket.once('close', () => {
    open.delete(socket)
    if (current === load) call(load)
  })
}

/** Parses the bytes of a connection, and reports the status of each response when it is complete. */
const responseReader = (areFiles: boolean, report: (status: number) => void) => {
  let head = ''
  let status = 0
  /** The number of bytes of the body that are still missing, infinite for a file. */
  let left = 0
  const take = (bytes: Buffer): boolean => {
    for (let at = 0; at < bytes.length; ) {
      if (left === 0) {
        const before = head.length
        head += bytes.toString('latin1', at, at + 4096)
        const end = head.indexOf('\r\n\r\n') + 4
        if (end < 4) return true
        const text = head.slice(0, end)
        const [, code] = /^HTTP\/1\.1 (\d+) /.exec(text) ?? []
        const [, length = areFiles ? Number.POSITIVE_INFINITY : undefined] =
          /\r\ncontent-length: (\d+)\r\n/i.exec(text) ?? []
        if (code === undefined || length === undefined)
          throw new Error(`Expected a response with a content-length, got: ${text.slice(0, 300)}`)
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
  return { take, end: () => left === Number.POSITIVE_INFINITY && report(status) }
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
