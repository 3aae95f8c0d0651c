// Where the log of the process goes: to stdout, in blocks. To hand every line to the system by itself costs more than to
// make it.
import { type DestinationStream, destination } from 'pino'

/** Lines are written as soon as there are so many bytes of them, or after so many milliseconds. */
const BLOCK_BYTES = 4096
const LATEST_MS = 200
/** What waits for a reader who is slow, in bytes: what goes beyond is dropped, since the service must neither wait nor grow. */
const MOST_WAITING_BYTES = 16 * 1024 * 1024

/** Opens it. When the process exits, also for an error, pino writes what waits. */
export const openLog = (): DestinationStream =>
  destination({
    sync: false,
    minLength: BLOCK_BYTES,
    periodicFlush: LATEST_MS,
    maxLength: MOST_WAITING_BYTES,
  })
