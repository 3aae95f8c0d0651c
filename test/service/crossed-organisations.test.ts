// What an organisation gets while the records of all of them point at each other: random requests of every operation, with
// every parameter, and a search for anything of another organisation in all bytes of the responses and in the log. No total
// is larger than what the caller has.
// FOREIGN_REQUESTS says how many, and FOREIGN_SEED draws others.
import { createHash } from 'node:crypto'
import { brotliDecompressSync, constants, gunzipSync } from 'node:zlib'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import t, { type Test } from 'tap'
import type { Hidden } from '../../schemas/kit.js'
import { isRecordCollection, type RecordCollection, recordCollections } from '../../src/documents/collections.js'
import { keysOf } from '../../src/keys/keys.js'
import { type Condition, Query } from '../../src/pipelines/stages.js'
import type { Store } from '../../src/store/store.js'
import { testApp } from '../support/app.js'
import {
  type Crossed,
  type Draw,
  digitsOf,
  drawing,
  fillCrossed,
  markOf,
  ownersIn,
  SHARED,
  timeOf,
} from '../support/crossed.js'
import { readCsv } from '../support/csv.js'
import { operationsOf, type Parameter } from '../support/operations.js'
import { testStore } from '../support/store.js'
import { sheetRows, unzip } from '../support/xlsx.js'

const QUESTION = createHash('sha256').update('Source?').digest('hex').slice(0, 12)
/** Enough requests to draw every parameter. */
const LEAST = 600
const REQUESTS = Math.max(LEAST, Number(process.env.FOREIGN_REQUESTS ?? 0))
const SEED = Number(process.env.FOREIGN_SEED ?? 1)
const ORGANISATIONS = REQUESTS > LEAST ? 100 : 6
/** How many requests run at once, and how many of them are for one change of a record. */
const AT_ONCE = 16
const REQUESTS_PER_CHANGE = 50
/** How many requests are remembered for the log. Those that wait are among the last ones. */
const REMEMBERED = 10_000
/** Addresses whose responses have something of the caller, if it has anything that matches. */
const HAS_DATA = /^\/v1\/(?!ogc(?!.*items))/

type Operation = readonly [path: string, parameters: readonly Parameter[]]
type Headers = Record<string, string>

/** An organisation with one of its keys. */
interface Caller extends Crossed {
  readonly key: string
}

interface Ask {
  readonly caller: Caller
  readonly url: string
  readonly method?: 'GET' | 'HEAD' | 'OPTIONS' | 'POST' | 'DELETE'
  readonly headers: Headers
}

/** A request with what it sent that is of another organisation. */
interface Sent extends Ask {
  readonly foreign: readonly string[]
}

/** What a line of the log is compared with that is of no request. */
const NOTHING_SENT: Sent = { caller: { n: -1 } as Caller, url: 'no address', headers: {}, foreign: [] }

/** An address that was given to a caller, or asked for by it. */
interface Seen {
  readonly caller: Caller
  readonly url: string
  readonly etag?: string | undefined
}

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

const json = (value: unknown): string =>
  JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? String(inner) : inner))

/** Rows with columns of recipients, as JSON has them. */
const nested = (rows: readonly Record<string, unknown>[]): string =>
  json(
    rows.map(({ 'recipients.agents': agents, 'recipients.agentGroups': agentGroups, ...others }) => {
      const listOf = (cell: unknown) => (typeof cell === 'string' ? cell.split('; ').map((id) => ({ id })) : cell)
      return { ...others, agents: listOf(agents), agentGroups: listOf(agentGroups) }
    }),
  )

/** The field that a column shows, whose name may be in words. */
const fieldOf = (column: unknown): string =>
  `${column}`
    .replace(/^[A-Z]/, (letter) => letter.toLowerCase())
    .replace(/ ([a-z])/g, (_, letter) => letter.toUpperCase())
    .replace(/^recipientsA/, 'recipients.a')

/** All parts of a file, with the rows of its sheet as JSON. */
const sheetText = (file: Buffer): string => {
  const parts = unzip(file)
  const [header = [], ...rows] = sheetRows([...parts.values()].at(-1) as string)
  const records = rows.map((row) => Object.fromEntries(row.map((cell, i) => [fieldOf(header[i]), cell])))
  return json([...parts.values()].slice(0, -1)) + json(header) + nested(records)
}

/** The bytes of a response as they were before they were compressed, as far as it goes. */
const unpacked = ({ headers, rawPayload }: LightMyRequestResponse): Buffer => {
  const coding = headers['content-encoding']
  if (rawPayload.length === 0) return rawPayload
  if (coding === 'gzip') return gunzipSync(rawPayload, { finishFlush: constants.Z_SYNC_FLUSH })
  if (coding === 'br') return brotliDecompressSync(rawPayload, { finishFlush: constants.BROTLI_OPERATION_FLUSH })
  return rawPayload
}

/** Nothing for an export that breaks off, as it does at a record that does not fit. Any other error is one of the test. */
const ifBrokenOff = (err: NodeJS.ErrnoException): undefined => {
  if (err.code !== 'LIGHT_ECONNRESET') throw err
}

/** All that a response says, as text, with records as JSON. */
const textOf = async (response: LightMyRequestResponse): Promise<string> => {
  const bytes = unpacked(response)
  const type = String(response.headers['content-type'])
  if (type.includes('parquet') && bytes.length > 8 && bytes.toString('latin1', bytes.length - 4) === 'PAR1') {
    const file = new Uint8Array(bytes).buffer
    const { key_value_metadata, row_groups } = parquetMetadata(file)
    const statistics = row_groups.flatMap(({ columns }) => columns.map(({ meta_data }) => meta_data?.statistics))
    return nested(await parquetReadObjects({ file })) + json([key_value_metadata, statistics])
  }
  if (type.endsWith('.sheet') && bytes.includes('PK\x05\x06')) return sheetText(bytes)
  const text = bytes.toString()
  if (!type.includes('text/csv')) return text
  const [header = [], ...rows] = readCsv(text.replace(/^\ufeff/, '').slice(0, text.lastIndexOf('\r\n') + 2))
  return json(header) + nested(rows.map((row) => Object.fromEntries(row.map((cell, i) => [fieldOf(header[i]), cell]))))
}

/** The records that a path names. */
const collectionOf = (path: string): RecordCollection =>
  (path.split(/[/.]/).findLast((part) => isRecordCollection(part as RecordCollection)) as RecordCollection) ?? 'entries'

/** Values of parameters, of the caller or of another organisation. Undefined for a parameter without any. */
const drawValue = ({ name, schema }: Parameter, path: string, draw: Draw, of: () => Crossed): string | undefined => {
  const words = schema.enum ?? schema.items?.enum
  if (words !== undefined) return schema.items === undefined ? draw.of(words) : [draw.of(words), draw.of(words)].join()
  const idIn = (collection: RecordCollection) => draw.of(of().ids[collection])
  const ids = Array.from({ length: 1 + draw.below(6) }, () => idIn(collectionOf(path)))
  const time = timeOf(of().n, 1 + draw.below(9)).toISOString()
  const [first, last] = ['0001-01-01T00:00:00Z', '9999-01-01T00:00:00Z']
  const point = () => Number(`${draw.below(10)}.${digitsOf(of().n)}`)
  const values: Record<string, () => string> = {
    id: () => idIn(collectionOf(path)),
    dispatch: () => idIn('dispatches'),
    form: () => idIn('forms'),
    project: () => idIn('projects'),
    agent: () => idIn('agents'),
    name: () => draw.of([SHARED, draw.of(of().names)]),
    status: () => draw.of([SHARED, 'active', draw.of(of().statuses)]),
    ids: () => ids.join(),
    idFrom: () => draw.of(['!', '!', ids[0] as string]),
    idTo: () => draw.of(['~', '\uffff', ids[0] as string]),
    from: () => draw.of(['!', ids[0] as string]),
    to: () => draw.of(['~', '\uffff', ids[0] as string]),
    bounds: () => [...new Set(ids)].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))).join(),
    updatedSince: () => draw.of([first, time]),
    updatedBefore: () => draw.of([last, time]),
    createdSince: () => draw.of([first, time]),
    createdBefore: () => draw.of([last, time]),
    changedSince: () => '1970-01-01T00:00:00Z',
    datetime: () => draw.of([`${first}/${time}`, `${time}/..`, `../${last}`, time]),
    bbox: () => draw.of(['-180,-90,180,90', `0,0,${point()},${point()}`, `${point()},${point()},180,90`]),
    ...{ country: () => 'Nigeria', state: () => 'Kano', lga: () => 'Tarauni', city: () => 'Kano' },
    answered: () => draw.of([QUESTION, `${QUESTION}=Borehole`]),
    by: () => draw.of(['status', 'agent,form', 'createdAt:month', 'location.state', 'location:0.5,dispatch']),
    zone: () => 'Africa/Lagos',
    measure: () => 'duration',
    organisation: () => of().organisation,
    top: () => draw.of(['1', '100']),
    page: () => draw.of(['1', '1', '2', '3']),
    perPage: () => draw.of(['1', '2', '5', '1000']),
    limit: () => draw.of(['1', '2', '5', '1000']),
    wait: () => '0',
    cursor: () => '*',
    after: () => draw.of(of().names),
  }
  return values[name]?.()
}

/** Random requests of each of the operations in turn, with each of their parameters in turn. */
class Asking {
  readonly #turns = new Map<string, number>()
  readonly drawn = new Set<string>()
  readonly unknown = new Set<string>()
  readonly #seen: Seen[] = []
  /** The operations, those with many parameters several times. */
  readonly #often: readonly Operation[]
  #count = 0

  constructor(
    readonly operations: readonly Operation[],
    readonly callers: readonly Caller[],
    readonly draw: Draw,
  ) {
    const times = ([, parameters]: Operation) => Math.ceil((1 + parameters.length) / 6)
    this.#often = [0, 1, 2, 3, 4].flatMap((time) => operations.filter((operation) => time < times(operation)))
  }

  /** Remembers an address for a later request, of this caller or of another one. */
  see(seen: Seen): void {
    const place = this.#seen.length < 1000 ? this.#seen.length : this.draw.below(1000)
    this.#seen[place] = seen
  }

  /** A number below a limit, each in its turn. */
  #turn(name: string, below: number): number {
    const at = this.#turns.get(name) ?? 0
    this.#turns.set(name, at + 1)
    return at % below
  }

  next(): Ask {
    const { draw } = this
    const caller = draw.of(this.callers)
    const kind = this.#turn('kind', 20)
    if (kind < 5 && this.#seen.length > 0) {
      const seen = draw.of(this.#seen)
      return this.#again(seen, kind < 2 ? caller : seen.caller)
    }
    const headers = this.headers(caller)
    return kind === 5
      ? { caller, headers, ...this.#wrong(caller, headers) }
      : { caller, headers, url: this.#url(caller) }
  }

  #other({ n }: Crossed): Crossed {
    const { draw, callers } = this
    const twin = callers.find((each) => each.n === (n ^ 1)) as Crossed
    return draw.below(4) === 0 ? twin : draw.of(callers)
  }

  headers(caller: Crossed): Headers {
    const { draw } = this
    const mark = markOf(this.#other(caller).n)
    this.#count += 1
    const headers: Headers = {
      'x-request-id': `${this.#count}:request${mark}`,
      'user-agent': `test${mark}`,
      'accept-encoding': draw.of(['br', 'gzip', 'identity']),
    }
    if (draw.below(5) === 0) headers.host = `host${mark}example.org`
    if (draw.below(5) === 0) headers.origin = `https://origin${mark}example.org`
    if (draw.below(5) === 0) headers.traceparent = `00-${String(this.#count).padStart(32, 'a')}-00f067aa0ba902b7-01`
    return headers
  }

  /** The next operation with some parameters. */
  #url(caller: Crossed): string {
    const { draw } = this
    const [template, parameters] = this.#often[this.#turn('operation', this.#often.length)] as Operation
    const of = () => (draw.below(3) > 0 ? caller : this.#other(caller))
    const value = (parameter: Parameter): string => {
      this.drawn.add(`${template} ${parameter.name}`)
      const found = drawValue(parameter, template, draw, of)
      if (found === undefined) this.unknown.add(parameter.name)
      return encodeURIComponent(found ?? '')
    }
    this.drawn.add(template)
    const path = template.replace(/\{(\w+)\}/g, (_, name) =>
      value(parameters.find((parameter) => parameter.in === 'path' && parameter.name === name) as Parameter),
    )
    const query = parameters.filter((parameter) => parameter.in === 'query')
    const length = query.length === 0 ? 0 : 1 + this.#turn('length', 3)
    const chosen = new Set(Array.from({ length }, () => query[this.#turn(template, query.length)] as Parameter))
    const pairs = [...chosen].map((parameter) => `${parameter.name}=${value(parameter)}`)
    const isAnswered = [...chosen].some(({ name }) => name === 'answered')
    for (const each of query) {
      const isNeeded = each.required === true || (isAnswered && each.name === 'form')
      if (isNeeded && !chosen.has(each)) pairs.push(`${each.name}=${value(each)}`)
    }
    const skip = query.find(({ name }) => name === 'unreadable')
    if (skip !== undefined && !chosen.has(skip) && draw.below(4) > 0) pairs.push('unreadable=skip')
    return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`
  }

  /** A request that is wrong in some way. */
  #wrong(caller: Crossed, headers: Headers): Pick<Ask, 'url'> & Partial<Ask> {
    const { draw } = this
    const other = this.#other(caller)
    const id = encodeURIComponent(draw.of(other.ids.entries))
    const url = this.#url(caller)
    const requests: (Pick<Ask, 'url'> & Partial<Ask>)[] = [
      { url: `/v1/${id}` },
      { url: `/${id}?name=${id}` },
      { url: `/v1/entries?${id}=${id}` },
      { url: `/v1/entries?form=${id}&form=${id}` },
      { url: `/v1/entries?perPage=${id}` },
      { url: `/v1/entries?status=%${id}` },
      { url: `/v1/entries?ids=${`${id},`.repeat(400)}` },
      { url, method: 'POST' },
      { url, method: 'DELETE' },
      { url, method: 'OPTIONS' },
      { url, method: 'HEAD' },
      { url, headers: { ...headers, accept: 'text/html' } },
      { url, headers: { ...headers, authorization: `Bearer ${other.organisation}` } },
      { url: draw.of(['/health', '/health/ready', '/openapi.json', '/docs', '/explore']) },
    ]
    return requests[this.#turn('wrong', requests.length)] as (typeof requests)[number]
  }

  /** A request for an address that was seen, often with the entity tag that was seen there. */
  #again({ url, etag }: Seen, caller: Caller): Ask {
    const { draw } = this
    const headers = this.headers(caller)
    if (etag !== undefined && draw.below(2) === 0) headers['if-none-match'] = etag
    return { caller, url, headers, method: draw.of(['GET', 'GET', 'GET', 'HEAD']) }
  }
}

/** What is changed in each query of a store that is broken on purpose. */
type Breakage = (query: Query) => Partial<Record<'match' | 'counted' | 'stages' | 'union', unknown>>

const broken = (query: Query, breakage: Breakage): Query =>
  Object.assign(Object.create(Query.prototype), query, breakage(query))

/** A value in which objects are replaced. */
const replaced = (value: unknown, by: (object: Record<string, unknown>) => object): unknown => {
  if (Array.isArray(value)) return value.map((item) => replaced(item, by))
  if (value?.constructor !== Object) return value
  const entries = Object.entries(by(value as Record<string, unknown>))
  return Object.fromEntries(entries.map(([name, inner]) => [name, replaced(inner, by)]))
}

/** A query without the conditions on some fields. */
const withoutConditions = ({ match, counted }: Query, isDropped: (field: string, value: unknown) => boolean) => {
  const others = (condition: object) => Object.entries(condition).filter(([field, value]) => !isDropped(field, value))
  const keep = ({ $and }: Condition) => ({
    $and: ($and as Condition[]).map((condition) => Object.fromEntries(others(condition))),
  })
  return { match: keep(match), counted: keep(counted) }
}
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
  const asking = new Asking(await operationsOf(app), callers, draw)

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
    const numbers = isSummary ? /"(?:total|entries)":(\d+)/g : /"(?:total|count)":(\d+)/g
    const counted = [...text.matchAll(numbers)].reduce((sum, [, count]) => sum + Number(count), 0)
    const most = caller.ids[isSummary ? 'entries' : collectionOf(url.split('?')[0] as string)].length
    if (counted > most && HAS_DATA.test(url)) found.push(`${url} counts ${counted} of at most ${most}`)
    if (statusCode !== 200) return text
    asking.see({ caller, url, etag: response.headers.etag as string | undefined })
    const next = /"next":"https?:\/\/[^/"]+([^"]+)"/.exec(text)?.[1]
    if (next !== undefined) asking.see({ caller, url: next })
    const cursor = /"hasMore":true,"nextCursor":"([^"]+)"/.exec(text)?.[1]
    if (cursor !== undefined) asking.see({ caller, url: `${url.split('?')[0]}?cursor=${cursor}` })
    if (method !== 'GET' || !HAS_DATA.test(url)) return text
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
    const end = counts.requests + requests
    const work = async (): Promise<void> => {
      while (counts.requests < end && found.length === 0) {
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
t.test('nothing of another organisation is in any byte of a response or of the log', { timeout }, async (t) => {
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

  t.same([...asking.unknown], [], 'parameters without a value in drawValue of this test')
  const drawable = asking.operations.flatMap(([path, parameters]) => [
    path,
    ...parameters.map(({ name }) => `${path} ${name}`),
  ])
  const missing = drawable.filter((each) => !asking.drawn.has(each))
  t.same(missing, [], 'operations and parameters that were not drawn')
  t.ok(counts.own > 0.65 * counts.ok, 'most responses have something of the caller')
  t.ok(counts.ownLines > 0.85 * counts.lines, 'nearly all lines of the log have something of the caller')
  const others = [counts.ownHeaders, counts.ownCursors, counts.changes, counts.waits]
  t.ok(Math.min(...others) > 0, 'some headers and cursors have, too, and records have changed')
  t.match(statuses, { 200: Number, 304: Number, 400: Number, 404: Number, 405: Number })

  for (const [name, breakage] of Object.entries(breakages)) {
    breakBy(breakage)
    await run(500)
    t.not(found[0], undefined, `it is found if ${name}`)
  }
})
