// Copies of entries while processes are killed: writers that use the statements of docs/data.md are killed and frozen, between
// their statements too, and both instances of the service are killed. At the end of each run, a copy has what docs/syncing.md
// promises. So has a copy of one project, between which and others the writers move entries. COPIES_SECONDS says how long. It keeps all of a small machine busy, so other tests do not run beside it.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { keysOf } from '../src/core/keys/keys.js'
import { freePort, printed, type Started, startProgram } from '../test/support/process.js'
import { databaseOn } from '../test/support/store.js'
import { A } from '../test/support/tenants.js'
import type { Report, Stored } from './support/writer.js'

const server = process.env.TEST_MONGODB_URI
const SECONDS = Number(process.env.COPIES_SECONDS)
const SETTLE_MS = 1500
const WRITERS = 4
const IDS_OF_A_WRITER = 60
/** One of the projects of the writers. */
const PROJECT = 'project-1'

interface Item {
  readonly id: string
  readonly duration?: number
  readonly deleted?: true
  readonly changedAt?: string
}

interface Page {
  readonly data: readonly Item[]
  readonly _metadata: { readonly hasMore: boolean; readonly nextCursor: string }
}

const random = (below: number): number => Math.floor(Math.random() * below)

t.test(
  'copies are right at the end of each run while writers and services are killed and frozen',
  {
    skip: server === undefined || !SECONDS ? 'TEST_MONGODB_URI and COPIES_SECONDS are not both set' : false,
    timeout: (SECONDS + 90) * 1000,
  },
  async (t) => {
    const { uri, store, client } = await databaseOn(t, String(server))
    const now = new Date()
    await store.insert('organisations', [{ _id: A, name: 'A', createdAt: now, updatedAt: now }])
    const key = await keysOf(store, () => {}).issue({ organisation: A, name: 'Test' })
    const stored = client.db().collection<Stored>('entries')

    const counts = { writes: 0, runs: 0, checks: 0, excepted: 0, kills: 0, freezes: 0, restarts: 0 }
    /** All writes of each id in order. Those without a stamp have not been acknowledged. */
    const writes = new Map<string, Report[]>()
    const report = (write: Report): void => {
      const known = writes.get(write.id) ?? []
      writes.set(write.id, known)
      if (write.stamp === undefined) known.push(write)
      else Object.assign(known.at(-1) as Report, write)
      counts.writes += write.stamp === undefined ? 0 : 1
    }

    const idsOf = (writer: number) => Array.from({ length: IDS_OF_A_WRITER }, (_, n) => `writer${writer}-${n}`)
    const startWriter = (writer: number): ChildProcess => {
      const known = idsOf(writer).flatMap((id) => writes.get(id) ?? [])
      const first = Math.max(0, ...known.map(({ version }) => version ?? 0)) + 1
      const argv = [uri, A, idsOf(writer).join(), String(first)]
      // Without NODE_OPTIONS, by which tap would count its coverage.
      const child = fork('dist/acceptance/support/writer.js', argv, { env: { PATH: process.env.PATH } })
      child.on('message', (message) => report(message as Report))
      return child
    }
    const writers = Array.from({ length: WRITERS }, (_, writer) => startWriter(writer))
    t.teardown(() => {
      for (const child of writers) child.kill('SIGKILL')
    })

    const ports = [await freePort(), await freePort()]
    const startService = async (port: number | undefined): Promise<Started> => {
      const settings = { PORT: String(port), MONGODB_URI: uri, SYNC_SETTLE_MS: String(SETTLE_MS) }
      const child = startProgram(t, 'src/server.ts', { settings: { ...settings, ENSURE_INDEXES: 'false' } })
      await printed(child, /field-data-api on http/)
      return child
    }
    const services = await Promise.all(ports.map(startService))

    /** A page, from either instance, until one responds. */
    const get = async (query: string): Promise<Page> => {
      for (;;) {
        const url = `http://127.0.0.1:${ports[random(2)]}/v1/sync/entries?${query}`
        const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } }).catch(() => undefined)
        const body = await response?.json().catch(() => undefined)
        if (response?.status === 200 && body !== undefined) return body as Page
        if (response !== undefined && response.status !== 503) throw new Error(JSON.stringify(body))
        await setTimeout(50)
      }
    }

    let isOver = false
    const readers = [
      { perPage: 3, wait: 0 },
      { perPage: 1000, wait: 0 },
      { perPage: 10, wait: 2 },
      { perPage: 1, wait: 0, project: PROJECT },
      { perPage: 10, wait: 2, project: PROJECT },
    ].map((options) => ({
      ...options,
      /** The version that belongs into the copy. */
      versionOf: ({ version, project }: Report) =>
        'project' in options && project !== options.project ? undefined : version,
      scope: 'project' in options ? `&project=${options.project}` : '',
      copy: new Map<string, number | undefined>(),
      delivered: new Map<string, number>(),
      newest: 0,
      horizon: 0,
      cursor: '*',
    }))
    type Reader = (typeof readers)[number]

    /**
     * Whether the promise excepts writes of an id from a page: one of them was committed after a later stamp had been shown,
     * and had not settled when the page was read. What had been written before it was not there any more.
     */
    const areExcepted = async (
      { newest, horizon }: Reader,
      id: string,
      writes: readonly Report[],
    ): Promise<boolean> => {
      // The stamp of a write that was not acknowledged is in the record alone.
      const found = await stored.findOne({ _id: id })
      // Acknowledgements may still be on their way.
      await setTimeout(50)
      const stamps = [(found?.changedAt ?? found?.deletedAt)?.getTime(), ...writes.map(({ stamp }) => stamp)]
      return stamps.some((stamp) => stamp !== undefined && horizon <= stamp && stamp <= newest)
    }
    const run = async (reader: Reader): Promise<void> => {
      const acknowledged = [...writes.values()].flatMap(
        (known) => known.findLast(({ stamp }) => stamp !== undefined) ?? [],
      )
      for (let hasMore = true; hasMore; ) {
        const { perPage, wait, cursor, scope } = reader
        const { now, majority } = await store.now()
        reader.horizon = Math.min(now, majority) - SETTLE_MS
        const page = await get(`perPage=${perPage}&wait=${isOver ? 0 : wait}&cursor=${cursor}${scope}`)
        for (const { id, duration, deleted, changedAt } of page.data) {
          reader.copy.set(id, deleted ? undefined : duration)
          reader.newest = Math.max(reader.newest, Date.parse(changedAt ?? '1970-01-01T00:00:00Z'))
          // A record that was added without a stamp comes once more, when the copy begins.
          const change = `${id} ${deleted ? `deleted ${changedAt}` : duration}`
          if (changedAt !== undefined && !(deleted && scope))
            reader.delivered.set(change, (reader.delivered.get(change) ?? 0) + 1)
        }
        reader.cursor = page._metadata.nextCursor
        hasMore = page._metadata.hasMore
      }
      counts.runs += 1
      const { newest, horizon } = reader
      for (const least of acknowledged) {
        counts.checks += 1
        const { id } = least
        const known = writes.get(id) as Report[]
        const right = known.slice(known.indexOf(least))
        const has = reader.copy.get(id)
        if (right.some((write) => reader.versionOf(write) === has)) continue
        if (await areExcepted(reader, id, right)) counts.excepted += 1
        else
          t.fail(`${id} is ${has} in the copy, but was ${reader.versionOf(least)} when the run began`, {
            right,
            newest,
            horizon,
          })
      }
    }
    const reading = readers.map(async (reader) => {
      while (!isOver) {
        await run(reader)
        await setTimeout(random(200))
      }
    })

    const until = performance.now() + SECONDS * 1000
    const trouble = async (): Promise<void> => {
      while (performance.now() < until) {
        await setTimeout(random(1000))
        const writer = random(WRITERS)
        const child = writers[writer] as ChildProcess
        if (random(2) === 0) {
          child.kill('SIGSTOP')
          await setTimeout(2 * SETTLE_MS)
          child.kill('SIGCONT')
          counts.freezes += 1
        } else {
          child.kill('SIGKILL')
          await once(child, 'exit')
          // The statement that it had begun may still be running in the database.
          await setTimeout(500)
          writers[writer] = startWriter(writer)
          counts.kills += 1
        }
      }
    }
    const restarts = async (): Promise<void> => {
      while (performance.now() < until) {
        await setTimeout(random(4000))
        const instance = random(2)
        services[instance]?.kill('SIGKILL')
        services[instance] = await startService(ports[instance])
        counts.restarts += 1
      }
    }
    await Promise.all([trouble(), restarts()])
    for (const child of writers) child.kill('SIGKILL')
    await setTimeout(2 * SETTLE_MS)
    isOver = true
    await Promise.all(reading)

    const source = await stored.find({ organisation: A, changedAt: { $exists: true } } as object).toArray()
    for (const reader of readers) {
      await run(reader)
      const unstamped = await stored.distinct('_id', { organisation: A, changedAt: { $exists: false } } as object)
      const copy = [...reader.copy].filter(([id, version]) => version !== undefined && !unstamped.includes(id))
      const inScope = source.filter(({ project }) => reader.scope === '' || project === PROJECT)
      const expected = inScope.map(({ _id, duration }) => `${_id} ${duration}`).sort()
      t.ok(expected.length > 0)
      t.same(copy.map((entry) => entry.join(' ')).sort(), expected, 'in the end the copy equals the source')
      const often = [...reader.delivered].filter(([, times]) => times > 2)
      t.same(often, [], 'nothing with a stamp came more than twice')
    }
    t.comment(JSON.stringify(counts))
    t.ok(counts.excepted * 100 <= counts.checks, 'what the promise excepts is rare')
  },
)
