// What a key sees that is for some projects and forms: random requests of every operation in every format, each compared
// byte by byte with what another key gets, which is for all, from a store that has only what the first key sees. Records
// point at each other, move and are removed; no text of a record outside is in any response.
// SCOPED_REQUESTS says how many requests, and SCOPED_SEED draws others.
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { capabilities } from '../../src/capabilities.js'
import {
  isRecordCollection,
  type Only,
  type RecordCollection,
  recordCollections,
} from '../../src/core/documents/collections.js'
import type { Capability } from '../../src/core/door/capability.js'
import { keysOf } from '../../src/core/keys/keys.js'
import type { Condition, Query } from '../../src/core/pipelines/stages.js'
import { embeddedStore } from '../../src/core/store/embedded.js'
import type { Store } from '../../src/core/store/store.js'
import { testApp } from '../support/app.js'
import { type Ask, Asking, type Caller, collectionOf } from '../support/asking.js'
import { type Breakage, broken, replaced, withoutConditions } from '../support/breakages.js'
import { drawing } from '../support/crossed.js'
import { callOf, post } from '../support/mcp.js'
import { operationsOf } from '../support/operations.js'
import { ifBrokenOff, textOf, unpacked } from '../support/responses.js'
import {
  type All,
  copyOf,
  drawOnly,
  embedsOf,
  fillScoped,
  isSeen,
  markersIn,
  markersOutside,
  readAged,
} from '../support/scoped.js'
import { rawStore, testStore } from '../support/store.js'
import { runs } from '../support/thorough.js'

const LEAST = runs(100, 1500)
const REQUESTS = Math.max(LEAST, Number(process.env.SCOPED_REQUESTS ?? 0))
/** Enough requests to draw every parameter. */
const ENOUGH = 2000
const SEED = Number(process.env.SCOPED_SEED ?? 1)
const [ORGANISATIONS, SCOPES_EACH] = REQUESTS < ENOUGH ? [2, 2] : [4, 4]
/** How many pages of a list or a feed are compared. */
const MAX_PAGES = runs(20, 200)
const MAX_LIST_PAGES = 5
/** How many projects or forms a feed takes. */
const MAX_ASKED = 10

const toolsOfAll: Capability['tools'] = Object.assign({}, ...capabilities.map(({ tools }) => tools))
/** The tools that do the same as a request for an address; and what they take by names, or what adds names. */
const TOOLS: Readonly<Record<string, string>> = {
  '/v1/entries': 'find_entries',
  '/v1/summaries/entries': 'count_entries',
  '/v1/exports/entries.csv': 'export_link',
}
const NAMED = ['form', 'project', 'dispatch', 'agent', 'names']

/** A key for a part of an organisation, and a key for all of a copy that has that part alone. */
interface Scoped extends Caller {
  readonly only: Only
  /** A key for all of the organisation. */
  readonly keyOfAll: string
  readonly copy: { readonly key: string; readonly organisation: string; readonly stores: Record<Part, Store> }
  /** The markers of records that it does not see. */
  readonly outside: ReadonlySet<string>
}

/**
 * A copy has several stores. What is embedded in a record is a part of it, whether it is in the scope or not. So a store has a
 * part of the collection that is asked for, and all of those that may be embedded in its records.
 */
const PARTS = {
  entries: ['entries'],
  dispatches: ['dispatches', 'entries'],
  others: ['projects', 'forms', 'dispatches', 'entries'],
} as const
type Part = keyof typeof PARTS

/** The store that has what a request reads of a collection. */
type Reads = (collection: string) => Part

/** The records whose counts of entries a request lists if there are none. */
const listedBeside = (url: string): RecordCollection | undefined => {
  const [path, query] = url.split('?') as [string, string?]
  const parameters = new URLSearchParams(query)
  if (!path.includes('/summaries/') || parameters.get('none') !== 'true') return undefined
  return recordCollections.find((name) => [`${parameters.get('by')}s`, `${parameters.get('by')}es`].includes(name))
}

const readsOf = (url: string): Reads => {
  const [path] = url.split('?') as [string]
  const listed = listedBeside(url)
  if (path.includes('/summaries/')) return (name) => (name === listed ? 'others' : 'entries')
  if (path.endsWith('/questions')) return (name) => (name === 'forms' ? 'others' : 'entries')
  const part = { projects: 'others', forms: 'others', dispatches: 'dispatches' }[collectionOf(path) as string]
  return () => (part ?? 'entries') as Part
}

/** What differs in the responses of two keys and tells nothing. A cursor begins with the number of its version. */
const HEADERS = ['etag', 'date', 'content-length', 'content-encoding', 'transfer-encoding', 'connection']
const CURSORS = /\bA[Q-Za-f][\w-]{20,}/g
const TIMES = /"(asOf|timeStamp)\\?":\\?"[^"]*"/g
const KEY = /("key":\{)"id"[^}]*\}+/

/** A text of a response as both keys must get it. */
const alike = (text: string, { copy, organisation }: Scoped): string =>
  text.replaceAll(copy.organisation, organisation).replace(CURSORS, 'cursor').replace(TIMES, '"$1"').replace(KEY, '$1}')

const isText = ({ headers }: Response): boolean => /json|csv|text/.test(String(headers['content-type']))

/** All of a response, byte by byte. */
const bytesOf = (response: Response, caller: Scoped): string => {
  const bytes = unpacked(response).toString('latin1')
  return isText(response) ? alike(bytes, caller) : bytes
}

const headOf = ({ statusCode, statusMessage, headers }: Response, caller: Scoped): string => {
  const others = Object.entries(headers).filter(([name]) => !HEADERS.includes(name))
  return alike(`${statusCode} ${statusMessage} ${JSON.stringify(others)}`, caller)
}

type Response = LightMyRequestResponse
const BROKEN_OFF = { statusCode: 0, statusMessage: 'broken off', headers: {}, rawPayload: Buffer.alloc(0) } as Response

/** Items of a page of a feed, between what is before and after them. A page says whether there are more in its own way. */
const FEED_PAGE = /^([\s\S]*?"data":\[)([\s\S]*)(\],"_metadata":\{"perPage":\d+),"hasMore":(?:true|false)([\s\S]*)$/

const withParameter = (url: string, changes: Readonly<Record<string, string | undefined>>): string => {
  const [path, query] = url.split('?') as [string, string?]
  const parameters = new URLSearchParams(query)
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) parameters.delete(name)
    else parameters.set(name, value)
  }
  return parameters.size === 0 ? path : `${path}?${parameters}`
}
const isFeed = (url: string): boolean => /^\/v1\/sync\/\w+(\?|$)/.test(url)

/** Whether a feed or its digest can be of a part. */
const isDivided = (url: string): boolean => /^\/v1\/sync\/(entries|dispatches)(\/digest)?(\?|$)/.test(url)
/** Whether a part can be asked for by parameters. */
const canBeAsked = (only: Only): boolean =>
  Object.values(only).every((ids) => ids.length <= MAX_ASKED && ids.every((id) => !id.includes(',')))

/** Whether a key sees what a request lists. */
const isListed = (url: string, only: Only): boolean => {
  const [path] = url.split('?') as [string]
  const listed = listedBeside(url)
  if (listed !== undefined) return isSeen(listed, only)
  const names = path.replace(/\/questions$/, '').split(/[/.]/)
  return (
    !path.startsWith('/v1/') ||
    path.endsWith('/questions') ||
    path.includes('/checks/') ||
    names.every((name) => !isRecordCollection(name as RecordCollection) || isSeen(name as RecordCollection, only))
  )
}

/** The address of the page that follows. */
const nextOf = (url: string, response: Response): string | undefined => {
  if (!String(response.headers['content-type']).includes('json')) return undefined
  const text = unpacked(response).toString()
  if (isFeed(url)) {
    const cursor = /"hasMore":true,"nextCursor":"([^"]+)"/.exec(text)?.[1]
    return cursor && withParameter(url, { cursor, changedSince: undefined })
  }
  const link = /"next":("[^"]+")/.exec(text)?.[1] ?? /"href":("[^"]+"),"rel":"next"/.exec(text)?.[1]
  return link && (JSON.parse(link) as string).replace(/^https?:\/\/[^/]+/, '')
}

const decoded = (url: string): string => {
  try {
    return decodeURIComponent(url)
  } catch {
    return url
  }
}

/** The conditions of the scope of a key, by the texts of their values. */
const isOfScope = (field: string, value: unknown): boolean =>
  ['project', 'form', '_id'].includes(field) && valuesOfScopes.has(JSON.stringify(value))
const valuesOfScopes = new Set<string>()

/** What must be found if the service is broken so. */
const breakages: Record<string, Breakage> = {
  'lists find what is outside': (query) => withoutConditions(query, isOfScope),
  'totals count what is outside': (query) => ({ counted: withoutConditions(query, isOfScope).counted }),
  'a project has dispatches outside': ({ stages }) => ({
    stages: replaced(stages, (object) => {
      const all = (object.$match as Condition | undefined)?.$and as Condition[] | undefined
      return all?.at(-1)?.organisation === undefined ? object : { ...object, $match: all.at(-1) }
    }),
  }),
  'feeds are silent about what has left': function withoutFormer({ match, union }) {
    const silent = replaced(match, (object) => {
      const ids = object.formerProjects ?? object.formerForms
      return ids === undefined || Object.hasOwn(Object(ids), '$exists') ? object : { _id: { $in: [] } }
    })
    return { match: silent, union: union && broken(union, withoutFormer) }
  },
}

/** Where two texts differ, with what is around. */
const differenceOf = (a: string, b: string): string | undefined => {
  if (a === b) return undefined
  let at = 0
  while (a[at] === b[at]) at += 1
  return [a, b].map((text) => text.slice(Math.max(0, at - 150), at + 150)).join('\n  instead of\n')
}

/** How some pages differ from those of another key. */
const compareAll = (mine: readonly Response[], theirs: readonly Response[], caller: Scoped): string | undefined => {
  const textOfAll = (responses: readonly Response[]) =>
    responses.map((response) => `${headOf(response, caller)}\n${bytesOf(response, caller)}`).join('\n')
  return differenceOf(textOfAll(mine), textOfAll(theirs))
}

/** A deletion of a record that nobody has, from whose time a walk by times can begin. */
const CHECKPOINTS = /,?\{"id":"checkpoint"[^}]*\}/g

/**
 * The same for a feed, whose pages may be shorter in a narrower scope, or have a checkpoint alone: their items together are the
 * same.
 */
const compareFeeds = (mine: readonly Response[], theirs: readonly Response[], caller: Scoped): string | undefined => {
  const pagesOf = (responses: readonly Response[]) =>
    responses.map((response) => {
      const body = bytesOf(response, caller)
      const [, before = body, items = '', ...after] = FEED_PAGE.exec(body) ?? []
      return { items, others: [headOf(response, caller), before, ...after].join('\n') }
    })
  const both = [pagesOf(mine), pagesOf(theirs)]
  const [others, theirOthers] = both.map((pages) => [...new Set(pages.map(({ others }) => others))].join('\n'))
  const [items, theirItems] = both.map((pages) =>
    pages.flatMap(({ items }) => items.replace(CHECKPOINTS, '') || []).join(),
  )
  const isCut = Math.max(mine.length, theirs.length) === MAX_PAGES
  const [ends, theirEnds] = both.map((pages) => pages.at(-1)?.items.match(CHECKPOINTS) !== null)
  if (theirEnds && !ends && !isCut) return 'it ends without a checkpoint'
  const length = isCut ? Math.min(items?.length ?? 0, theirItems?.length ?? 0) : undefined
  return (
    differenceOf(`${others}`, `${theirOthers}`) ??
    differenceOf(`${items?.slice(0, length)}`, `${theirItems?.slice(0, length)}`)
  )
}

/** A service over organisations, and a service over copies of parts of them. */
const prepare = async (t: Test) => {
  const found: string[] = []
  const draw = drawing(SEED)
  const now = Date.now()
  const written = testStore(t)
  await written.ensureIndexes()
  const organisations = await fillScoped(written, ORGANISATIONS, draw)
  const all = await readAged(written, now, draw)
  const put = async (records: All) => {
    const { store, add } = rawStore(t)
    for (const collection of recordCollections) await add(collection, records[collection])
    return store
  }
  // Stamps are some seconds before a time that does not go on.
  const frozen = { now: async () => ({ now, majority: now }) }
  const whole = await put(all)
  await whole.ensureIndexes()
  const keysOfCopies = embeddedStore()
  let asked: { readonly stores: Scoped['copy']['stores']; readonly reads: Reads } | undefined
  const storeOf = ({ collection }: Query): Store => {
    const { stores, reads } = asked as NonNullable<typeof asked>
    return stores[reads(collection)]
  }
  const copies: Store = {
    ...keysOfCopies,
    ...frozen,
    aggregate: (query, reading) => storeOf(query).aggregate(query, reading),
    count: (query) => storeOf(query).count(query),
  }
  let breakage: Breakage | undefined
  const store: Store = {
    ...whole,
    ...frozen,
    aggregate: (query, reading) => whole.aggregate(breakage ? broken(query, breakage) : query, reading),
    count: (query) => whole.count(breakage ? broken(query, breakage) : query),
  }
  const settings = { SYNC_SETTLE_MS: '60000', TOTAL_MAX_AGE_MS: '0' }
  let lastError = ''
  const log = {
    write: (line: string) => {
      lastError = line
    },
  }
  const { app } = await testApp(t, { store, settings: { ...settings, LOG_LEVEL: 'error' }, log })
  const { app: copied } = await testApp(t, { store: copies, settings })

  const onError = (error: unknown) => t.fail(String(error))
  const [keys, copiedKeys] = [keysOf(store, onError), keysOf(copies, onError)]
  const dated = { createdAt: new Date(now), updatedAt: new Date(now) }
  const callers: Scoped[] = []
  for (const [i, each] of organisations.entries()) {
    const { organisation, n } = each
    const name = `Organisation ${n}`
    await store.insert('organisations', [{ _id: organisation, name, ...dated }])
    const keyOfAll = await keys.issue({ organisation, name: 'All' })
    for (let number = 0; number < SCOPES_EACH; number += 1) {
      const only = drawOnly(each, draw.of(organisations), draw, i + 3 * number)
      for (const ids of Object.values(only)) {
        valuesOfScopes.add(JSON.stringify(ids.length === 1 ? ids[0] : { $in: ids }))
      }
      const key = await keys.issue({ organisation, name: 'Part', only })
      const copy = `${organisation}-copy${number}-`
      await copies.insert('organisations', [{ _id: copy, name, ...dated }])
      const stores = {} as Record<Part, Store>
      for (const part of Object.keys(PARTS) as Part[]) {
        stores[part] = await put(copyOf(all, organisation, copy, only, PARTS[part]))
      }
      const keyOfCopy = await copiedKeys.issue({ organisation: copy, name: 'All' })
      const outside = new Set(markersOutside(all, organisation, only))
      callers.push({ ...each, key, keyOfAll, only, outside, copy: { key: keyOfCopy, organisation: copy, stores } })
    }
  }

  const asking = new Asking(await operationsOf(app), callers, draw)
  const counts = { requests: 0, pages: 0, ok: 0, refused: 0, own: 0, parts: 0, tags: 0, cursors: 0, calls: 0 }
  const statuses: Record<string, number> = {}
  /** The last address with a cursor of each organisation. */
  const cursors = new Map<string, { caller: Scoped; url: string }>()

  const report = ({ caller, url, method = 'GET' }: Ask<Scoped>, what: string): void => {
    found.push(`${method} ${decoded(url).slice(0, 500)} with ${JSON.stringify(caller.only)}: ${what}`)
  }

  /** The responses to a request, page by page. A response that breaks off has no status. */
  const walk = async (service: FastifyInstance, key: string, request: Ask<Scoped>): Promise<Response[]> => {
    const { method = 'GET', headers } = request
    const responses: Response[] = []
    let url: string | undefined = request.url
    while (url !== undefined && responses.length < (isFeed(url) ? MAX_PAGES : MAX_LIST_PAGES)) {
      counts.requests += 1
      const options = { url, method, headers: { authorization: `Bearer ${key}`, ...headers } } as InjectOptions
      const response: Response = (await service.inject(options).catch(ifBrokenOff)) ?? BROKEN_OFF
      responses.push(response)
      url = response.statusCode === 200 && method === 'GET' ? nextOf(url, response) : undefined
    }
    return responses
  }

  const search = async ({ caller, url }: Ask<Scoped>, response: Response): Promise<string | undefined> => {
    const embedded = embedsOf(collectionOf(url.split('?')[0] as string))
    const markers = markersIn(await textOf(response))
    counts.own += markers.length > 0 ? 1 : 0
    return markers.find(({ marker, collection }) => caller.outside.has(marker) && !embedded.includes(collection))
      ?.marker
  }

  /** Sends a request to both services, and compares what they respond. */
  const send = async (request: Ask<Scoped>): Promise<void> => {
    const { caller, method = 'GET' } = request
    // The copies have no store with what is named of the records that are listed and of others.
    const url = listedBeside(request.url) ? withParameter(request.url, { names: undefined }) : request.url
    const { copy, organisation, only } = caller
    const asksForPart = isDivided(url) && draw.below(2) === 0 && canBeAsked(only)
    if (asksForPart) counts.parts += 1
    const partly = asksForPart ? withParameter(url, { project: only.project?.join(), form: only.form?.join() }) : url
    const plain = asksForPart ? withParameter(url, { project: undefined, form: undefined }) : url
    const renamed = plain.replaceAll(encodeURIComponent(organisation), encodeURIComponent(copy.organisation))
    asked = { stores: copy.stores, reads: readsOf(url) }
    const mine = await walk(app, asksForPart ? caller.keyOfAll : caller.key, { ...request, url: partly })
    const theirs = await walk(copied, copy.key, { ...request, url: renamed })
    const [first, second] = [mine[0], theirs[0]] as [Response, Response]
    statuses[first.statusCode] = (statuses[first.statusCode] ?? 0) + 1
    for (const response of mine) {
      const marker = await search(request, response)
      if (marker !== undefined) report(request, `the response has ${marker}`)
    }
    if (!isListed(url, only) && ['GET', 'HEAD'].includes(method)) {
      const isRefused = first.statusCode === 403 && (method === 'HEAD' || first.json().code === 'not_in_scope')
      counts.refused += isRefused ? 1 : 0
      if (isRefused) return
      if ([200, 304, 404].includes(second.statusCode)) return report(request, `gives ${first.statusCode} and not 403`)
    }
    const difference = isFeed(url) ? compareFeeds(mine, theirs, caller) : compareAll(mine, theirs, caller)
    counts.pages += mine.length
    if (difference !== undefined) report(request, `${difference}\n${first.statusCode === 500 ? lastError : ''}`)
    if (first.statusCode === 200) counts.ok += 1
    if (method === 'GET') await callTool({ ...request, url })
    await sendTagged({ ...request, url }, renamed, first, second)
    await sendForeign(request, mine)
  }

  /** Calls the tool of assistants that does the same as a request, if there is one. */
  const callTool = async ({ caller, url, headers }: Ask<Scoped>): Promise<void> => {
    const [path, query] = url.split('?') as [string, string?]
    const [, id] = /^\/v1\/entries\/([^/]+)$/.exec(path) ?? []
    const tool = TOOLS[path] ?? (id && 'get_entry')
    if (tool === undefined || draw.below(2) > 0) return
    // It would look for names in place of these ids.
    const taken = Object.keys(toolsOfAll?.[tool]?.takes ?? {}).filter((name) => !NAMED.includes(name))
    const given = [...new URLSearchParams(query)].filter(([name]) => taken.includes(name))
    const format = tool === 'export_link' && { format: path.split('.').at(-1) }
    const body = callOf(tool, { ...Object.fromEntries(given), ...(id && { id: decodeURIComponent(id) }), ...format })
    const { host, 'x-request-id': requestId } = headers
    const call = (service: FastifyInstance, key: string) =>
      post(service, body, { 'x-request-id': requestId, ...(host && { host }), authorization: `Bearer ${key}` })
    counts.calls += 1
    counts.requests += 2
    const mine = await call(app, caller.key)
    const difference = compareAll([mine], [await call(copied, caller.copy.key)], caller)
    if (difference !== undefined) report({ caller, headers, url: `${url} by ${tool}` }, difference)
  }

  /** What is known at both services is not sent again. */
  const sendTagged = async (request: Ask<Scoped>, ...[url, first, second]: [string, Response, Response]) => {
    const { caller, headers } = request
    if (first.statusCode !== 200 || draw.below(4) > 0) return
    const tags = [first, second].map((response) => response.headers.etag as string | undefined)
    if (tags[0] === undefined || tags[1] === undefined) return
    const [mine] = await walk(app, caller.key, { ...request, headers: { ...headers, 'if-none-match': tags[0] } })
    const theirs = { ...request, url, headers: { ...headers, 'if-none-match': tags[1] } }
    const [other] = await walk(copied, caller.copy.key, theirs)
    const statuses = [mine?.statusCode, other?.statusCode].join()
    counts.tags += 1
    if (statuses !== '304,304') report(request, `with the entity tag it gives ${statuses}`)
  }

  /** A cursor of another scope of the organisation is refused. */
  const sendForeign = async (request: Ask<Scoped>, responses: readonly Response[]) => {
    const { caller } = request
    const last = cursors.get(caller.organisation)
    // Parameters may make the scopes of two keys the same one.
    const isPart = isDivided(request.url) && /[?&](project|form)=/.test(request.url)
    const url = responses.length > 1 && !isPart ? nextOf(request.url, responses[0] as Response) : undefined
    if (url !== undefined) cursors.set(caller.organisation, { caller, url })
    // The pages of checks have numbers alone.
    if (last === undefined || last.caller === caller || last.url.includes('/checks/')) return
    if (!isListed(last.url, caller.only)) return
    const [response] = await walk(app, caller.key, { caller, headers: asking.headers(caller), url: last.url })
    counts.cursors += 1
    if (response?.statusCode !== 400 || response.json().code !== 'invalid_cursor')
      report({ ...request, url: last.url }, `the cursor of another scope gives ${response?.statusCode}`)
  }

  const run = async (requests: number): Promise<void> => {
    const end = counts.requests + requests
    while (counts.requests < end && found.length === 0) {
      const request = asking.next()
      const { url } = request
      const times = ['1970-01-01T00:00:00Z', new Date(now - draw.below(21 * 86_400_000)).toISOString()]
      await send(
        url.includes('changedSince=')
          ? { ...request, url: withParameter(url, { changedSince: draw.of(times) }) }
          : request,
      )
    }
  }
  return {
    ...{ asking, counts, statuses, found, run },
    breakBy(other: Breakage) {
      breakage = other
      found.length = 0
    },
  }
}

const timeout = 180_000 + REQUESTS * 60
t.test(
  'a key for some projects and forms gets what it would get if there were nothing else',
  { timeout },
  async (t) => {
    const { asking, counts, statuses, found, run, breakBy } = await prepare(t)
    const began = performance.now()
    await run(REQUESTS)
    t.same(found, [])
    const seconds = Math.round((performance.now() - began) / 1000)
    t.comment(JSON.stringify({ seed: SEED, seconds, ...counts, statuses }))
    t.same([...asking.unknown], [])
    t.ok(Math.min(counts.ok, counts.refused, counts.own) > 0, 'some get records of theirs, and some are refused')
    if (found.length > 0 || REQUESTS < ENOUGH) return
    t.ok(
      Math.min(counts.parts, counts.tags, counts.cursors) > 0,
      'parts, entity tags and cursors of others are asked for',
    )

    for (const [name, breakage] of Object.entries(breakages)) {
      breakBy(breakage)
      await run(5000)
      t.not(found[0], undefined, `it is found if ${name}`)
    }
  },
)
