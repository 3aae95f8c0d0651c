// Where the log of the process goes: to stdout, in blocks, since to hand every line to the system by itself costs more than
// to make it. A log that cannot be written stops nothing: its lines are dropped and counted, and the count is logged as soon
// as the log can be written again.
import { writeFile, writeFileSync } from 'node:fs'
import { Socket } from 'node:net'

/** What Fastify's logger writes its lines to. */
export interface LogStream {
  write(line: string): void
}

/** Lines are written as soon as there are so many characters of them, or after so many milliseconds. */
const BLOCK_LENGTH = 32_768
const LATEST_MS = 200
/** How much waits for a slow reader, in characters. Beyond it lines are dropped: the service must neither wait nor grow. */
const MOST_WAITING = 16 * 1024 * 1024
const STDOUT = 1
/** pino's number for "warn". */
const WARN = 40

/** Opens it. When the process exits, also for an error, what waits is written as far as stdout takes it at once. */
export const openLog = (): LogStream => {
  const send = process.stdout instanceof Socket ? sendToStream : sendToFile
  let lines: string[] = []
  let length = 0
  /** How many lines are on their way to the system, and how long they are. */
  let sending = { lines: 0, length: 0 }
  let dropped = 0
  let failed = false

  const flush = (): void => {
    if (sending.lines > 0 || lines.length === 0) return
    sending = { lines: lines.length, length }
    // A disk that became full may have taken a part of a line, which ends here.
    const block = (failed ? '\n' : '') + lines.join('')
    lines = []
    length = 0
    send(block, (error) => {
      failed = Boolean(error)
      if (failed) dropped += sending.lines
      else if (dropped > 0) {
        push(`${JSON.stringify({ level: WARN, time: Date.now(), dropped, msg: 'log lines were dropped' })}\n`)
        dropped = 0
      }
      sending = { lines: 0, length: 0 }
      if (length >= BLOCK_LENGTH) flush()
    })
  }

  const push = (line: string): void => {
    lines.push(line)
    length += line.length
  }

  // Without these listeners a stdout or stderr that cannot be written would end the process.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  setInterval(flush, LATEST_MS).unref()
  process.on('exit', () => writeAtOnce(lines.join('')))

  return {
    write(line) {
      if (length + sending.length + line.length > MOST_WAITING) dropped += 1
      else {
        push(line)
        if (length >= BLOCK_LENGTH) flush()
      }
    },
  }
}

type Sent = (error?: Error | null) => void

/** To a pipe, a socket or a terminal, which Node writes without waiting for the reader. */
const sendToStream = (block: string, sent: Sent): void => {
  process.stdout.write(block, sent)
}

/** To a file or a device, for whose disk process.stdout would wait. */
const sendToFile = (block: string, sent: Sent): void => writeFile(STDOUT, block, sent)

const writeAtOnce = (text: string): void => {
  try {
    writeFileSync(STDOUT, text)
  } catch {
    // The reader has stopped or gone, or the disk is full: there is nobody left to tell.
  }
}
