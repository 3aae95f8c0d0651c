// Copies of entries while processes are killed: writers that use the statements of docs/data.md are killed and frozen, between
// their statements too, and both instances of the service are killed. At the end of each run, a copy has what docs/syncing.md
// promises. COPIES_SECONDS says how long. It keeps all of a small machine busy, so other tests do not run beside it.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { keysOf } from '../../src/keys/keys.js'
import { freePort, printed, type Started, startProgram } from '../support/process.js'
import { databaseOn } from '../support/store.js'
import { A } from '../support/tenants.js'
import type { Report } from '../support/writer.js'

const server = process.env.TEST_MONGODB_URI
const SECONDS = Number(process.env.COPIES_SECONDS)
const SETTLE_MS = 1500
const WRITERS = 4
const IDS_OF_A_WRITER = 8

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
    const stored = client
      .db()
      .collection<{ _id: string; duration?: number; changedAt?: Date; deletedAt?: Date }>('entries')

    const counts = { writes: 0, runs: 0, checks: 0, excepted: 0, kills: 0, freezes: 0, restarts: 0 }
    /** All writes of each id in order, as far as is known, and the place of the last one that was acknowledged. */
    const writes = new Map<string, { versions: (number | undefined)[]; acknowledged: number }>()
    const report = ({ id, version, acknowledged }: Report): void => {
      const known = writes.get(id) ?? { versions: [], acknowledged: -1 }
      writes.set(id, known)
      if (acknowledged) known.acknowledged = known.versions.length - 1
      else known.versions.push(version)
      counts.writes += acknowledged ? 1 : 0
    }

    const idsOf = (writer: number) => Array.from({ length: IDS_OF_A_WRITER }, (_, n) => `writer${writer}-${n}`)
    const startWriter = (writer: number): ChildProcess => {
      const versions = idsOf(writer).flatMap((id) => writes.get(id)?.versions ?? [])
      const first = Math.max(0, ...versions.map((version) => version ?? 0)) + 1
      const argv = [uri, A, idsOf(writer).join(), String(first)]
      // Without NODE_OPTIONS, by which tap would count its coverage.
      const child = fork('dist/test/support/writer.js', argv, { env: { PATH: process.env.PATH } })
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
    ].map((options) => ({
      ...options,
      copy: new Map<string, number | undefined>(),
      delivered: new Map<string, number>(),
      newest: 0,
      cursor: '*',
    }))
    type Reader = (typeof readers)[number]

    /** Whether what the service has of an id now is what the promise excepts: it was committed after a later stamp was shown. */
    const isExcepted = async ({ newest }: Reader, id: string): Promise<boolean> => {
      const found = await stored.findOne({ _id: id })
      const stamp = (found?.changedAt ?? found?.deletedAt)?.getTime()
      const clock = (await store.now()).now
      // Without a stamp it is not in the feed yet. A stamp after the last one that was shown may be of a later write.
      return stamp === undefined || (stamp <= newest && stamp > clock - 2 * SETTLE_MS)
    }
    const run = async (reader: Reader): Promise<void> => {
      const required = new Map([...writes].map(([id, { acknowledged }]) => [id, acknowledged]))
      for (let hasMore = true; hasMore; ) {
        const { perPage, wait, cursor } = reader
        const page = await get(`perPage=${perPage}&wait=${isOver ? 0 : wait}&cursor=${cursor}`)
        for (const { id, duration, deleted, changedAt } of page.data) {
          reader.copy.set(id, deleted ? undefined : duration)
          reader.newest = Math.max(reader.newest, Date.parse(changedAt ?? '1970-01-01T00:00:00Z'))
          // A record that was added without a stamp comes once more, when the copy begins.
          const change = `${id} ${deleted ? `deleted ${changedAt}` : duration}`
          if (changedAt !== undefined) reader.delivered.set(change, (reader.delivered.get(change) ?? 0) + 1)
        }
        reader.cursor = page._metadata.nextCursor
        hasMore = page._metadata.hasMore
      }
      counts.runs += 1
      for (const [id, least] of required) {
        if (least === -1) continue
        counts.checks += 1
        const { versions } = writes.get(id) as { versions: (number | undefined)[] }
        if (versions.slice(least).includes(reader.copy.get(id))) continue
        const has = reader.copy.get(id)
        if (await isExcepted(reader, id)) counts.excepted += 1
        else t.fail(`${id} is ${has} in the copy, but was ${versions[least]} when the run began`)
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
    const expected = source.map(({ _id, duration }) => `${_id} ${duration}`).sort()
    t.ok(expected.length > 0)
    for (const reader of readers) {
      await run(reader)
      const unstamped = await stored.distinct('_id', { organisation: A, changedAt: { $exists: false } } as object)
      const copy = [...reader.copy].filter(([id, version]) => version !== undefined && !unstamped.includes(id))
      t.same(copy.map((entry) => entry.join(' ')).sort(), expected, 'in the end the copy equals the source')
      const often = [...reader.delivered].filter(([, times]) => times > 2)
      t.same(often, [], 'nothing with a stamp came more than twice')
    }
    t.comment(JSON.stringify(counts))
    t.ok(counts.excepted * 100 <= counts.checks, 'what the promise excepts is rare')
  },
)
