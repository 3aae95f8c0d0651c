// Sends a file while it is made: a part is made when the caller has read the one before the last.
import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { setTimeout } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'
import { cutOff } from '../http/caller.js'
import { loggable } from '../http/request-log.js'
import { WAIT_BETWEEN_MS } from '../read/reader.js'
import type { FileAnswer } from './answer.js'

/** How long a broken file waits for what was sent, and how often it looks. */
const SENDING_MS = 1000
const SENDING_STEP_MS = 10
/** How many records that were left out the log names. */
const MAX_LOGGED = 100

type Part = IteratorResult<Buffer, void>

/** Sends a file until all of it was sent, or it was broken off. */
export const sendFile = async (reply: FastifyReply, answer: FileAnswer): Promise<FastifyReply> => {
  const { log, ticket } = reply.request
  const { parts, left } = answer
  try {
    const next = partsInTurns(reply, answer)
    // An error before the first part is a usual problem. One behind it breaks the connection.
    const first = await next()
    const file = Readable.from(joined(first, next, reply), { objectMode: false, highWaterMark: 1 })
    file.once('error', (err) => {
      if (!ticket.signal.aborted) log.error({ err }, 'an export was broken off')
      cutOff(reply.raw)
    })
    reply.send(file)
    await finished(file).catch(() => {})
  } finally {
    await parts.return()
  }
  if (left.length > 0) {
    const records = left.slice(0, MAX_LOGGED).map(({ id, message }) => loggable(`${id}: ${message}`))
    log.warn({ records }, 'left out of an export')
  }
  return reply
}

/**
 * How the parts of a file are made: each in a turn of its own, and between two of them the request runs nothing. While the
 * caller reads one part, the next is made, so two of them are held.
 */
const partsInTurns = (reply: FastifyReply, { parts, read, left }: FileAnswer) => {
  const { raw, request, server } = reply
  const { ticket } = request
  let newest = 0
  /** All of the newest part, or nothing. */
  const unread = () => (raw.writableLength > 0 ? newest : 0)
  const hold = (bytes: number) => ticket.hold(bytes + read.ahead)
  raw.on('drain', () => hold(unread()))
  ticket.stop()
  return async () => {
    hold(unread())
    const make = async () => {
      await server.requireKey(request, reply)
      return parts.next()
    }
    const part = await ticket.large(make, raw.headersSent ? WAIT_BETWEEN_MS : undefined)
    reply.skipped = left.length
    reply.rows = read.rows - left.length
    const length = part.value?.length ?? 0
    // A part may be empty.
    if (length > 0) {
      hold(unread() + length)
      server.expectReading(reply, unread() + length)
      newest = length
    }
    return part
  }
}

/** All parts of a file. Before it fails, it gives what was sent the time to leave, because a closed connection drops it. */
async function* joined(first: Part, next: () => Promise<Part>, { raw, request }: FastifyReply) {
  try {
    for (let part = first; !part.done; part = await next()) if (part.value.length > 0) yield part.value
  } catch (error) {
    const isSending = () => !raw.headersSent || request.socket.writableLength > 0
    for (let ms = 0; ms < SENDING_MS && (ms === 0 || isSending()); ms += SENDING_STEP_MS) {
      await setTimeout(SENDING_STEP_MS)
    }
    throw error
  }
}
