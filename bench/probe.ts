// Loaded into every process under test with `--import`: tells its processor time and memory, and ends it together with
// the benchmark.
import { answerParent } from './ipc.js'

export interface Usage {
  /** Processor time since the start, user and system, in microseconds. */
  cpu: number
  /** Resident memory, in bytes. */
  rss: number
}

answerParent({
  usage: (): Usage => {
    const { user, system } = process.cpuUsage()
    return { cpu: user + system, rss: process.memoryUsage.rss() }
  },
})
process.on('disconnect', () => process.exit())
