// The service compared with the least work that it could do: the driver's read, a bare Fastify that sends ready bytes, and
// the entry by id without the rest of the stack. V8 compiles each process differently, so two processes of the same build
// differ by about ten percent. Each ratio is therefore taken of several processes, started one after another.
import type { Database } from './databases.js'
import { startPeers } from './peers.js'
import { type LoadGenerator, SERVER_CORE, startDriver } from './processes.js'
import type { RequestName } from './requests.js'
import { type Case, measureRounds, type Ratios, ratio, spreadOf } from './rounds.js'
import { usually } from './trial.js'

/** How many times the processes are started and measured. */
export const PROCESSES = usually(9, 1)
export const PROCESSES_QUICKLY = usually(5, 1)
const CONCURRENCY = 16
/** The first turn of each case is discarded. It is this many times longer than the others, because V8 is still compiling. */
const FIRST = usually(10, 1)
const FIRST_ROUND = { warmUp: 1, counted: 0 }
const NEXT_ROUNDS = usually({ warmUp: 2, counted: 10 }, { warmUp: 0, counted: 1 })

interface Replayed {
  database: Database
  /** The URI of the replayer. */
  uri: string
  paths: Record<RequestName, string>
}

/**
 * Measures the ratios of processor time.
 * @param processes how many times the processes are started
 * @param ms how long each turn is
 */
export const compareWithLimits = async (
  replayed: Replayed,
  load: LoadGenerator,
  processes: number,
  ms: number,
  say: (text: string) => void,
): Promise<Ratios> => {
  const stackVsBare: number[] = []
  const shareOfLimit: number[] = []
  for (let n = 1; n <= processes; n++) {
    const { stack, share } = await measureOnce(replayed, load, ms)
    stackVsBare.push(stack)
    shareOfLimit.push(share)
    say(`processes ${n} of ${processes}: stackVsBare ${stack.toFixed(2)}, shareOfLimit ${share.toFixed(2)}`)
  }
  return { ...spreadOf('byId.stackVsBare', stackVsBare), ...spreadOf('list50.shareOfLimit', shareOfLimit) }
}

/** Starts each process, measures it, and stops it. */
const measureOnce = async ({ database, uri, paths }: Replayed, load: LoadGenerator, ms: number) => {
  const core = SERVER_CORE
  const { service, bareById, readyBuffer } = await startPeers(database, { uri, core }, ['bareById', 'readyBuffer'])
  const driver = startDriver(uri, database.organisation, core)
  const cases = (ms: number) =>
    ({
      byId: () => service.measure(load, paths.byId, CONCURRENCY, ms),
      bareById: () => bareById.measure(load, paths.byId, CONCURRENCY, ms),
      list50: () => service.measure(load, paths.list50, CONCURRENCY, ms),
      readyBuffer: () => readyBuffer.measure(load, paths.list50, CONCURRENCY, ms),
      rawDriver: () => driver.measure({ path: paths.list50, work: 'rawAggregate', concurrency: CONCURRENCY, ms }),
    }) satisfies Record<string, Case>
  await measureRounds(cases(FIRST * ms), FIRST_ROUND, () => {})
  const results = await measureRounds(cases(ms), NEXT_ROUNDS, () => {})
  for (const started of [service, bareById, readyBuffer, driver]) await started.stop()
  return {
    stack: ratio('cpu', results.bareById, results.byId),
    share: ratio('cpu', results.rawDriver, results.list50) + ratio('cpu', results.readyBuffer, results.list50),
  }
}
