// Organisations whose records point at each other's in every reference there is. All ids, texts, numbers and times of an
// organisation carry its mark, so that a search finds them in any response.
import { ObjectId } from 'mongodb'
import { dispatchStatuses, dispatchTypes } from '../../schemas/dispatches.js'
import {
  type Documents,
  type RecordCollection,
  recordCollections,
  references,
} from '../../src/core/documents/collections.js'
import type { Store } from '../../src/core/store/store.js'
import { tenant } from './tenants.js'

/** Draws one of some values, or a whole number below a limit. The same seed gives the same ones. */
export interface Draw {
  below(limit: number): number
  of<T>(values: readonly T[]): T
}

/** @param seed a whole number */
export const drawing = (seed: number): Draw => {
  let state = seed
  // Mulberry32.
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return { below, of: (values) => values[below(values.length)] as never }
}

/** The number of records of several organisations, which are nobody's. */
const NOBODY = 999
const FIRST_YEAR = 3000

/** The mark in texts. Those of an even and of the next odd number differ in case alone. A URL has it as it is. */
export const markOf = (n: number): string => `.${n % 2 === 0 ? 'o' : 'O'}${n >> 1}.`
/** The fraction of a number with the mark. */
export const digitsOf = (n: number): string => `99907${String(n).padStart(3, '0')}70999`
export const timeOf = (n: number, day = 1): Date => new Date(Date.UTC(FIRST_YEAR + n, 0, day, 8, 30, 15, 250))

/** A text belongs to the last mark of a run, since an id of one organisation may begin with the id of another. */
const MARKS = /(?:\.o\d+\.)*\.(o)(\d+)\.|99907(\d{3})70999|\b(3\d{3})-\d\d-\d\dT/gi

/** The numbers of the organisations of which there is something in a text. */
export function* ownersIn(text: string): Generator<{ n: number; found: string; at: number }> {
  for (const { 0: found, 1: letter, 2: half, 3: digits, 4: year, index: at } of text.matchAll(MARKS)) {
    if (half !== undefined) yield { n: 2 * Number(half) + (letter === 'O' ? 1 : 0), found, at }
    else yield { n: digits === undefined ? Number(year) - FIRST_YEAR : Number(digits), found, at }
  }
}

/** A name and a status that all organisations have in common. */
export const SHARED = 'shared'
const WORDS = new Set<unknown>([SHARED, 'active', ...dispatchTypes, ...dispatchStatuses])

/** A document in which all that shows of an organisation has its mark. */
const marked = <T>(value: T, n: number): T => {
  const mark = (): unknown => {
    if (typeof value === 'string') return WORDS.has(value) || value.includes(markOf(n)) ? value : value + markOf(n)
    if (typeof value === 'number') return Number(`${Math.trunc(value % 10)}.${digitsOf(n)}`)
    if (value instanceof Date) return timeOf(n, value.getUTCDate())
    if (Array.isArray(value)) return value.map((item) => marked(item, n))
    if (typeof value !== 'object') return value
    return Object.fromEntries(Object.entries(value as object).map(([name, inner]) => [name, marked(inner, n)]))
  }
  return mark() as T
}

/** What an organisation has. */
export interface Crossed {
  readonly n: number
  readonly organisation: string
  /** Its ids, one that another organisation has in other collections or as another type, and one of nobody's record. */
  readonly ids: Record<RecordCollection, string[]>
  /** Ids of other organisations that its own records hold, each as JSON behind the name of the field and a space. */
  readonly held: Set<string>
  /** The names and statuses of its records. */
  readonly names: string[]
  readonly statuses: string[]
}

type Records = { [C in RecordCollection]: Documents[C][] }

/** The records of organisation `n` that point at nobody else's. */
const plain = (n: number, organisation: string, other: string): Records => {
  const mark = markOf(n)
  const { user, agent, form, project, dispatch, entry } = tenant(organisation, mark)
  const some = <T extends { _id: string }>(record: T, second: T): T[] => {
    // An id that begins with the id of another organisation, one that must be encoded in URLs, and one that is removed.
    const ids = [record._id.replace(mark, other + mark), `ü/ %"&+;<>${record._id}`, `removed${mark}`]
    return [record, second, ...ids.map((_id) => ({ ...record, _id }))]
  }
  const second = <T extends { _id: string }>(record: T): T => ({ ...record, _id: `second-${mark}`, status: 'active' })
  const file = { type: 'file', question: 'Photo?', answer: ['https://files.example.org/photo.jpg'] }
  const records: Records = {
    users: some(user, second(user)),
    agents: some(agent(1), agent(2)),
    forms: some(form, { ...second(form), name: SHARED }),
    projects: some(project(1), { ...project(2), name: SHARED }),
    dispatches: some(dispatch(1), dispatch(2, { name: SHARED })),
    entries: some(entry(1), entry(2, { answers: [file, { type: 'none', question: 'Any?' }], status: SHARED })),
  }
  return marked(records, n)
}

/** The fields of a collection that hold ids. */
const referencesOf = (collection: RecordCollection) =>
  Object.entries(references[collection] ?? {}) as [string, RecordCollection][]

const mapped = <T>(of: (collection: RecordCollection) => T) =>
  Object.fromEntries(recordCollections.map((name) => [name, of(name)])) as Record<RecordCollection, T>

/** Fills a store with so many organisations. An even number. */
export const fillCrossed = async (store: Store, count: number, draw: Draw): Promise<Crossed[]> => {
  const organisationOf = (n: number) => `org${markOf(n)}`
  const own = Array.from({ length: count }, (_, n) => plain(n, organisationOf(n), markOf((n + 1) % count)))
  const nobodys = plain(NOBODY, organisationOf(NOBODY), '')
  const both = (n: number) => `both${n >> 1}${markOf(NOBODY)}`

  const all = own.map((records, n): Crossed => {
    const held = new Set<string>()
    /** Adds a copy of a record whose references are all replaced. */
    const point = (
      collection: RecordCollection,
      name: string,
      idIn: (collection: RecordCollection) => unknown,
    ): void => {
      const copy: Record<string, unknown> = { ...records[collection][0], _id: `${name}${markOf(n)}` }
      for (const [field, to] of referencesOf(collection)) {
        const id = idIn(to)
        const ids = [id].flat()
        if (field === 'recipients.agents') copy.recipients = { agents: ids, agentGroups: ids }
        else copy[field] = id
        for (const each of field === 'recipients.agents' ? ['agents', 'agentGroups'] : [field]) {
          for (const one of ids) held.add(`${each} ${JSON.stringify(one)}`)
        }
      }
      records[collection].push(copy as never)
    }
    const shared = `c0ffee${String(n >> 1).padStart(18, '0')}`
    const twin = own[n ^ 1] as Records
    const anIdOf = (other: Records, to: RecordCollection) => draw.of<{ _id: string }>(other[to].slice(0, 4))._id
    const foreignId = (to: RecordCollection) => anIdOf(draw.of(own.filter((each) => each !== records)), to)
    for (const [i, collection] of recordCollections.entries()) {
      // In half of the collections its twin has the same id as an ObjectId, and in the others it is the other way round.
      const _id = i % 2 === n % 2 ? shared : new ObjectId(shared)
      records[collection].push({ ...records[collection][1], _id } as never)
      if (referencesOf(collection).length === 0) continue
      point(collection, 'twin', (to) => anIdOf(twin, to))
      for (const i of [1, 2]) point(collection, `foreign${i}`, foreignId)
      point(collection, 'tombstone', () => `removed${markOf(n ^ 1)}`)
      point(collection, 'both', () => both(n))
      point(collection, 'typed', () => new ObjectId(shared))
      point(collection, 'text', () => shared)
      // Such a record does not fit its schema, so some organisations have none.
      if (n % 4 === 3) point(collection, 'list', (to) => [records[to][0]?._id, foreignId(to)])
    }
    const each = Object.values(records).flat() as { name?: string; status?: string }[]
    return {
      n,
      organisation: organisationOf(n),
      ids: mapped((name) => [...records[name].map(({ _id }) => String(_id)), both(n)]),
      held,
      names: [...new Set(each.flatMap(({ name = [] }) => name))],
      statuses: [...new Set(each.flatMap(({ status = [] }) => status))],
    }
  })

  const dated = { createdAt: timeOf(0), updatedAt: timeOf(0) }
  await store.insert(
    'organisations',
    all.map(({ n, organisation }) => ({ _id: organisation, name: `Organisation${markOf(n)}`, ...dated })),
  )
  for (const collection of recordCollections) {
    for (const records of own) await store.insert(collection, records[collection] as never)
    // MongoDB keeps no document with two arrays in one index, and there is one by the agents of a dispatch.
    const { recipients: _, ...nobodysRecord } = nobodys[collection][0] as Record<string, unknown>
    for (let n = 0; n < count; n += 2) {
      const organisation = [organisationOf(n), organisationOf(n + 1)]
      await store.insert(collection, [
        { ...nobodysRecord, _id: both(n), organisation },
        { _id: `gone${both(n)}`, deletedFrom: organisation, deletedAt: new Date() },
      ] as never)
    }
    for (const { n, organisation } of all) await store.remove(collection, organisation, [`removed${markOf(n)}`])
  }
  return all
}
