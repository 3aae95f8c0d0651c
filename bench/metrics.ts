// What metrics cost: the processor time of a request with METRICS_PORT, read once a second, against the time without it.
// On the server, with `npm run bench -- --metrics`.
import { freePort } from '../test/support/process.js'
import type { Database } from './databases.js'
import { startService } from './peers.js'
import { type LoadGenerator, startLoad } from './processes.js'
import { type RequestName, requests } from './requests.js'
import { type Ratios, spreadOf } from './rounds.js'

/** How many times both are started and measured, one after the other. */
const TURNS = 5
const CONCURRENCY = 16
const READ_MS = 1000
const compared = ['byId', 'list50'] as const satisfies RequestName[]

/** The processor time of each request, in microseconds. */
const measure = async (load: LoadGenerator, database: Database, ms: number, metricsPort?: number) => {
  const service = await startService(database, { uri: database.uri, metricsPort })
  const { data } = (await service.get('/v1/entries?perPage=1')) as { data: [{ id: string; dispatch: string }] }
  const paths = requests(database.entries, { entry: data[0].id, dispatch: data[0].dispatch })
  const read = () => fetch(`http://127.0.0.1:${metricsPort}/metrics`).then((response) => response.text())
  const reading = metricsPort === undefined ? undefined : setInterval(read, READ_MS)
  const times = []
  for (const name of compared) {
    await service.measure(load, paths[name], CONCURRENCY, ms)
    times.push((await service.measure(load, paths[name], CONCURRENCY, ms)).cpu)
  }
  clearInterval(reading)
  await service.stop()
  return times
}

/** @param ms how long each request is measured, after as long for V8 to compile */
export const metricsCost = async (database: Database, ms: number, say: (text: string) => void): Promise<Ratios> => {
  const load = startLoad()
  const ratios: number[][] = compared.map(() => [])
  for (let turn = 1; turn <= TURNS; turn++) {
    const off = await measure(load, database, ms)
    const on = await measure(load, database, ms, await freePort())
    for (const [n, values] of ratios.entries()) values.push((on[n] as number) / (off[n] as number))
    say(`turn ${turn} of ${TURNS}: ${compared.map((name, n) => `${name} ${ratios[n]?.at(-1)?.toFixed(2)}`).join(', ')}`)
  }
  return Object.assign({}, ...compared.map((name, n) => spreadOf(`metrics.${name}`, ratios[n] as number[])))
}
