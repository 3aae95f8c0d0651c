// Loaded into every process under test with `--import`. It reports the processor time and memory of the process, and ends
// the process when the benchmark ends.
import { handleCalls } from './ipc.js'

export interface Usage {
  /** Processor time since the start, user and system, in microseconds. */
  cpu: number
  /** Resident memory, in bytes. */
  rss: number
}

handleCalls({
  usage: (): Usage => {
    const { user, system } = process.cpuUsage()
    return { cpu: user + system, rss: process.memoryUsage.rss() }
  },
})
process.on('disconnect', () => process.exit())
