// What becomes of four times as many requests as two instances can serve, behind HAProxy with the settings of
// docs/scaling.md. On the server, with `npm run bench -- --overload`.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { keysOf } from '../src/keys/keys.js'
import type { Arrived } from './arrivals.js'
import { type Database, open } from './databases.js'
import { startService } from './peers.js'
import { type Server, startCrowd } from './processes.js'
import { quantiles } from './timing.js'

const KEYS = 20
const DAY_MS = 86_400_000
/** As many callers as keep the instances busy, without a request that waits for long. */
const CALLERS = 48
const CAPACITY_MS = 15_000
const TIMES = 4
const LOOK_MS = 100

export interface Overload {
  /** Requests served in a second: when the callers wait for each other, and at four times as many arrivals. */
  capacity: number
  served: number
  arrived: Arrived
  /** `/health/ready` of each instance, on a new connection: milliseconds. */
  health: { p50: number; p99: number; slowest: number; failed: number }
  failedChecks: number
  timesOut: number
  memory: number
}

const keysFor = async ({ uri, organisation }: Database): Promise<string[]> => {
  const store = open(uri)
  const expiresAt = new Date(Date.now() + DAY_MS)
  const keys = keysOf(store, () => {})
  try {
    const issue = () => keys.issue({ organisation, name: 'Benchmark', expiresAt })
    return await Promise.all(Array.from({ length: KEYS }, issue))
  } finally {
    await store.close()
  }
}

const startProxy = async (ports: number[], port: number) => {
  const folder = mkdtempSync(join(tmpdir(), 'overload-'))
  const page = readFileSync('docs/scaling.md', 'utf8')
  const settings = /```text\n(defaults\n[\s\S]*?)```/.exec(page)?.[1] as string
  const lines = settings.replace(/^ +server .*\n/gm, '')
  const config = [
    'global',
    `  stats socket ${join(folder, 'stats')} level admin`,
    lines.trimEnd(),
    ...ports.map((each, n) => `    server i${n} 127.0.0.1:${each}`),
    'frontend all',
    `    bind 127.0.0.1:${port}`,
    '    maxconn 9000',
    '    default_backend instances',
    '',
  ].join('\n')
  writeFileSync(join(folder, 'config'), config)
  const child = spawn('haproxy', ['-db', '-f', join(folder, 'config')], { stdio: ['ignore', 'ignore', 'inherit'] })
  await sleep(3000)
  const stats = () =>
    new Promise<Record<string, string>[]>((resolve, reject) => {
      let text = ''
      const socket = connect(join(folder, 'stats'))
      socket.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
      socket.on('error', reject).on('end', () => {
        const [head = '', ...rows] = text.trim().split('\n')
        const names = head.replace(/^# /, '').split(',')
        resolve(rows.map((row) => Object.fromEntries(row.split(',').map((value, i) => [names[i], value]))))
      })
      socket.end('show stat\n')
    })
  return {
    servers: async () =>
      (await stats()).filter(({ pxname, svname }) => pxname === 'instances' && /^i\d/.test(svname ?? '')),
    stop: () => {
      child.kill()
      rmSync(folder, { recursive: true })
    },
  }
}

const ready = (port: number): Promise<number> =>
  new Promise((resolve) => {
    const start = performance.now()
    get({ port, host: '127.0.0.1', path: '/health/ready', agent: false, timeout: 10_000 }, (response) => {
      response
        .resume()
        .on('end', () => resolve(response.statusCode === 200 ? performance.now() - start : Number.POSITIVE_INFINITY))
    })
      .on('timeout', () => resolve(Number.POSITIVE_INFINITY))
      .on('error', () => resolve(Number.POSITIVE_INFINITY))
  })

export const overload = async (database: Database, ms: number, say: (text: string) => void): Promise<Overload> => {
  const keys = await keysFor(database)
  const instances = [await startService(database, database), await startService(database, database)]
  const port = 29_000 + Math.floor(Math.random() * 1000)
  const proxy = await startProxy(
    instances.map(({ port }) => port),
    port,
  )
  const crowd = startCrowd()
  const { data } = (await (instances[0] as Server).get('/v1/entries?perPage=50')) as { data: { id: string }[] }
  const paths = data.flatMap(({ id }, n) => [
    `/v1/entries/${id}`,
    n % 2 === 0 ? `/v1/entries?perPage=50&page=${n + 1}` : `/v1/sync/entries?perPage=20`,
  ])
  await crowd.arrive({ port, paths, keys, ms: CAPACITY_MS, callers: CALLERS })
  const usual = await crowd.arrive({ port, paths, keys, ms: CAPACITY_MS, callers: CALLERS })
  const capacity = usual.served / (CAPACITY_MS / 1000)
  say(`capacity ${capacity.toFixed(0)} a second: ${JSON.stringify(usual)}`)

  const before = await proxy.servers()
  let isOver = false
  const times: number[] = []
  let memory = 0
  const looking = Promise.all(
    instances.map(async (instance) => {
      while (!isOver) {
        times.push(await ready(instance.port))
        memory = Math.max(memory, (await instance.usage()).rss / 2 ** 20)
        await sleep(LOOK_MS)
      }
    }),
  )
  const arrived = await crowd.arrive({ port, paths, keys, ms, perSecond: TIMES * capacity })
  isOver = true
  await looking
  const after = await proxy.servers()
  proxy.stop()
  say(
    JSON.stringify(
      after.map(({ connect, reuse, econ, wretr, wredis, qmax, smax }) => ({
        connect,
        reuse,
        econ,
        wretr,
        wredis,
        qmax,
        smax,
      })),
    ),
  )
  const more = (name: string) =>
    after.reduce((sum, server, n) => sum + Number(server[name]) - Number(before[n]?.[name]), 0)
  return {
    capacity,
    served: arrived.served / (ms / 1000),
    arrived,
    health: {
      ...quantiles(times),
      slowest: Math.max(...times),
      failed: times.filter((time) => time === Number.POSITIVE_INFINITY).length,
    },
    failedChecks: more('chkfail'),
    timesOut: more('chkdown'),
    memory,
  }
}
