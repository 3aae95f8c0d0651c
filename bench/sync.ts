// What keeping a copy costs at a large size: pages by cursor and by link at the beginning and at the end of a list, a poll
// that finds nothing, a first copy by the feed, and a digest of everything. One request at a time, on the server.
import { MongoClient } from 'mongodb'
import type { Database } from './databases.js'
import { startService } from './peers.js'
import { type LoadGenerator, type Server, startLoad } from './processes.js'
import { median } from './timing.js'

interface Page {
  data: { id: string }[]
  _metadata: { nextCursor?: string; hasMore?: boolean; pageLinks: { next?: string } }
}

/** What the ratios compare, each as the median time in milliseconds over all rounds. */
export const syncTitles = {
  firstByCursor: 'second page of 50 by cursor',
  lastByCursor: 'last page of 50 by cursor',
  firstByLink: 'second page of 50 by link',
  lastByLink: 'last page of 50 by link',
  idle: 'poll of the feed that finds nothing',
  byId: 'entry by id',
}
export type SyncName = keyof typeof syncTitles

export interface Sync {
  entries: number
  times: Record<SyncName, number>
  /** Of a first copy in pages of 1,000 and of the driver reading the same documents, in seconds. */
  copySeconds: { service: number; driver: number }
  /** Of a digest over all entries in 101 ranges, and in one. */
  digestSeconds: { ranges: number; whole: number }
  ratios: Record<string, number>
}

const ROUNDS = 7
const COPY_PAGE = 1000
/** The copy and the driver take turns, each of this many pages. */
const TURN_PAGES = 25

export const syncMethod = `On the server, one request at a time. A walk through the whole list leads to its last pages. The first copy and the
driver take turns of ${TURN_PAGES} pages of ${COPY_PAGE} until both have everything; the driver reads raw documents in the order of the feed.`

/** @param ms how long each case is measured in each round */
export const sync = async (
  { uri, organisation, key, entries }: Database,
  ms: number,
  say: (text: string) => void,
): Promise<Sync> => {
  const load = startLoad()
  const service = await startService({ key }, { uri })
  const get = (path: string) => service.get(path) as Promise<Page>

  const byCursor = (cursor: string) => `/v1/entries?sortBy=createdAt&perPage=50&cursor=${cursor}`
  const begin = await get(byCursor('*'))
  say('walking to the end of the list')
  const [lastCursor, lastLink] = await endOf(get)

  say('copying')
  const { copySeconds, cursor } = await copies({ uri, organisation }, service, key, say)
  const paths: Record<SyncName, string> = {
    firstByCursor: byCursor(begin._metadata.nextCursor as string),
    lastByCursor: byCursor(lastCursor),
    firstByLink: pathOf((await get('/v1/entries?sortBy=createdAt&perPage=50&total=false'))._metadata.pageLinks.next),
    lastByLink: lastLink,
    idle: `/v1/sync/entries?cursor=${cursor}`,
    byId: `/v1/entries/${begin.data[0]?.id}`,
  }
  const times = await measure(service, load, paths, ms, say)

  say('digests')
  const bounds = (await boundsOf(get, entries)).join()
  const digestSeconds = {
    ranges: await seconds(() => service.get(`/v1/sync/entries/digest?bounds=${bounds}`)),
    whole: await seconds(() => service.get('/v1/sync/entries/digest')),
  }
  return {
    entries,
    times,
    copySeconds,
    digestSeconds,
    ratios: {
      'growth.cursor': times.lastByCursor / times.firstByCursor,
      'growth.linkWalk': times.lastByLink / times.firstByLink,
      'sync.idleVsById': times.idle / times.byId,
      'sync.copyVsRawDriver': copySeconds.driver / copySeconds.service,
      'sync.digestSeconds': digestSeconds.ranges,
    },
  }
}

const seconds = async (work: () => Promise<unknown>): Promise<number> => {
  const start = performance.now()
  await work()
  return (performance.now() - start) / 1000
}

const pathOf = (link: string | undefined): string => {
  const { pathname, search } = new URL(link as string)
  return pathname + search
}

/** Walks through the whole list in large pages. Returns a cursor and a link to its last pages of 50. */
const endOf = async (get: (path: string) => Promise<Page>): Promise<[cursor: string, link: string]> => {
  const walk = '/v1/entries?sortBy=createdAt&fields=id&perPage=1000'
  let cursor = '*'
  for (;;) {
    const next = (await get(`${walk}&cursor=${cursor}`))._metadata.nextCursor
    if (next === undefined) break
    cursor = next
  }
  let link = `${walk}&total=false`
  for (;;) {
    const next = (await get(link))._metadata.pageLinks.next
    if (next === undefined) break
    link = pathOf(next)
  }
  return [cursor, link.replace('perPage=1000', 'perPage=50').replace('fields=id&', '')]
}

/** Copies everything by the feed and by the driver, in turns. Returns the cursor after the last page too. */
const copies = async (
  { uri, organisation }: Pick<Database, 'uri' | 'organisation'>,
  service: Server,
  key: string,
  say: (text: string) => void,
) => {
  const client = new MongoClient(uri)
  const documents = client
    .db()
    .collection('entries')
    .find({ organisation }, { raw: true, sort: { changedAt: 1, _id: 1 }, batchSize: COPY_PAGE })
  const driverTurn = async (): Promise<boolean> => {
    for (let page = 0; page < TURN_PAGES; page++) {
      if (!(await documents.hasNext())) return false
      documents.readBufferedDocuments()
    }
    return true
  }
  let cursor = '*'
  let copied = 0
  const serviceTurn = async (): Promise<boolean> => {
    for (let page = 0; page < TURN_PAGES; page++) {
      const response = await fetch(`${service.url}/v1/sync/entries?cursor=${cursor}&perPage=${COPY_PAGE}`, {
        headers: { authorization: `Bearer ${key}` },
      })
      const bytes = Buffer.from(await response.arrayBuffer())
      // The metadata is at the end of the response. Parsing all of it would be most of the caller's work.
      const [, hasMore, next] =
        /"hasMore":(true|false),"nextCursor":"([^"]+)"/.exec(bytes.toString('latin1', bytes.length - 2000)) ?? []
      if (response.status !== 200 || next === undefined)
        throw new Error(`The feed failed: ${bytes.toString('utf8', 0, 500)}`)
      cursor = next
      copied += 1
      if (hasMore === 'false') return false
    }
    return true
  }
  const copySeconds = { service: 0, driver: 0 }
  let isCopying = true
  let isReading = true
  while (isCopying || isReading) {
    if (isCopying) {
      copySeconds.service += await seconds(async () => {
        isCopying = await serviceTurn()
      })
    }
    if (isReading) {
      copySeconds.driver += await seconds(async () => {
        isReading = await driverTurn()
      })
    }
    if (copied % 250 === 0)
      say(`${copied} pages: ${copySeconds.service.toFixed(1)} s, the driver ${copySeconds.driver.toFixed(1)} s`)
  }
  await client.close()
  return { copySeconds, cursor }
}

const measure = async (
  service: Server,
  load: LoadGenerator,
  paths: Record<SyncName, string>,
  ms: number,
  say: (text: string) => void,
): Promise<Record<SyncName, number>> => {
  const names = Object.keys(paths) as SyncName[]
  const rounds = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<SyncName, number[]>
  for (let round = 0; round <= ROUNDS; round++) {
    for (const name of names) {
      const times = await service.times(load, paths[name], ms)
      if (round > 0) rounds[name].push(median(times)) // the first round is the warm-up
    }
    say(`round ${round} of ${ROUNDS}`)
  }
  return Object.fromEntries(names.map((name) => [name, median(rounds[name])])) as Record<SyncName, number>
}

/** A hundred ids that divide all entries evenly. */
const boundsOf = async (get: (path: string) => Promise<Page>, entries: number): Promise<string[]> => {
  const bounds: string[] = []
  for (let part = 1; part <= 100; part++) {
    const page = Math.floor((part * entries) / 101) + 1
    const { data } = await get(`/v1/entries?fields=id&total=false&perPage=1&page=${page}`)
    bounds.push(data[0]?.id as string)
  }
  return bounds
}
