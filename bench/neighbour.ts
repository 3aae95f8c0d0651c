// What one organisation suffers from another: an entry by its id, one request at a time, alone and beside callers with the
// key of another organisation, who ask for as many large pages as they can. On the server.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Given } from './callers.js'
import type { Database } from './databases.js'
import { startService } from './peers.js'
import { type Server, startCallers, startLoad } from './processes.js'
import { quantiles } from './timing.js'

export const besideTitles = { alone: 'nobody', readers: 'callers who read', unread: 'callers who never read' }
export type Beside = keyof typeof besideTitles

const CALLERS = 8
const PIPELINED = 20
/** How long the callers are at it before the entry is asked for, in milliseconds. */
const BEFORE_MS = 200
/** The service is at rest when it has used less than a tenth of the time, so many looks in a row. */
const LOOKS = 2
const LOOK_MS = 100
/** Turns of each kind: a service still compiles in the first ones, which do not count. */
const TURNS = { warmUp: 2, counted: 8 }
/** How many turns the entry is asked for at first, alone. */
const FIRST = 4
/** Stands for the times of a turn in which the entry was refused. */
const REFUSED = Number.POSITIVE_INFINITY

export const neighbourMethod = `On the server: an entry by its id, one request at a time, alone and beside ${CALLERS} callers with the key of another
organisation. Each of them sends ${PIPELINED} requests for 1,000 entries in one packet, and when all are answered or the
connection has ended, again on a new one; those who never read take a new one every half second. A ratio compares the
times of ${TURNS.counted} turns taken together.`

export interface Neighbour {
  /** The time of the entry by its id, in milliseconds, over all turns, and how many turns a refusal ended. */
  times: Record<Beside, { p50: number; p99: number; refused: number }>
  given: Record<Exclude<Beside, 'alone'>, Given>
  ratios: Record<string, number>
}

const rest = async ({ usage }: Server): Promise<void> => {
  for (let looks = 0; looks < LOOKS; looks++) {
    const { cpu } = await usage()
    const start = performance.now()
    await sleep(LOOK_MS)
    const used = ((await usage()).cpu - cpu) / 1000
    if (used > (performance.now() - start) / 10) looks = -1
  }
}

/**
 * Measures in turns: alone, beside callers who read, beside callers who do not. The times of all turns of a kind are taken
 * together, since the slowest of a hundred are too few in one turn to come out alike in the next run.
 * @param ms how long each turn is
 */
export const neighbour = async (
  [own, other]: readonly [Database, Database],
  ms: number,
  say: (text: string) => void,
): Promise<Neighbour> => {
  const load = startLoad()
  const callers = startCallers()
  const service = await startService(own, { uri: own.uri })
  const { data } = (await service.get('/v1/entries?page=1000&perPage=1')) as { data: { id: string }[] }
  const path = `/v1/entries/${data[0]?.id}`

  const times: Record<Beside, number[]> = { alone: [], readers: [], unread: [] }
  const byId = (who: Beside): Promise<number[]> =>
    service.times(load, path, ms).catch((error: Error) => {
      say(`the entry by its id was refused beside ${besideTitles[who]}: ${error.message.split('\r\n')[0]}`)
      return [REFUSED]
    })

  const given = { readers: nothing(), unread: nothing() }
  const beside = async (who: keyof typeof given): Promise<number[]> => {
    await callers.begin({
      port: service.port,
      path: '/v1/entries?perPage=1000',
      headers: { authorization: `Bearer ${other.key}` },
      callers: CALLERS,
      pipelined: PIPELINED,
      read: who === 'readers',
    })
    await sleep(BEFORE_MS)
    const taken = await byId(who)
    const { connections, pages, refusals } = await callers.end()
    given[who].connections += connections
    given[who].pages += pages
    given[who].refusals += refusals
    await rest(service)
    return taken
  }

  await service.times(load, path, FIRST * ms)
  // Turns up to 0 warm up.
  for (let turn = 1 - TURNS.warmUp; turn <= TURNS.counted; turn++) {
    const taken = {
      alone: await byId('alone'),
      readers: await beside('readers'),
      unread: await beside('unread'),
    }
    if (turn > 0) for (const who of Object.keys(times) as Beside[]) times[who].push(...taken[who])
    if (turn >= 0) say(turn === 0 ? 'warmed up' : `turn ${turn} of ${TURNS.counted}`)
  }

  const [alone, readers, unread] = [summary(times.alone), summary(times.readers), summary(times.unread)]
  return {
    times: { alone, readers, unread },
    given,
    ratios: {
      'neighbour.byIdP99': readers.p99 / alone.p99,
      'neighbour.byIdP50': readers.p50 / alone.p50,
      'neighbour.unreadByIdP99': unread.p99 / alone.p99,
      'neighbour.unreadByIdP50': unread.p50 / alone.p50,
    },
  }
}

const summary = (times: readonly number[]) => ({
  ...quantiles(times),
  refused: times.filter((time) => time === REFUSED).length,
})

const nothing = (): Given => ({ connections: 0, pages: 0, refusals: 0 })
