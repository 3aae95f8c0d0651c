// What becomes of four times as many requests as two instances can serve, behind HAProxy with the settings of
// docs/scaling.md. On the server, with `HAPROXY_PATH=haproxy npm run bench -- --overload`.
import { setTimeout as sleep } from 'node:timers/promises'
import { startProxy } from '../acceptance/support/haproxy.js'
import type { Arrived } from './arrivals.js'
import { type Database, issueKey, open } from './databases.js'
import { startService } from './peers.js'
import { type Server, startCrowd } from './processes.js'
import type { Ratios } from './rounds.js'
import { quantiles, timedAlone } from './timing.js'
import { usually } from './trial.js'

/** Of these keys each has an equal part of the load; one more has a single caller. */
const KEYS = 20
/** What docs/scaling.md says for two instances and a database that has two cores. */
const POOL_SIZE = 16
/** So many callers keep the instances busy, and none of their requests waits for long. */
const CALLERS = 48
const CAPACITY_MS = usually(20_000, 1000)
const TIMES = 4
/** The pause between two looks at the health of an instance, and between two requests of the single caller. */
const LOOK_MS = 100

export interface Overload {
  /** How many requests are served in a second while no more arrive than that: the mean of before and afterwards. */
  capacity: number
  arrived: Arrived
  /** The entry by id of the key with a single caller: times in milliseconds. */
  single: Times
  /** `/health/ready` of both instances, each time on a new connection. */
  health: Times
  /** Of the checks of the proxy. */
  failedChecks: number
  timesDown: number
  /** The most memory of an instance, in MiB. */
  memory: number
  ratios: Ratios
}

interface Times {
  p50: number
  p99: number
  slowest: number
  /** How many got no 200. */
  failed: number
}

/** A request that failed took infinitely long. */
const timesOf = (times: readonly number[]): Times => ({
  ...quantiles(times),
  slowest: Math.max(...times.filter(Number.isFinite)),
  failed: times.filter((time) => !Number.isFinite(time)).length,
})

const issueKeys = async ({ uri, organisation }: Database): Promise<string[]> => {
  const store = open(uri)
  try {
    return await Promise.all(Array.from({ length: KEYS + 1 }, () => issueKey(store, organisation)))
  } finally {
    await store.close()
  }
}

export const overload = async (database: Database, ms: number, say: (text: string) => void): Promise<Overload> => {
  const [key, ...keys] = (await issueKeys(database)) as [string, ...string[]]
  const instance = () => startService(database, { uri: database.uri, poolSize: POOL_SIZE })
  const instances: [Server, Server] = [await instance(), await instance()]
  const { data } = (await instances[0].get('/v1/entries?perPage=50')) as { data: { id: string }[] }
  const byId = data.map(({ id }) => `/v1/entries/${id}`)
  const paths = byId.flatMap((path, n) => [
    path,
    `/v1/entries?perPage=50&page=${n + 1}`,
    '/v1/sync/entries?perPage=50',
    `/v1/entries?perPage=50&sortBy=createdAt&page=${n + 1}`,
  ])
  const proxy = await startProxy(instances.map(({ port }) => port))
  const crowd = startCrowd()
  const port = Number(new URL(proxy.url).port)
  try {
    const work = (ms: number) => crowd.arrive({ port, paths, keys, ms, callers: CALLERS })
    await work(CAPACITY_MS / 2)
    const { perSecond: before, others } = await work(CAPACITY_MS)
    say(`before: ${before.toFixed(0)} a second, ${JSON.stringify(others)}`)

    const checkedBefore = await proxy.instances()
    let isOver = false
    let memory = 0
    const [health, single]: [number[], number[]] = [[], []]
    const again = async (times: number[], url: string, headers = {}) => {
      for (; !isOver; await sleep(LOOK_MS)) times.push(await timedAlone(url, headers))
    }
    const looking = Promise.all([
      ...instances.map(({ url }) => again(health, `${url}/health/ready`)),
      again(single, proxy.url + byId[0], { authorization: `Bearer ${key}` }),
      ...instances.map(async (instance) => {
        for (; !isOver; await sleep(LOOK_MS)) {
          const { rss } = await instance.usage()
          memory = Math.max(memory, rss / 2 ** 20)
        }
      }),
    ])
    const arrived = await crowd.arrive({ port, paths, keys, ms, perSecond: TIMES * before })
    isOver = true
    await looking
    const checkedAfter = await proxy.instances()
    const more = (name: 'failedChecks' | 'timesDown') =>
      checkedAfter.reduce((sum, instance, n) => sum + instance[name] - (checkedBefore[n]?.[name] ?? 0), 0)
    const afterwards = await work(CAPACITY_MS)
    say(`afterwards: ${afterwards.perSecond.toFixed(0)} a second`)
    const capacity = (before + afterwards.perSecond) / 2
    const healthTimes = timesOf(health)
    return {
      capacity,
      arrived,
      single: timesOf(single),
      health: healthTimes,
      failedChecks: more('failedChecks'),
      timesDown: more('timesDown'),
      memory,
      ratios: { 'overload.served': arrived.perSecond / capacity, 'overload.healthP99': healthTimes.p99 },
    }
  } finally {
    proxy.stop()
  }
}
