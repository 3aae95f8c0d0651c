// Starts the processes of the benchmark. Where the system allows it, each is kept on one core.
import { type ChildProcess, execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../test/support/process.js'
import type { Arrivals, Arrived } from './arrivals.js'
import type { NeighbourLoad, Received } from './callers.js'
import { callChild } from './ipc.js'
import type { Load } from './load.js'
import type { DriverLoad } from './peers/raw-driver.js'
import type { Usage } from './probe.js'
import type { Timing } from './timing.js'

/** The result of one measurement. */
export interface Measured extends Timing {
  /** Processor time of the process under test per request, in microseconds. */
  cpu: number
  /** Its resident memory, in MiB. */
  rss: number
}

/** The servers under test run on one core, the load generator and the replayer on the other. */
export const SERVER_CORE = 0
export const LOAD_CORE = 1

const moduleFile = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const START_MS = 20_000
const running = new Set<ChildProcess>()

interface Options {
  args?: string[]
  env?: Record<string, string>
  /** Path of the node binary. */
  node?: string | undefined
  /** The core on which all threads of the process are kept, if the system has taskset. */
  core?: number | undefined
}

const start = (file: string, { args = [], env = {}, node = process.execPath }: Options): ChildProcess => {
  const child = fork(file, args, {
    execPath: node,
    execArgv: ['--import', new URL('probe.js', import.meta.url).href],
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', openSync('/dev/null', 'w'), 'inherit', 'ipc'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

let pins = true
const pin = ({ pid }: ChildProcess, core: number | undefined): void => {
  if (core === undefined || !pins) return
  try {
    execFileSync('taskset', ['-a', '-p', '-c', String(core), String(pid)], { stdio: 'ignore' })
  } catch {
    pins = false
  }
}
/** Whether the processes could be kept on their cores. */
export const pinned = (): boolean => pins

const stop = async (child: ChildProcess): Promise<void> => {
  if (!running.has(child)) return
  child.disconnect()
  await once(child, 'exit')
}

export const stopAll = async (): Promise<void> => {
  await Promise.all([...running].map(stop))
}

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })

const measured = async (child: ChildProcess, run: () => Promise<Timing>): Promise<Measured> => {
  const before = await callChild<Usage>(child, 'usage')
  const timing = await run()
  const after = await callChild<Usage>(child, 'usage')
  return { ...timing, cpu: (after.cpu - before.cpu) / timing.requests, rss: after.rss / 2 ** 20 }
}

/** The load generator. */
export const startLoad = (core?: number) => {
  const child = start(moduleFile('load.js'), { core })
  pin(child, core)
  return {
    run: (load: Load) => callChild<Timing>(child, 'load', load),
    times: (load: Load) => callChild<number[]>(child, 'times', load),
  }
}
export type LoadGenerator = ReturnType<typeof startLoad>

/** The neighbours. */
export const startCallers = () => {
  const child = start(moduleFile('callers.js'), {})
  return {
    begin: (load: NeighbourLoad) => callChild<void>(child, 'begin', load),
    end: () => callChild<Received>(child, 'end'),
  }
}

/** The crowd. */
export const startCrowd = () => {
  const child = start(moduleFile('arrivals.js'), {})
  return { arrive: (load: Arrivals) => callChild<Arrived>(child, 'arrive', load) }
}

/** The stand-in for the database, which speaks MongoDB's protocol on `port`. */
export const startReplayer = async (args: [host: string, port: string], core?: number) => {
  const child = start(moduleFile('replayer.js'), { args })
  pin(child, core)
  return {
    port: await callChild<number>(child, 'port'),
    replay: () => callChild<number>(child, 'replay'),
    unknown: () => callChild<number>(child, 'unknown'),
  }
}

/** Starts a server under test. `file` is relative to this file; `headers` are sent with every request. */
export const startServer = async (file: string, options: Options, headers: Record<string, string> = {}) => {
  const port = await freePort()
  const child = start(moduleFile(file), { ...options, env: { ...options.env, PORT: String(port) } })
  const latest = Date.now() + START_MS
  while (!(await isOpen(port))) {
    if (!running.has(child)) throw new Error(`${file} ended with code ${child.exitCode} instead of listening`)
    if (Date.now() > latest) throw new Error(`${file} does not listen`)
    await sleep(50)
  }
  pin(child, options.core)
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    port,
    usage: () => callChild<Usage>(child, 'usage'),
    /** The JSON of a response. Rejects unless it is a 200. */
    async get(path: string): Promise<unknown> {
      const response = await fetch(url + path, { headers })
      if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`)
      return response.json()
    },
    measure: (load: LoadGenerator, path: string, concurrency: number, ms: number): Promise<Measured> =>
      measured(child, () => load.run({ port, path, headers, concurrency, ms })),
    /** Sends one request at a time. Returns the duration of each, in milliseconds. */
    times: (load: LoadGenerator, path: string, ms: number): Promise<number[]> =>
      load.times({ port, path, headers, concurrency: 1, ms }),
    stop: () => stop(child),
  }
}
export type Server = Awaited<ReturnType<typeof startServer>>

/** The driver without HTTP. */
export const startDriver = (uri: string, organisation: string, core?: number) => {
  const env = { MONGODB_URI: uri, ORGANISATION: organisation }
  const child = start(moduleFile('peers/raw-driver.js'), { env })
  pin(child, core)
  return {
    measure: (load: DriverLoad): Promise<Measured> => measured(child, () => callChild<Timing>(child, 'load', load)),
    explain: (path: string, count = false) => callChild<unknown>(child, 'explain', { path, count }),
    stop: () => stop(child),
  }
}
export type Driver = ReturnType<typeof startDriver>
