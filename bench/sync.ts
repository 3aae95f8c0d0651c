// What keeping a copy costs at a large size: pages by cursor and by link at the beginning and at the end of a list, a poll
// that finds nothing, a first copy by the feed, and a digest of everything; and what keys for a part pay for the same. One
// request at a time, on the server.
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { BSON, type Document, MongoClient } from 'mongodb'
import type { Only } from '../src/core/documents/collections.js'
import { type Database, issueKey, open } from './databases.js'
import { startService } from './peers.js'
import { type LoadGenerator, type Server, startLoad } from './processes.js'
import type { Ratios } from './rounds.js'
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
  byId: 'entry by id',
  idle: 'poll of the feed that finds nothing',
  idleOfLarge: 'the same in the larger part',
  idleOfSmall: 'the same in the smaller part',
  page50: 'page of 50',
  page50OfLarge: 'the same in the larger part',
  page50OfSmall: 'the same in the smaller part',
  newest50: 'page of 50, newest first',
  newest50OfLarge: 'the same in the larger part',
  newest50OfSmall: 'the same in the smaller part',
}
export type SyncName = keyof typeof syncTitles

/** What a key for a part sees of all entries. */
export interface Part {
  readonly only: Only
  readonly rows: number
}

export interface Sync {
  entries: number
  times: Record<SyncName, number>
  parts: Record<'large' | 'small', Part>
  /** Of a first copy in pages of 1,000, of the driver reading the same documents, and of copies of the parts, in seconds. */
  copySeconds: Record<'service' | 'driver' | 'large' | 'small', number>
  /** Of a digest over all entries in 101 ranges, and in one. */
  digestSeconds: { ranges: number; whole: number }
  ratios: Ratios
}

const ROUNDS = usually(7, 1)
const COPY_PAGE = 1000
const BOUNDS = 100
/** The metadata are in the last bytes of a response. Parsing all of it would be most of the caller's work. */
const END = 1000
const agent = new Agent({ keepAlive: true })
/** The copies and the driver take turns, each of so many pages that they end at about the same time. */
const TURN_PAGES = { service: 25, driver: 25, large: 3, small: 2 }
/** Of all entries, what the keys for a part see if there are such projects and forms. */
const SHARES = { large: 0.1, small: 0.01 }

export const syncMethod = `On the server, one request at a time. A walk through the whole list leads to its last pages. The first copy and the
driver take turns of ${TURN_PAGES.service} pages of ${COPY_PAGE}, and turns in going first, until both have everything; the driver reads the same
pages as raw documents. The keys for a part see one project, or one form of one project: those that are nearest to
${100 * SHARES.large} % and ${100 * SHARES.small} % of all entries. Their copies take a few pages in each turn.`

/** @param ms how long each case is measured in each round */
export const sync = async (
  { uri, organisation, key, entries }: Database,
  ms: number,
  say: (text: string) => void,
): Promise<Sync> => {
  const load = startLoad()
  const service = await startService({ key }, { uri })
  const parts = await partsOf({ uri, organisation, entries })
  const store = open(uri)
  const [large, small] = [
    await issueKey(store, organisation, parts.large.only),
    await issueKey(store, organisation, parts.small.only),
  ]
  await store.close()
  const get = (path: string) => service.get(path) as Promise<Page>

  const byCursor = (cursor: string) => `/v1/entries?sortBy=createdAt&perPage=50&cursor=${cursor}`
  const begin = await get(byCursor('*'))
  say('walking to the end of the list')
  const { cursor: lastCursor, link: lastLink, bounds } = await endOf(get)

  say('copying')
  const { copySeconds, cursors } = await copies({ uri, organisation }, service, { service: key, large, small }, say)
  const firstByLink = pathOf(
    (await get('/v1/entries?sortBy=createdAt&perPage=50&total=false'))._metadata.pageLinks.next,
  )
  const page50 = '/v1/entries?perPage=50'
  const newest50 = `${page50}&sortBy=createdAt&sortOrder=desc`
  const idle = (of: keyof typeof cursors) => `/v1/sync/entries?cursor=${cursors[of]}`
  const asked: Record<SyncName, [path: string, key: string]> = {
    firstByCursor: [byCursor(begin._metadata.nextCursor as string), key],
    lastByCursor: [byCursor(lastCursor), key],
    firstByLink: [firstByLink, key],
    lastByLink: [lastLink, key],
    byId: [`/v1/entries/${begin.data[0]?.id}`, key],
    idle: [idle('service'), key],
    idleOfLarge: [idle('large'), large],
    idleOfSmall: [idle('small'), small],
    page50: [page50, key],
    page50OfLarge: [page50, large],
    page50OfSmall: [page50, small],
    newest50: [newest50, key],
    newest50OfLarge: [newest50, large],
    newest50OfSmall: [newest50, small],
  }
  const times = await measure(service, load, asked, ms, say)

  say('digests')
  const digestSeconds = {
    ranges: await seconds(() => service.get(`/v1/sync/entries/digest?bounds=${bounds.join()}`)),
    whole: await seconds(() => service.get('/v1/sync/entries/digest')),
  }
  const copyRows = parts.large.rows / copySeconds.large
  return {
    entries,
    times,
    parts,
    copySeconds,
    digestSeconds,
    ratios: {
      'growth.cursor': times.lastByCursor / times.firstByCursor,
      'growth.linkWalk': times.lastByLink / times.firstByLink,
      'sync.idleVsById': times.idle / times.byId,
      'sync.copyVsRawDriver': copySeconds.driver / copySeconds.service,
      'sync.digestSeconds': digestSeconds.ranges,
      'scope.page50': times.page50OfLarge / times.page50,
      'scope.newest50': times.newest50OfLarge / times.newest50,
      'scope.idle': times.idleOfLarge / times.idle,
      'scope.copyRows': copyRows,
      'scope.copyRowVsWhole': entries / copySeconds.service / copyRows,
      'scope.smallPage50': times.page50OfSmall / times.page50,
      'scope.smallNewest50': times.newest50OfSmall / times.newest50,
      'scope.smallIdle': times.idleOfSmall / times.idle,
      'scope.smallCopySeconds': copySeconds.small,
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

/** The projects, and the forms of a project, that are nearest to the shares of all entries. */
const partsOf = async ({ uri, organisation, entries }: Omit<Database, 'key' | 'seedRate'>) => {
  const client = new MongoClient(uri)
  const counted = await client
    .db()
    .collection('entries')
    .aggregate<{ _id: { project: string; form: string }; rows: number }>([
      { $match: { organisation } },
      { $group: { _id: { project: '$project', form: '$form' }, rows: { $sum: 1 } } },
    ])
    .toArray()
  await client.close()
  const parts: Part[] = counted.map(({ _id: { project, form }, rows }) => ({
    only: { project: [project], form: [form] },
    rows,
  }))
  for (const project of new Set(counted.map(({ _id }) => _id.project))) {
    const rows = counted.reduce((sum, { _id, rows }) => sum + (_id.project === project ? rows : 0), 0)
    parts.push({ only: { project: [project] }, rows })
  }
  const nearestTo = (share: number): Part => {
    const off = ({ rows }: Part) => Math.abs(rows - share * entries)
    return parts.reduce((nearest, part) => (off(part) < off(nearest) ? part : nearest))
  }
  return { large: nearestTo(SHARES.large), small: nearestTo(SHARES.small) }
}

/**
 * Copies everything by the feed and by the driver, and the parts, in turns. They take turns in going first too, because what
 * was just read is read faster. Returns the cursors after the last pages too.
 */
const copies = async (
  { uri, organisation }: Pick<Database, 'uri' | 'organisation'>,
  { port }: Server,
  keys: Record<'service' | 'large' | 'small', string>,
  say: (text: string) => void,
) => {
  const client = new MongoClient(uri)
  const cursors = { service: '*', large: '*', small: '*' }
  let position = START
  const byService = (of: keyof typeof keys) => async (): Promise<boolean> => {
    const path = `/v1/sync/entries?cursor=${cursors[of]}&perPage=${COPY_PAGE}`
    const end = await endOfBody({ port, key: keys[of], path })
    const [, more, next] = /"hasMore":(true|false),"nextCursor":"([^"]+)"/.exec(end) ?? []
    if (next === undefined) throw new Error(`The feed failed: ${end}`)
    cursors[of] = next
    return more === 'true'
  }
  const byDriver = async (): Promise<boolean> => {
    const next = await readPage(client, organisation, position)
    position = next ?? position
    return next !== undefined
  }

  /** Each copy reads a page, and tells whether there is another. */
  const pages = {
    service: byService('service'),
    driver: byDriver,
    large: byService('large'),
    small: byService('small'),
  }
  const copySeconds = { service: 0, driver: 0, large: 0, small: 0 }
  const underway = Object.keys(pages) as (keyof typeof pages)[]
  for (let turn = 1; underway.length > 0; turn++) {
    for (const of of turn % 2 === 0 ? underway.toReversed() : [...underway]) {
      let hasMore = true
      copySeconds[of] += await seconds(async () => {
        for (let page = 0; page < TURN_PAGES[of] && hasMore; page++) hasMore = await pages[of]()
      })
      if (!hasMore) underway.splice(underway.indexOf(of), 1)
    }
    if (turn % 10 === 0) {
      say(
        `turn ${turn}: ${Object.entries(copySeconds)
          .map(([of, time]) => `${of} ${time.toFixed(1)} s`)
          .join(', ')}`,
      )
    }
  }
  await client.close()
  return { copySeconds, cursors }
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
  { port }: Server,
  load: LoadGenerator,
  asked: Record<SyncName, [path: string, key: string]>,
  ms: number,
  say: (text: string) => void,
): Promise<Record<SyncName, number>> => {
  const names = Object.keys(asked) as SyncName[]
  const rounds = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<SyncName, number[]>
  for (let round = 0; round <= ROUNDS; round++) {
    for (const name of names) {
      const [path, key] = asked[name]
      const times = await load.times({ port, path, headers: { authorization: `Bearer ${key}` }, concurrency: 1, ms })
      if (round > 0) rounds[name].push(median(times)) // the first round is the warm-up
    }
    say(`round ${round} of ${ROUNDS}`)
  }
  return Object.fromEntries(names.map((name) => [name, median(rounds[name])])) as Record<SyncName, number>
}
