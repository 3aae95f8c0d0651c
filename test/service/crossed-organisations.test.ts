// What an organisation gets while the records of all of them point at each other: random requests of every operation, with
// every parameter, and a search for anything of another organisation in all bytes of the responses and in the log. No total
// is larger than what the caller has.
// FOREIGN_REQUESTS says how many, and FOREIGN_SEED draws others.
import type { InjectOptions } from 'fastify'
import t, { type Test } from 'tap'
import type { Hidden } from '../../schemas/kit.js'
import { type RecordCollection, recordCollections } from '../../src/core/documents/collections.js'
import { keysOf } from '../../src/core/keys/keys.js'
import type { Condition } from '../../src/core/pipelines/stages.js'
import type { Store } from '../../src/core/store/store.js'
import { testApp } from '../support/app.js'
import { type Ask, Asking, type Caller, collectionOf } from '../support/asking.js'
import { type Breakage, broken, replaced, withoutConditions } from '../support/breakages.js'
import { type Crossed, drawing, fillCrossed, markOf, ownersIn } from '../support/crossed.js'
import { operationsOf } from '../support/operations.js'
import { ifBrokenOff, textOf } from '../support/responses.js'
import { testStore } from '../support/store.js'
import { isThorough, leftToGate, runs } from '../support/thorough.js'

/** Enough requests to draw every parameter. With more of them in a request, fewer requests do. */
const LEAST = runs(860, 900)
const REQUESTS = Math.max(LEAST, Number(process.env.FOREIGN_REQUESTS ?? 0))
const MOST_PARAMETERS = REQUESTS > LEAST ? 3 : runs(6, 3)
const SEED = Number(process.env.FOREIGN_SEED ?? 1)
const ORGANISATIONS = REQUESTS > LEAST ? 100 : runs(4, 6)
/** How many requests run at once, and how many of them are for one change of a record. */
const AT_ONCE = 16
const REQUESTS_PER_CHANGE = 50
/** How many requests are remembered for the log. Those that wait are among the last ones. */
const REMEMBERED = 10_000
/** Addresses whose responses have something of the caller, if it has anything that matches. */
const HAS_DATA = /^\/v1\/(?!ogc(?!.*items))/

/** A request with what it sent that is of another organisation. */
interface Sent extends Ask {
  readonly foreign: readonly string[]
}

/** What a line of the log is compared with that is of no request. */
const NOTHING_SENT: Sent = { caller: { n: -1 } as Caller, url: 'no address', headers: {}, foreign: [] }

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The texts in cursors. They begin with the number of their version. */
const inCursors = (text: string): string =>
  (text.match(/\bA[Q-Za-f][\w-]{20,}/g) ?? []).map((token) => Buffer.from(token, 'base64url').toString()).join('\n')

/** What is in a text of another organisation, with what stands around it. */
const foreignIn = (text: string, { n }: Crossed): string | undefined => {
  for (const searched of [text, inCursors(text)]) {
    for (const owner of ownersIn(searched)) {
      if (owner.n !== n) return searched.slice(Math.max(0, owner.at - 80), owner.at + owner.found.length + 20)
    }
  }
  return undefined
}
const hasOwn = (text: string, { n }: Crossed): boolean =>
  [...ownersIn(text + inCursors(text))].some((owner) => owner.n === n)

/** What a request sent that is of another organisation, as it may come back: longer texts first. */
const foreignSent = ({ caller, url, headers }: Ask): string[] => {
  const pieces = [...url.split(/[/?&=,]/), ...Object.values(headers)]
  const texts = pieces.flatMap((piece) => [piece, decoded(piece), ...decoded(piece).split(/[,/]/)])
  const foreign = texts.filter((text) => foreignIn(text, caller) !== undefined)
  return [...new Set(foreign)].sort((a, b) => b.length - a.length)
}

/** A text without what the request sent. */
const withoutSent = (text: string, sent: readonly string[]): string =>
  sent
    .flatMap((each) => [each, encodeURIComponent(each), new URLSearchParams([['', each]]).toString().slice(1)])
    .concat(sent.map((each) => JSON.stringify(each).slice(1, -1)))
    .reduce((rest, each) => rest.replaceAll(each, ''), text)

/** A text of JSON without the ids of other organisations that the caller's own records hold, where they hold them. */
const withoutHeld = (text: string, { held }: Crossed): string =>
  text
    .replace(/"(\w+)":("(?:[^"\\]|\\.)*")/g, (all, field, id) => (held.has(`${field} ${id}`) ? '' : all))
    .replace(/"(agents|agentGroups)":\[(?:\{"id":"(?:[^"\\]|\\.)*"\},?)+\]/g, (all, field) =>
      all.replace(/\{"id":("(?:[^"\\]|\\.)*")\}/g, (item, id) => (held.has(`${field} ${id}`) ? '' : item)),
    )

const isOwner = (field: string, value: unknown) => field === 'organisation' && typeof value === 'string'
const isNotArray = (_: string, value: unknown) => JSON.stringify(value) === '{"$not":{"$type":"array"}}'

/** What must be found if the service is broken so. */
const breakages: Record<string, Breakage> = {
  'lists find records of all organisations': (query) => withoutConditions(query, isOwner),
  'records of several organisations are found': (query) => withoutConditions(query, isNotArray),
  'totals count records of all organisations': (query) => ({ counted: withoutConditions(query, isOwner).counted }),
  'joins find records of all organisations': ({ stages }) => ({
    stages: replaced(stages, (object) => {
      if ([object.$eq].flat()[0] === '$$this.organisation') return { $eq: [1, 1] }
      return object.$match === undefined ? object : { ...object, $match: {} }
    }),
  }),
  'references find records of all organisations': (query) => {
    const [condition] = query.match.$and as [Condition]
    const isReference = '$in' in Object(condition._id) && !query.stages.some(({ $sort }) => $sort)
    return isReference ? withoutConditions(query, isOwner) : {}
  },
  'feeds have deletions of all organisations': ({ union }) => {
    const isOwned = (condition: object) => 'deletedFrom' in condition && typeof condition.deletedFrom === 'string'
    const ofAll = { deletedFrom: { $exists: true } }
    const $and = (union?.match.$and as object[] | undefined)?.map((each) => (isOwned(each) ? ofAll : each))
    return { union: union && broken(union, () => ({ match: { $and } })) }
  },
}

/** Those that are tried every day: of lists and joins, where records are found. THOROUGH=true tries all. */
const DAILY = ['lists find records of all organisations', 'joins find records of all organisations']

/** A service over the crossed organisations, and how to ask it. */
const prepare = async (t: Test) => {
  const draw = drawing(SEED)
  const whole = testStore(t)
  await whole.ensureIndexes()
  const organisations = await fillCrossed(whole, ORGANISATIONS, draw)
  let breakage: Breakage | undefined
  const store: Store = {
    ...whole,
    aggregate: (query, reading) => whole.aggregate(breakage ? broken(query, breakage) : query, reading),
    count: (query) => whole.count(breakage ? broken(query, breakage) : query),
  }
  const counts = {
    requests: 0,
    ok: 0,
    own: 0,
    ownHeaders: 0,
    ownCursors: 0,
    lines: 0,
    ownLines: 0,
    changes: 0,
    waits: 0,
  }
  const statuses: Record<string, number> = {}
  /** What was found of other organisations. */
  const found: string[] = []
  /** The last requests by their ids. */
  const asked = new Map<string, Sent>()
  const search = (text: string, { caller, url, method = 'GET', foreign }: Sent, what: string): void => {
    const foreignText = foreignIn(withoutSent(text, foreign), caller)
    if (foreignText !== undefined)
      found.push(`${method} ${url.slice(0, 500)} of ${caller.organisation}: ${what} has ${foreignText}`)
  }
  const log = {
    write(line: string) {
      const sent = asked.get(JSON.parse(line).reqId)
      search(line, sent ?? NOTHING_SENT, 'the log')
      counts.lines += 1
      counts.ownLines += sent !== undefined && hasOwn(line, sent.caller) ? 1 : 0
    },
  }
  const settings = { LOG_LEVEL: 'debug', SYNC_SETTLE_MS: '0', TOTAL_MAX_AGE_MS: '0' }
  const { app } = await testApp(t, { store, settings, log })
  const keys = keysOf(store, (error) => t.fail(String(error)))
  const callers: Caller[] = []
  for (const each of organisations) {
    const name = `Key${markOf(each.n)}`
    for (const without of [undefined, ['personal'], ['places']] as (Hidden[] | undefined)[]) {
      const key = await keys.issue({ organisation: each.organisation, name, ...(without && { without }) })
      callers.push({ ...each, key })
    }
  }
  const asking = new Asking(await operationsOf(app), callers, draw, MOST_PARAMETERS)

  /** Sends a request, and searches its response. Returns what it says. */
  const send = async (ask: Ask): Promise<string> => {
    const { caller, url, method = 'GET', headers } = ask
    const { key } = caller
    const basic = `Basic ${Buffer.from(`${draw.of(organisations).organisation}:${key}`).toString('base64')}`
    const authorization = draw.of([`Bearer ${key}`, `Bearer ${key}`, basic])
    const sent = { ...ask, foreign: foreignSent(ask) }
    asked.set(String(headers['x-request-id']), sent)
    if (asked.size > REMEMBERED) asked.delete(asked.keys().next().value as string)
    counts.requests += 1
    const request = { url, method, headers: { authorization, ...headers } } as InjectOptions
    const response = await app.inject(request).catch(ifBrokenOff)
    if (response === undefined) return ''
    const { statusCode, statusMessage } = response
    statuses[statusCode] = (statuses[statusCode] ?? 0) + 1
    const head = `${statusMessage}\n${JSON.stringify(response.headers)}`
    const text = await textOf(response)
    search(head + withoutHeld(text, caller), sent, `the response ${statusCode}`)
    // Summaries count the same entries in groups, and questions count answers.
    const isSummary = /\/summaries\/|\/questions$/.test(url.split('?')[0] as string)
    // Checks say how many entries they are of.
    const numbers = url.includes('/checks/')
      ? /"entries":(\d+),"asOf"/g
      : isSummary
        ? /"(?:total|entries)":(\d+)/g
        : /"(?:total|count)":(\d+)/g
    const counted = [...text.matchAll(numbers)].reduce((sum, [, count]) => sum + Number(count), 0)
    const most = caller.ids[isSummary ? 'entries' : collectionOf(url.split('?')[0] as string)].length
    if (counted > most && HAS_DATA.test(url)) found.push(`${url} counts ${counted} of at most ${most}`)
    if (statusCode !== 200) return text
    asking.see({ caller, url, etag: response.headers.etag as string | undefined })
    const next = /"next":"https?:\/\/[^/"]+([^"]+)"/.exec(text)?.[1]
    if (next !== undefined) asking.see({ caller, url: next })
    const cursor = /"hasMore":true,"nextCursor":"([^"]+)"/.exec(text)?.[1]
    if (cursor !== undefined) asking.see({ caller, url: `${url.split('?')[0]}?cursor=${cursor}` })
    // Few entries need a second look.
    if (method !== 'GET' || !HAS_DATA.test(url) || url.startsWith('/v1/checks/')) return text
    counts.ok += 1
    counts.own += hasOwn(text, caller) ? 1 : 0
    counts.ownHeaders += hasOwn(head, caller) ? 1 : 0
    counts.ownCursors += hasOwn(inCursors(text), caller) ? 1 : 0
    return text
  }

  /** Changes a record of an organisation, or removes it and adds it again. */
  const change = async (): Promise<void> => {
    const { organisation, ids } = draw.of(organisations)
    const collection = draw.of(Object.keys(ids) as RecordCollection[])
    const record = await whole.dangerouslyFind(collection, draw.of(ids[collection]))
    if (record?.organisation !== organisation) return
    const { changedAt: _, ...rest } = record as { changedAt?: Date }
    if (draw.below(2) === 0) await whole.remove(collection, organisation, [record._id])
    await whole.upsert(collection, [rest as never])
    counts.changes += 1
  }

  /** Sends so many requests, several at once, until something is found, while records change. */
  const run = async (requests: number): Promise<void> => {
    // Those that wait in feeds do not count: on a slow machine they are more.
    let left = requests
    const work = async (): Promise<void> => {
      while (left > 0 && found.length === 0) {
        left -= 1
        if (counts.changes * REQUESTS_PER_CHANGE < counts.requests) await change()
        await send(asking.next())
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
  }

  /** Waits in feeds, one after the other, until this is over. */
  const waitInFeeds = async (isOver: () => boolean): Promise<void> => {
    while (!isOver()) {
      const caller = draw.of(callers)
      const path = `/v1/sync/${draw.of(recordCollections)}`
      const ask = (query: string) => send({ caller, url: `${path}?${query}`, headers: asking.headers(caller) })
      const cursor = /"nextCursor":"([^"]+)"/.exec(await ask('perPage=1000'))?.[1]
      await ask(`cursor=${cursor}&wait=1`)
      counts.waits += 1
    }
  }
  return {
    ...{ asking, counts, statuses, found, run, waitInFeeds },
    breakBy(other: Breakage) {
      breakage = other
      found.length = 0
    },
  }
}

const timeout = 60_000 + REQUESTS * 20
t.test(
  'nothing of another organisation is in any byte of a response or of the log',
  { timeout, skip: leftToGate },
  async (t) => {
    const { asking, counts, statuses, found, run, waitInFeeds, breakBy } = await prepare(t)
    const began = performance.now()
    let isOver = false
    const waiting = waitInFeeds(() => isOver)
    await run(REQUESTS)
    isOver = true
    await waiting
    t.same(found, [])
    if (found.length > 0) return
    const seconds = Math.round((performance.now() - began) / 1000)
    t.comment(JSON.stringify({ organisations: ORGANISATIONS, seed: SEED, seconds, ...counts, statuses }))

    t.same([...asking.unknown], [], 'parameters without a value in drawValue of test/support/asking.ts')
    const drawable = asking.operations.flatMap(([path, parameters]) => [
      path,
      ...parameters.map(({ name }) => `${path} ${name}`),
    ])
    const missing = drawable.filter((each) => !asking.drawn.has(each))
    t.same(missing, [], 'operations and parameters that were not drawn')
    t.ok(counts.own > 0.6 * counts.ok, 'most responses have something of the caller')
    t.ok(counts.ownLines > 0.85 * counts.lines, 'nearly all lines of the log have something of the caller')
    const others = [counts.ownHeaders, counts.ownCursors, counts.changes, counts.waits]
    t.ok(Math.min(...others) > 0, 'some headers and cursors have, too, and records have changed')
    t.match(statuses, { 200: Number, 304: Number, 400: Number, 404: Number, 405: Number })

    // Each of them needs some dozens of requests, and tells whether this test can fail.
    for (const [name, breakage] of Object.entries(breakages).filter(([name]) => isThorough || DAILY.includes(name))) {
      breakBy(breakage)
      await run(500)
      t.not(found[0], undefined, `it is found if ${name}`)
    }
  },
)
