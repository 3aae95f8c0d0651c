// How much one organisation slows down another: an entry by id, one request at a time, alone and while callers with the
// key of another organisation request as many large pages as they can. On the server.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Received } from './callers.js'
import type { Database } from './databases.js'
import { startService } from './peers.js'
import { type Server, startCallers, startLoad } from './processes.js'
import { quantiles } from './timing.js'
import { usually } from './trial.js'

export const besideTitles = {
  alone: 'nobody',
  readers: 'callers who read',
  unread: 'callers who never read',
  assistants: 'assistants',
}
export type Beside = keyof typeof besideTitles

const CALLERS = 8
const PIPELINED = 20
/** The call of an assistant. */
const params = { name: 'find_entries', arguments: { limit: 100 } }
const CALL = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
/** How long a caller that reads nothing keeps a connection. */
const UNREAD_MS = 500
/** How long the callers run before the entry is requested, in milliseconds. */
const BEFORE_MS = 200
/** The service is idle when it has used less than a tenth of the time in this many checks in a row. */
const CHECKS = 2
const CHECK_MS = 100
/** The turns of each kind. The first are discarded, because V8 is still compiling the service. */
const TURNS = usually({ warmUp: 2, counted: 8 }, { warmUp: 0, counted: 1 })
/** How many turns the entry is requested alone before the turns begin. */
const FIRST = 4
/** Stands for the times of a turn in which a request for the entry failed. */
const REFUSED = Number.POSITIVE_INFINITY

export const neighbourMethod = `On the server: an entry by id, one request at a time, alone and while ${CALLERS} callers use the key of another
organisation. Each caller sends ${PIPELINED} requests for 1,000 entries in one packet, an assistant as many calls for 100. When it has all responses, or its
connection has ended, it sends them again on a new connection. A caller that never reads opens a new connection every
half second. A ratio compares the times of all ${TURNS.counted} turns together.`

export interface Neighbour {
  /** The time of the entry by id over all turns, in milliseconds, and how many turns ended with a failed request. */
  times: Record<Beside, { p50: number; p99: number; failed: number }>
  received: Record<Exclude<Beside, 'alone'>, Received>
  ratios: Record<string, number>
}

/** Waits until the service is idle. */
const idle = async ({ usage }: Server): Promise<void> => {
  for (let checks = 0; checks < CHECKS; checks++) {
    const { cpu } = await usage()
    const start = performance.now()
    await sleep(CHECK_MS)
    const used = ((await usage()).cpu - cpu) / 1000
    if (used > (performance.now() - start) / 10) checks = -1
  }
}

/**
 * Measures in turns: alone, beside callers who read, and beside callers who do not. The times of all turns of a kind are
 * put together, because one turn has too few requests for a 99th percentile that the next run reproduces.
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

  const times: Record<Beside, number[]> = { alone: [], readers: [], unread: [], assistants: [] }
  const byId = (who: Beside): Promise<number[]> =>
    service.times(load, path, ms).catch((error: Error) => {
      say(`a request for the entry failed beside ${besideTitles[who]}: ${error.message.split('\r\n')[0]}`)
      return [REFUSED]
    })

  const received = { readers: nothing(), unread: nothing(), assistants: nothing() }
  const beside = async (who: keyof typeof received): Promise<number[]> => {
    await callers.begin({
      port: service.port,
      ...(who === 'assistants' ? { paths: ['/mcp'], body: CALL } : { paths: ['/v1/entries?perPage=1000'] }),
      keys: [other.key],
      callers: CALLERS,
      pipelined: PIPELINED,
      // It cannot notice that the service has closed the connection, because it would first have to read the responses.
      ...(who === 'unread' && { leaveAfterMs: UNREAD_MS }),
    })
    await sleep(BEFORE_MS)
    const taken = await byId(who)
    const { connections, pages, refusals } = await callers.end()
    received[who].connections += connections
    received[who].pages += pages
    received[who].refusals += refusals
    await idle(service)
    return taken
  }

  await service.times(load, path, FIRST * ms)
  // The turns up to 0 are the warm-up.
  for (let turn = 1 - TURNS.warmUp; turn <= TURNS.counted; turn++) {
    const taken = {
      alone: await byId('alone'),
      readers: await beside('readers'),
      unread: await beside('unread'),
      assistants: await beside('assistants'),
    }
    if (turn > 0) for (const who of Object.keys(times) as Beside[]) times[who].push(...taken[who])
    if (turn >= 0) say(turn === 0 ? 'warmed up' : `turn ${turn} of ${TURNS.counted}`)
  }

  const [alone, readers, unread] = [summary(times.alone), summary(times.readers), summary(times.unread)]
  const assistants = summary(times.assistants)
  return {
    times: { alone, readers, unread, assistants },
    received,
    ratios: {
      'neighbour.byIdP99': readers.p99 / alone.p99,
      'neighbour.byIdP50': readers.p50 / alone.p50,
      'neighbour.unreadByIdP99': unread.p99 / alone.p99,
      'neighbour.unreadByIdP50': unread.p50 / alone.p50,
      'neighbour.assistantsByIdP99': assistants.p99 / alone.p99,
      'neighbour.assistantsByIdP50': assistants.p50 / alone.p50,
    },
  }
}

const summary = (times: readonly number[]) => ({
  ...quantiles(times),
  failed: times.filter((time) => time === REFUSED).length,
})

const nothing = (): Received => ({ connections: 0, pages: 0, refusals: 0 })
