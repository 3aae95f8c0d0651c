// Random requests of every operation, with every parameter, for organisations whose records point at each other.
import { createHash } from 'node:crypto'
import { isRecordCollection, type RecordCollection } from '../../src/core/documents/collections.js'
import { type Crossed, type Draw, digitsOf, markOf, SHARED, timeOf } from './crossed.js'
import type { Parameter } from './operations.js'

const QUESTION = createHash('sha256').update('Source?').digest('hex').slice(0, 12)
/** The dimensions of counts whose values are ids. */
const JOINED_SUFFIX = ['form', 'project', 'dispatch', 'agent']

export type Operation = readonly [path: string, parameters: readonly Parameter[]]
export type Headers = Record<string, string>

/** An organisation with one of its keys. */
export interface Caller extends Crossed {
  readonly key: string
}

export interface Ask<C extends Caller = Caller> {
  readonly caller: C
  readonly url: string
  readonly method?: 'GET' | 'HEAD' | 'OPTIONS' | 'POST' | 'DELETE'
  readonly headers: Headers
}

/** An address that was given to a caller, or asked for by it. */
export interface Seen<C extends Caller = Caller> {
  readonly caller: C
  readonly url: string
  readonly etag?: string | undefined
}

/** The records that a path names. */
export const collectionOf = (path: string): RecordCollection =>
  // Agents are checked by their entries.
  path.includes('/checks/')
    ? 'entries'
    : ((path.split(/[/.]/).findLast((part) => isRecordCollection(part as RecordCollection)) as RecordCollection) ??
      'entries')

/** Values of parameters, of the caller or of another organisation. Undefined for a parameter without any. */
const drawValue = ({ name, schema }: Parameter, path: string, draw: Draw, of: () => Crossed): string | undefined => {
  const words = schema.enum ?? schema.items?.enum
  if (words !== undefined) return schema.items === undefined ? draw.of(words) : [draw.of(words), draw.of(words)].join()
  const idIn = (collection: RecordCollection) => draw.of(of().ids[collection])
  const ids = Array.from({ length: 1 + draw.below(6) }, () => idIn(collectionOf(path)))
  // A feed takes several of them.
  const some = (collection: RecordCollection) =>
    path.includes('/sync/')
      ? Array.from({ length: 1 + draw.below(3) }, () => idIn(collection)).join()
      : idIn(collection)
  const time = timeOf(of().n, 1 + draw.below(9)).toISOString()
  const [first, last] = ['0001-01-01T00:00:00Z', '9999-01-01T00:00:00Z']
  const point = () => Number(`${draw.below(10)}.${digitsOf(of().n)}`)
  const values: Record<string, () => string> = {
    id: () => idIn(collectionOf(path)),
    dispatch: () => idIn('dispatches'),
    form: () => some('forms'),
    project: () => some('projects'),
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
    ...{ missing: () => draw.of(['-99,NA', 'Borehole']), unique: () => QUESTION, questions: () => QUESTION },
    by: () =>
      draw.of(['status', 'agent,form', 'createdAt:month', 'location.state', 'location:0.5,dispatch', ...JOINED_SUFFIX]),
    zone: () => 'Africa/Lagos',
    measure: () => 'duration',
    organisation: () => of().organisation,
    top: () => draw.of(['1', '100']),
    minEntries: () => draw.of(['5', '20']),
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
export class Asking<C extends Caller = Caller> {
  readonly #turns = new Map<string, number>()
  readonly drawn = new Set<string>()
  readonly unknown = new Set<string>()
  readonly #seen: Seen<C>[] = []
  /** The operations, those with many parameters several times. */
  readonly #often: readonly Operation[]
  #count = 0

  constructor(
    readonly operations: readonly Operation[],
    readonly callers: readonly C[],
    readonly draw: Draw,
    /** The most parameters that a request has beside those that it needs. */
    readonly most = 3,
  ) {
    const times = ([, parameters]: Operation) => Math.ceil((1 + parameters.length) / 6)
    this.#often = [0, 1, 2, 3, 4].flatMap((time) => operations.filter((operation) => time < times(operation)))
  }

  /** Remembers an address for a later request, of this caller or of another one. */
  see(seen: Seen<C>): void {
    const place = this.#seen.length < 1000 ? this.#seen.length : this.draw.below(1000)
    this.#seen[place] = seen
  }

  /** A number below a limit, each in its turn. */
  #turn(name: string, below: number): number {
    const at = this.#turns.get(name) ?? 0
    this.#turns.set(name, at + 1)
    return at % below
  }

  next(): Ask<C> {
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
    const length = query.length === 0 ? 0 : 1 + this.#turn('length', this.most)
    const chosen = new Set(Array.from({ length }, () => query[this.#turn(template, query.length)] as Parameter))
    const pairs = [...chosen].map((parameter) => `${parameter.name}=${value(parameter)}`)
    const isOfForm = [...chosen].some(({ name }) => ['answered', 'missing', 'unique', 'questions'].includes(name))
    for (const each of query) {
      const isNeeded = each.required === true || (isOfForm && each.name === 'form')
      if (isNeeded && !chosen.has(each)) pairs.push(`${each.name}=${value(each)}`)
    }
    const skip = query.find(({ name }) => name === 'unreadable')
    if (skip !== undefined && !chosen.has(skip) && draw.below(4) > 0) pairs.push('unreadable=skip')
    return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`
  }

  /** A request that is wrong in some way. */
  #wrong(caller: Crossed, headers: Headers): Pick<Ask<C>, 'url'> & Partial<Ask<C>> {
    const { draw } = this
    const other = this.#other(caller)
    const id = encodeURIComponent(draw.of(other.ids.entries))
    const url = this.#url(caller)
    const requests: (Pick<Ask<C>, 'url'> & Partial<Ask<C>>)[] = [
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
  #again({ url, etag }: Seen<C>, caller: C): Ask<C> {
    const { draw } = this
    const headers = this.headers(caller)
    if (etag !== undefined && draw.below(2) === 0) headers['if-none-match'] = etag
    return { caller, url, headers, method: draw.of(['GET', 'GET', 'GET', 'HEAD']) }
  }
}
