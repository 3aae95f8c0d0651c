// A load as partners make it: the keys of two organisations that read pages, records, feeds and exports.
import { setTimeout } from 'node:timers/promises'
import type { Test } from 'tap'
import { keysOf } from '../../src/core/keys/keys.js'
import { mongoStore } from '../../src/core/store/mongo.js'
import { printed, startProgram } from '../../test/support/process.js'
import { mongoSettings } from '../../test/support/store.js'
import { A, a, B, b, fillTenants } from '../../test/support/tenants.js'
import { type Asked, type Call, Callers, type Options, takeReferences } from './callers.js'

const KEYS_EACH = 4
const BATCH = 1000
const SETTLE_MS = 1000
/** A connection sends one request in this time for each connection that there is: all together send 100 a second. */
const PAUSE_FOR_EACH_MS = 10
/** What the service and a program with all callers need besides a file for each connection. */
const OTHER_FILES = 300

/** How many connections, and for how many seconds, as in `1000x300`. */
export const loadOf = (text: string | undefined) => {
  const [connections = 0, seconds = 0] = text?.split('x').map(Number) ?? []
  return { connections, seconds }
}

/** Why a load cannot run, or false. */
export const skipped = ({ connections, seconds }: ReturnType<typeof loadOf>): string | false => {
  if (!connections || !seconds) return 'STEADY_LOAD is not set, as in STEADY_LOAD=1000x300'
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files: { soft: number | 'unlimited' } } }
  const files = userLimits?.open_files.soft
  return typeof files === 'number' && files < connections + OTHER_FILES
    ? `only ${files} files may be open, see ulimit -n`
    : false
}

interface Filled {
  readonly keys: readonly string[]
  readonly ids: readonly string[]
}

/** Inserts two organisations with so many entries each. Returns keys of each and the ids of its entries. */
export const fillForLoad = async (uri: string, entries: number): Promise<Filled[]> => {
  const store = mongoStore(mongoSettings(uri))
  await store.ensureIndexes()
  await fillTenants(store)
  const filled: Filled[] = []
  for (const [organisation, { entry }] of [
    [A, a],
    [B, b],
  ] as const) {
    const documents = Array.from({ length: entries }, (_, n) => entry(1000 + n))
    for (let n = 0; n < entries; n += BATCH) await store.insert('entries', documents.slice(n, n + BATCH))
    const keys = Array.from({ length: KEYS_EACH }, (_, n) =>
      keysOf(store, () => {}).issue({ organisation, name: `Key ${n}` }),
    )
    filled.push({ keys: await Promise.all(keys), ids: documents.map(({ _id }) => _id) })
  }
  await store.close()
  return filled
}

/** Starts the service on its usual settings. Each line that it logs is JSON. */
export const startService = async (t: Test, uri: string, settings: Record<string, string> = {}) => {
  const usual = { PORT: '0', MONGODB_URI: uri, ENSURE_INDEXES: 'false', SYNC_SETTLE_MS: String(SETTLE_MS) }
  const child = startProgram(t, 'src/server.ts', { settings: { ...usual, LOG_LEVEL: 'warn', ...settings } })
  const [, url = ''] = await printed(child, /field-data-api on (\S+) /)
  return { child, url }
}

/** What the keys ask: the usual requests, each as often as it is usual. */
export const mixtureOf = async (url: string, filled: readonly Filled[]): Promise<Asked[]> => {
  await setTimeout(SETTLE_MS)
  const asked: Asked[] = []
  for (const { keys, ids } of filled) {
    let end = '*'
    for (let hasMore = true; hasMore; ) {
      const response = await fetch(`${url}/v1/sync/entries?perPage=1000&cursor=${end}`, {
        headers: { authorization: `Bearer ${keys[0]}` },
      })
      if (!response.ok) throw new Error(await response.text())
      const { _metadata } = (await response.json()) as { _metadata: { hasMore: boolean; nextCursor: string } }
      hasMore = _metadata.hasMore
      end = _metadata.nextCursor
    }
    const byId = Array.from({ length: 8 }, (_, n) => `/v1/entries/${ids[Math.floor((n * ids.length) / 8)]}`)
    const paths = [
      '/v1/entries?perPage=50',
      '/v1/entries?perPage=50&page=7',
      '/v1/entries?perPage=50&cursor=*&status=accepted',
      '/v1/entries?perPage=50&sortBy=duration&sortOrder=desc',
      '/v1/entries',
      '/v1/dispatches?sortBy=name',
      '/v1/projects',
      '/v1/sync/entries?cursor=*&perPage=50',
      '/v1/sync/entries?cursor=*',
      `/v1/sync/entries?cursor=${end}`,
      `/v1/sync/entries?cursor=${end}&wait=2`,
      ...byId,
    ]
    asked.push({ keys, paths: [...paths, ...paths, '/v1/exports/entries.csv', ...paths] })
  }
  return asked
}

/** Callers of one service that ask the mixture, all together a hundred times a second. */
export const startLoad = async (url: string, asked: readonly Asked[], options: Omit<Options, 'pauseMs'>) => {
  const references = await takeReferences(url, asked)
  return new Callers([url], asked, references, { ...options, pauseMs: options.connections * PAUSE_FOR_EACH_MS })
}

/** The middle and the slowest of some requests, in milliseconds. */
export const timesOf = (calls: readonly Call[]): string => {
  const times = calls.map(({ took }) => Math.round(took)).sort((one, other) => one - other)
  const at = (part: number) => times[Math.min(times.length - 1, Math.floor(times.length * part))]
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms`
}
