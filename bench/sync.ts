// What keeping a copy costs at a large size: pages by cursor and by link at the beginning and at the end of a list, a poll
// that finds nothing, a first copy by the feed, and a digest of everything. One request at a time, on the server.
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { BSON, type Document, MongoClient } from 'mongodb'
import type { Database } from './databases.js'
import { startService } from './peers.js'
import { type LoadGenerator, type Server, startLoad } from './processes.js'
import { median } from './timing.js'
import { usually } from './trial.js'

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

const ROUNDS = usually(7, 1)
const COPY_PAGE = 1000
const BOUNDS = 100
/** The metadata are in the last bytes of a response. Parsing all of it would be most of the caller's work. */
const END = 1000
const agent = new Agent({ keepAlive: true })
/** The copy and the driver take turns, each of this many pages. */
const TURN_PAGES = 25

export const syncMethod = `On the server, one request at a time. A walk through the whole list leads to its last pages. The first copy and the
driver take turns of ${TURN_PAGES} pages of ${COPY_PAGE}, and turns in going first, until both have everything; the driver reads the same
pages as raw documents.`

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
  const { cursor: lastCursor, link: lastLink, bounds } = await endOf(get)

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
  const digestSeconds = {
    ranges: await seconds(() => service.get(`/v1/sync/entries/digest?bounds=${bounds.join()}`)),
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

/** Walks through the whole list in large pages. Returns a cursor and a link to its last pages of 50, and ids in between. */
const endOf = async (get: (path: string) => Promise<Page>) => {
  const walk = '/v1/entries?sortBy=createdAt&fields=id&perPage=1000'
  let cursor = '*'
  const ids: string[] = []
  for (;;) {
    const { data, _metadata } = await get(`${walk}&cursor=${cursor}`)
    ids.push(data[0]?.id as string)
    if (_metadata.nextCursor === undefined) break
    cursor = _metadata.nextCursor
  }
  let link = `${walk}&total=false`
  for (;;) {
    const next = (await get(link))._metadata.pageLinks.next
    if (next === undefined) break
    link = pathOf(next)
  }
  return {
    cursor,
    link: link.replace('perPage=1000', 'perPage=50').replace('fields=id&', ''),
    // A small database has fewer pages than bounds.
    bounds: [
      ...new Set(
        Array.from({ length: BOUNDS }, (_, i) => ids[Math.floor(((i + 1) * ids.length) / (BOUNDS + 1))] as string),
      ),
    ].sort(),
  }
}

/**
 * Copies everything by the feed and by the driver, in turns. They take turns in going first too, because what was just read
 * is read faster. Returns the cursor after the last page too.
 */
const copies = async (
  { uri, organisation }: Pick<Database, 'uri' | 'organisation'>,
  { port }: Server,
  key: string,
  say: (text: string) => void,
) => {
  const client = new MongoClient(uri)
  const copySeconds = { service: 0, driver: 0 }
  let cursor = '*'
  let position: Position | undefined = START
  let hasMore = true

  const byService = async (): Promise<void> => {
    for (let page = 0; page < TURN_PAGES && hasMore; page++) {
      const end = await endOfBody({ port, key, path: `/v1/sync/entries?cursor=${cursor}&perPage=${COPY_PAGE}` })
      const [, more, next] = /"hasMore":(true|false),"nextCursor":"([^"]+)"/.exec(end) ?? []
      if (next === undefined) throw new Error(`The feed failed: ${end}`)
      cursor = next
      hasMore = more === 'true'
    }
  }
  const byDriver = async (): Promise<void> => {
    for (let page = 0; page < TURN_PAGES && position !== undefined; page++) {
      position = await readPage(client, organisation, position)
    }
  }

  for (let turn = 1; hasMore || position !== undefined; turn++) {
    if (turn % 2 === 0) copySeconds.driver += await seconds(byDriver)
    copySeconds.service += await seconds(byService)
    if (turn % 2 === 1) copySeconds.driver += await seconds(byDriver)
    if (turn % 10 === 0) {
      const { service, driver } = copySeconds
      say(`${turn * TURN_PAGES} pages: ${service.toFixed(1)} s, the driver ${driver.toFixed(1)} s`)
    }
  }
  await client.close()
  return { copySeconds, cursor }
}

interface Position {
  stamp: Date
  id?: string
}

const START: Position = { stamp: new Date(0) }

/**
 * Reads a page by the driver alone, as the feed does: raw, one row more than the page has, and in one reply for each range
 * of the index. Returns the position after it, if there is more.
 */
const readPage = async (
  client: MongoClient,
  organisation: string,
  { stamp, id }: Position,
): Promise<Position | undefined> => {
  const after = { changedAt: { [id === undefined ? '$gte' : '$gt']: stamp } }
  const ranges = id === undefined ? [after] : [{ changedAt: stamp, _id: { $gt: id } }, after]
  const rows: Uint8Array[] = []
  for (const range of ranges) {
    const { cursor } = await client.db().command(
      {
        aggregate: 'entries',
        pipeline: [
          { $match: { organisation, ...range } },
          { $sort: { changedAt: 1, _id: 1 } },
          { $limit: COPY_PAGE + 1 - rows.length },
        ],
        cursor: { batchSize: COPY_PAGE + 1 },
      },
      { fieldsAsRaw: { firstBatch: true } },
    )
    rows.push(...cursor.firstBatch)
    if (rows.length > COPY_PAGE) break
  }
  if (rows.length <= COPY_PAGE) return undefined
  const [last, next] = rows.slice(-2).map((row) => BSON.deserialize(row)) as [Document, Document]
  const isLastOfStamp = next.changedAt > last.changedAt
  return isLastOfStamp ? { stamp: next.changedAt } : { stamp: last.changedAt, id: last._id }
}

/** Requests a path and reads the whole response. Returns the end of its body. */
const endOfBody = async ({ port, key, path }: { port: number; key: string; path: string }): Promise<string> => {
  const [response] = (await once(
    request({ port, path, headers: { authorization: `Bearer ${key}` }, agent }).end(),
    'response',
  )) as [IncomingMessage]
  let end = ''
  for await (const chunk of response) end = `${end}${chunk.subarray(-END)}`.slice(-END)
  return end
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
