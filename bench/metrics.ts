// What metrics cost: the processor time of a request with METRICS_PORT, read once a second, against the time without it.
// On the server, with `npm run bench -- --metrics`.
import { freePort } from '../test/support/process.js'
import type { Database } from './databases.js'
import { startService } from './peers.js'
import { type LoadGenerator, startLoad } from './processes.js'
import { type RequestName, requests } from './requests.js'
import { measureRounds, type Ratios, ratio, spreadOf } from './rounds.js'
import { usually } from './trial.js'

/** How many times both are started and measured, since two processes of the same build differ. */
const PROCESSES = usually(5, 1)
const CONCURRENCY = 16
const READ_MS = 1000
/** Both take short turns, so that a machine that is slow for a while slows both. */
const TURNS = usually({ warmUp: 8, counted: 10 }, { warmUp: 0, counted: 1 })
const compared = ['byId', 'list50'] as const satisfies RequestName[]

/** The processor time of each request with metrics against that without. */
const measure = async (load: LoadGenerator, database: Database, ms: number): Promise<number[]> => {
  const metricsPort = await freePort()
  const without = await startService(database, { uri: database.uri })
  const service = await startService(database, { uri: database.uri, metricsPort })
  const { data } = (await service.get('/v1/entries?perPage=1')) as { data: [{ id: string; dispatch: string }] }
  const paths = requests(database.entries, { entry: data[0].id, dispatch: data[0].dispatch })
  const read = () => fetch(`http://127.0.0.1:${metricsPort}/metrics`).then((response) => response.text())
  const reading = setInterval(read, READ_MS)
  const ratios = []
  for (const name of compared) {
    const cases = {
      on: () => service.measure(load, paths[name], CONCURRENCY, ms),
      off: () => without.measure(load, paths[name], CONCURRENCY, ms),
    }
    const { on, off } = await measureRounds(cases, TURNS, () => {})
    ratios.push(ratio('cpu', on, off))
  }
  clearInterval(reading)
  await Promise.all([service.stop(), without.stop()])
  return ratios
}

/** @param ms how long each turn is */
export const metricsCost = async (database: Database, ms: number, say: (text: string) => void): Promise<Ratios> => {
  const load = startLoad()
  const ratios: number[][] = compared.map(() => [])
  for (let n = 1; n <= PROCESSES; n++) {
    for (const [i, value] of (await measure(load, database, ms)).entries()) ratios[i]?.push(value)
    const latest = compared.map((name, i) => `${name} ${ratios[i]?.at(-1)?.toFixed(2)}`)
    say(`processes ${n} of ${PROCESSES}: ${latest.join(', ')}`)
  }
  return Object.assign({}, ...compared.map((name, i) => spreadOf(`metrics.${name}`, ratios[i] as number[])))
}
