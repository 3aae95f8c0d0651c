// Writes the log to stdout in blocks, because a system call for every line would cost more than making the line. Lines that
// cannot be written are dropped and counted, and the count is logged once writing works again.
import { writeFile, writeFileSync } from 'node:fs'
import { Socket } from 'node:net'

export interface LogStream {
  write(line: string): void
}

/** Lines are written when a block of this many characters is full, and otherwise at this interval. */
const BLOCK_LENGTH = 32_768
const FLUSH_INTERVAL_MS = 200
/** How many characters wait for a slow reader. Further lines are dropped, so the service neither waits nor grows. */
const MAX_WAITING = 16 * 1024 * 1024
const STDOUT = 1
/** The number of the level "warn" in pino. */
const WARN = 40

/** Opens the log. When the process exits, even by an error, the lines that wait are written if stdout takes them. */
export const openLog = (): LogStream => {
  // Node writes to a pipe, a socket or a terminal without waiting. To a file, process.stdout would block until it is written.
  const send = (block: string, callback: (error?: Error | null) => void) =>
    process.stdout instanceof Socket ? process.stdout.write(block, callback) : writeFile(STDOUT, block, callback)
  let lines: string[] = []
  let length = 0
  let sending = { lines: 0, length: 0 }
  let dropped = 0
  let failed = false

  const flush = (): void => {
    if (sending.lines > 0 || lines.length === 0) return
    sending = { lines: lines.length, length }
    // After a failure, such as a full disk, the file may end in the middle of a line.
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

  // Without these listeners an error of stdout or stderr would end the process.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  setInterval(flush, FLUSH_INTERVAL_MS).unref()
  process.on('exit', () => {
    try {
      writeFileSync(STDOUT, lines.join(''))
    } catch {
      // The reader has stopped or gone, or the disk is full. This error cannot be logged anywhere.
    }
  })

  return {
    write(line) {
      if (length + sending.length + line.length > MAX_WAITING) dropped += 1
      else {
        push(line)
        if (length >= BLOCK_LENGTH) flush()
      }
    },
  }
}
