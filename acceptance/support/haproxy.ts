// HAProxy before instances of the service, with the settings of docs/scaling.md.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { freePort } from '../../test/support/process.js'

const { HAPROXY_PATH } = process.env

/** Whether tests have no HAProxy: they run only where HAPROXY_PATH names it. */
export const isWithoutProxy = HAPROXY_PATH === undefined

const page = readFileSync('docs/scaling.md', 'utf8')

/** What the page says that SHUTDOWN_DELAY_MS should be. */
export const shutdownDelayMs = Number(/`SHUTDOWN_DELAY_MS=(\d+)`/.exec(page)?.[1])

/** The settings of the page for instances on these ports; the front and the statistics are added. */
const settings = (instances: readonly number[], front: number, statistics: number): string => {
  const [, shown] = /^```text\n(global\n.*?)```/ms.exec(page) ?? []
  if (shown === undefined) throw new Error('docs/scaling.md has no settings of HAProxy')
  const servers = instances.map((port, i) => `    server ${i} 127.0.0.1:${port}`)
  return [
    shown.replace(/^ +server .*\n/gm, '') + servers.join('\n'),
    ...['frontend front', `    bind 127.0.0.1:${front}`, '    default_backend instances'],
    ...['frontend statistics', `    bind 127.0.0.1:${statistics}`, '    stats enable', '    stats uri /', ''],
  ].join('\n')
}

/** What the proxy knows of an instance. */
export interface Instance {
  /** UP or DOWN. While checks say otherwise, but not often enough yet, it is followed by their count, as in `UP 1/3`. */
  readonly status: string
  /** Checks that failed while it was up, and how often it was taken out. */
  readonly failedChecks: number
  readonly timesDown: number
  /** Requests that were tried again, and those tried on another one. */
  readonly retries: number
  readonly redispatches: number
  /** Requests that are under way on it. */
  readonly active: number
}

export interface Proxy {
  readonly url: string
  /** The instances, in the order of their ports. */
  instances(): Promise<Instance[]>
  /** Waits until the proxy says this of an instance. */
  until(instance: number, status: 'UP' | 'DOWN'): Promise<void>
  /** Ends it at once. */
  stop(): void
}

/** Starts HAProxy before the instances on these ports. It believes in each until checks fail. */
export const startProxy = async (ports: readonly number[]): Promise<Proxy> => {
  if (HAPROXY_PATH === undefined) throw new Error('HAPROXY_PATH must name the program haproxy')
  const [front, statistics] = [await freePort(), await freePort()]
  const folder = mkdtempSync(join(tmpdir(), 'haproxy-'))
  writeFileSync(`${folder}/haproxy.cfg`, settings(ports, front, statistics))
  const child = spawn(HAPROXY_PATH, ['-db', '-f', `${folder}/haproxy.cfg`], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const stop = (): void => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true })
  }
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk
    })
  }

  const instances = async (): Promise<Instance[]> => {
    const lines = (await (await fetch(`http://127.0.0.1:${statistics}/;csv`)).text()).split('\n')
    const names = String(lines[0]).replace(/^# /, '').split(',')
    return ports.map((_, i) => {
      const cells = lines.find((line) => line.startsWith(`instances,${i},`))?.split(',')
      const text = (name: string) => String(cells?.[names.indexOf(name)])
      const number = (name: string) => Number(text(name))
      return {
        ...{ status: text('status'), failedChecks: number('chkfail'), timesDown: number('chkdown') },
        ...{ retries: number('wretr'), redispatches: number('wredis'), active: number('scur') },
      }
    })
  }
  const until = async (instance: number, status: string): Promise<void> => {
    while ((await instances())[instance]?.status !== status) await setTimeout(50)
  }
  while (!(await instances().catch(() => undefined))) {
    if (child.exitCode !== null) {
      stop()
      throw new Error(`HAProxy ended:\n${output}`)
    }
    await setTimeout(20)
  }
  return { url: `http://127.0.0.1:${front}`, instances, until, stop }
}
