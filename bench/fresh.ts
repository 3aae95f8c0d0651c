// How fresh a copy is: how long a change takes to reach a reader who waits, how many bytes polls take while much is written,
// and whether a record that changes all the time is in every run. On the server, with `npm run bench -- --fresh`.
import { setTimeout as sleep } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import { seedData } from '../seed/index.js'
import type { EntryDocument } from '../src/core/documents/collections.js'
import { issueKey, open, withDatabase } from './databases.js'
import { startService } from './peers.js'
import { quantiles } from './timing.js'
import { databaseName, usually } from './trial.js'

const ENTRIES = 2000
const WAITED_CHANGES = usually(300, 3)
const LONGEST_PAUSE_MS = 500
const WRITES_A_SECOND = 100
const HOT_MS = 200
const PER_PAGE = 1000
const SETTLE_MS = usually(10_000, 100)

export interface FreshTimes {
  /** From the commit of a change to the response that has it, in milliseconds. */
  waited: { p50: number; p99: number; slowest: number }
  /** Bytes of all polls, one a second, against those of all changes as items. */
  pollBytes: number
  /** How often a record that is changed all the time was copied, and how often a run ended without its state. */
  hot: { runs: number; missed: number }
}

interface Page {
  data: { id: string; duration: number }[]
  _metadata: { hasMore: boolean; nextCursor: string }
}

/** An organisation of its own in a database of its own, made anew. */
const prepare = async (uri: string) => {
  const client = new MongoClient(uri)
  await client.db().dropDatabase()
  const store = open(uri)
  const seeded = [...seedData({ seed: 42, organisations: 1, dispatches: 20, entries: ENTRIES })]
  for (const { collection, documents } of seeded) await store.insert(collection, documents as never)
  await store.ensureIndexes()
  const of = <T>(name: string) =>
    seeded.flatMap(({ collection, documents }): unknown[] => (collection === name ? [...documents] : [])) as T[]
  const organisation = of<{ _id: string }>('organisations')[0]?._id as string
  const key = await issueKey(store, organisation)
  await store.close()
  return { client, organisation, key, ids: of<EntryDocument>('entries').map(({ _id }) => _id) }
}

/** @param ms how long polls are counted, and the record that changes all the time is copied */
export const fresh = async (server: string, ms: number, say: (text: string) => void): Promise<FreshTimes> => {
  const uri = withDatabase(server, databaseName('fresh'))
  const { client, organisation, key, ids } = await prepare(uri)
  const service = await startService({ key }, { uri })
  const entries = client.db().collection<{ _id: string }>('entries')
  /** Changes an entry. When the promise resolves, the change is committed. */
  const change = (_id: string, duration: number) =>
    entries.updateOne(
      { _id, organisation },
      { $set: { duration }, $currentDate: { updatedAt: true, changedAt: { $type: 'date' } } },
    )
  const get = async (cursor: string, wait = 0): Promise<{ page: Page; bytes: number }> => {
    const url = `${service.url}/v1/sync/entries?perPage=${PER_PAGE}&wait=${wait}&cursor=${cursor}`
    const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
    const text = await response.text()
    if (!response.ok) throw new Error(text)
    return { page: JSON.parse(text), bytes: text.length }
  }
  const copy = new Map<string, number>()
  let cursor = '*'
  /** Copies until there is no more; returns the bytes that this took. */
  const run = async (wait = 0): Promise<number> => {
    let bytes = 0
    for (;;) {
      const got = await get(cursor, wait)
      bytes += got.bytes
      for (const { id, duration } of got.page.data) copy.set(id, duration)
      cursor = got.page._metadata.nextCursor
      if (!got.page._metadata.hasMore) return bytes
    }
  }
  const randomId = () => ids[Math.floor(Math.random() * ids.length)] as string

  await sleep(SETTLE_MS)
  await run()

  say('changes for a reader who waits')
  const committed = new Map<number, { id: string; at: number }>()
  const waited: number[] = []
  let isDone = false
  const reader = async () => {
    while (!isDone || committed.size > 0) {
      await run(isDone ? 0 : 5)
      const now = performance.now()
      for (const [version, { id, at }] of committed) {
        if ((copy.get(id) as number) < version) continue
        waited.push(now - at)
        committed.delete(version)
      }
    }
  }
  const reading = reader()
  for (let version = 1_000_000; version < 1_000_000 + WAITED_CHANGES; version++) {
    const id = randomId()
    await change(id, version)
    committed.set(version, { id, at: performance.now() })
    await sleep(Math.random() * LONGEST_PAUSE_MS)
  }
  isDone = true
  await reading

  say('polls while much is written')
  await sleep(SETTLE_MS)
  await run()
  const itemBytes = (await get('*')).bytes / PER_PAGE
  const until = performance.now() + ms
  let [changes, bytes] = [0, 0]
  const writing = (async () => {
    for (const start = performance.now(); performance.now() < until; ) {
      await change(randomId(), 2_000_000 + changes)
      changes += 1
      await sleep(Math.max(0, start + (1000 / WRITES_A_SECOND) * changes - performance.now()))
    }
  })()
  while (performance.now() < until) {
    bytes += await run()
    await sleep(1000)
  }
  await writing
  await sleep(SETTLE_MS)
  bytes += await run()

  say('a record that changes all the time')
  const hotId = ids[0] as string
  const hotUntil = performance.now() + ms
  let version = 3_000_000
  const heating = (async () => {
    while (performance.now() < hotUntil) {
      await change(hotId, version + 1)
      version += 1
      await sleep(HOT_MS)
    }
  })()
  let [runs, missed] = [0, 0]
  while (performance.now() < hotUntil) {
    const least = version
    await run()
    runs += 1
    if (least > 3_000_000 && (copy.get(hotId) as number) < least) missed += 1
    await sleep(Math.random() * 1000)
  }
  await heating
  await client.close()
  await service.stop()
  return {
    waited: { ...quantiles(waited), slowest: Math.max(...waited) },
    pollBytes: bytes / (changes * itemBytes),
    hot: { runs, missed },
  }
}
