// Where the log of the process goes: to stdout, in blocks. A write for each line costs more than to make the line.
import { type DestinationStream, destination } from 'pino'

/** Lines are written as soon as there are so many characters of them, and none waits for longer than so many milliseconds. */
const BLOCK = 8192
const LATEST_MS = 200

/** Opens it. What waits is written however the process ends, but for a SIGKILL. */
export const openLog = (): DestinationStream => {
  const stdout = destination({ sync: true })
  let block = ''
  let timer: NodeJS.Timeout | undefined
  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    stdout.write(block)
    block = ''
  }
  process.once('exit', flush)
  return {
    write(line) {
      block += line
      if (block.length >= BLOCK) flush()
      else timer ??= setTimeout(flush, LATEST_MS).unref()
    },
  }
}
