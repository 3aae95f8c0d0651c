// Summaries: how many entries there are in each group. They are kept as totals are.
import { setImmediate } from 'node:timers/promises'
import { DispatchListItem } from '../../schemas/dispatches.js'
import type { EntryListQuery } from '../../schemas/entries.js'
import { BESIDE, select } from '../../schemas/kit.js'
import type { Period, SummaryQuery } from '../../schemas/summaries.js'
import { viewOf } from '../../schemas/views.js'
import { Bson, type BsonDocument } from '../bson/reader.js'
import { dateOf, elementAt, fieldOf, numberOf, textOf } from '../bson/values.js'
import type { Ticket } from '../limits/scheduler.js'
import { entries } from '../pipelines/entries.js'
import { type Condition, pick, Query, type Scope, type Stage } from '../pipelines/stages.js'
import { invalidParameter, tookTooLong } from '../problems/problems.js'
import type { KeptTotals, Store } from '../store/store.js'
import { onTimeout } from './cost.js'
import { type Dimension, dimensionOf, type Value, YEAR_1, YEAR_9999 } from './dimensions.js'
import { asLarge } from './listing.js'
import { type Part, partFinder } from './local-time.js'
import { isKey, questionOf, withQuestions } from './questions.js'
import { type EntryFilters, everyEntry } from './whole-list.js'

type Reads = Pick<Store & KeptTotals, 'aggregate' | 'count' | 'keep' | 'isQuick' | 'knownIndexes'>
type Listing = Omit<SummaryQuery, 'top'> & { readonly top?: number | undefined }

/** The most groups that are counted, and the most characters that their values have together. */
const MAX_GROUPS = 100_000
const MAX_CHARACTERS = 16 * 1024 * 1024
const MANY_GROUPS = `makes more than ${MAX_GROUPS} groups`
/** How many groups of the database are read before other requests go on. */
const SLICE = 1000
/** The count of one period takes about as long as to read so many entries. */
const ENTRIES_PER_COUNT = 100

/** A group, with a value for each dimension. */
export interface Group {
  readonly values: readonly Value[]
  count: number
  /** Of the durations of its entries. */
  readonly duration: { count: number; sum: number; min: number; max: number }
}

/** Groups as they are counted. */
class Groups {
  readonly all = new Map<string, Group>()
  total = 0
  characters = 0

  /** Adds entries that have one or more values of each dimension. */
  add(each: readonly (readonly Value[])[], count: number, duration?: number): void {
    this.total += count
    const [ones = [], others = [undefined]] = each
    for (const one of ones) {
      for (const other of others) {
        const group = this.#groupOf(other === undefined ? [one] : [one, other])
        group.count += count
        if (duration === undefined) continue
        group.duration.count += 1
        group.duration.sum += duration
        group.duration.min = Math.min(group.duration.min, duration)
        group.duration.max = Math.max(group.duration.max, duration)
      }
    }
  }

  #groupOf(values: readonly Value[]): Group {
    const key = JSON.stringify(values)
    let group = this.all.get(key)
    if (group === undefined) {
      const duration = { count: 0, sum: 0, min: Number.POSITIVE_INFINITY, max: Number.NEGATIVE_INFINITY }
      group = { values, count: 0, duration }
      this.all.set(key, group)
      this.characters += key.length
      if (this.all.size > MAX_GROUPS) throw tooManyGroups(MANY_GROUPS)
      if (this.characters > MAX_CHARACTERS)
        throw tooManyGroups(`makes groups of more than ${MAX_CHARACTERS} characters`)
    }
    return group
  }
}

/** What is kept of a summary. */
interface Kept {
  /** Largest first. */
  readonly groups: readonly Group[]
  /** How many entries there are. */
  readonly total: number
  readonly asOf: Date
  readonly bytes: number
}

export interface Summary extends Kept {
  readonly dimensions: readonly Dimension[]
  /** The largest groups, in their order. */
  readonly shown: readonly Group[]
}

/**
 * Counts entries.
 * @throws the problem `invalid_parameter` for a question that the form does not have, and too many groups
 */
export const summaryOf = async (store: Reads, scope: Scope, asked: Listing, ticket: Ticket): Promise<Summary> => {
  const { by, form, zone, measure, top } = asked
  const filters = await withQuestions(store, scope, asked, (work) => work(ticket))
  const dimensions: Dimension[] = []
  for (const name of by) {
    const question = isKey(name) ? await questionOf(store, scope, form, name, 'by', (work) => work(ticket)) : undefined
    dimensions.push(dimensionOf(name, zone, question))
  }
  const conditions = entries.conditions({ ...filters, sortBy: 'id', sortOrder: 'asc', page: 1, perPage: 1 })
  const given = entries.filters.filter((name) => asked[name as never] !== undefined)
  const count = async (): Promise<Kept> => {
    const asOf = new Date()
    const counting = { store, scope, filters, conditions, dimensions }
    const isOfFields = measure === undefined && dimensions.every(({ name, field }) => name === field)
    const isInTime = measure === undefined && by.length === 1 && given.every((name) => name.startsWith('created'))
    const { all, total, characters } =
      (isOfFields && (await groupsOfFields(counting))) ||
      (isInTime && dimensions[0]?.isTime && (await groupsOfParts(counting, by[0] as string, zone))) ||
      (await groupsOfEntries(counting))
    return { groups: [...all.values()].sort(bySize), total, asOf, bytes: characters }
  }
  const query = Query.in(scope, 'entries', conditions, [])
  const what = [...by, zone, measure].join()
  const tooLong = () => tookTooLong(` for ${['by', ...given].join(', ')}: a narrower filter may help`)
  const kept = await asLarge(store, query, ticket, () => store.keep(query, count, what), what).catch(onTimeout(tooLong))
  const shown = kept.groups.slice(0, top)
  const time = dimensions.findIndex(({ isTime }) => isTime)
  if (time !== -1) shown.sort((a, b) => order(a.values[time], b.values[time]) || bySize(a, b))
  return { ...kept, dimensions, shown }
}

interface Counting {
  readonly store: Reads
  readonly scope: Scope
  readonly filters: EntryFilters
  readonly conditions: readonly Condition[]
  readonly dimensions: readonly Dimension[]
}

/** Reads all entries that match. */
const groupsOfEntries = async ({ store, scope, filters, dimensions }: Counting): Promise<Groups> => {
  const groups = new Groups()
  const fields = ['duration', ...dimensions.map(({ field }) => field.split('.')[0])] as EntryListQuery['fields']
  // Other callers may wait for the same, so it goes on without this one.
  for await (const rows of everyEntry(store, scope, filters, fields, (work) => work({}))) {
    for (const { bytes } of rows) {
      const each = dimensions.map(({ valuesIn }) => valuesIn(bytes))
      groups.add(each, 1, numberOf(bytes, fieldOf(bytes, 0, 'duration')))
    }
  }
  return groups
}

/** Lets the database count by fields. */
const groupsOfFields = async ({ store, scope, conditions, dimensions }: Counting): Promise<Groups> => {
  const groups = new Groups()
  const stages: Stage[] = [
    {
      $group: {
        // An array would be no key of an index.
        _id: Object.fromEntries(dimensions.map(({ name }, i) => [`by${i}`, `$${name}` as const])),
        count: { $sum: 1 },
        owner: { $max: '$organisation' },
      },
    },
    { $limit: MAX_GROUPS + 1 },
  ]
  const isNobodys = ({ bytes }: BsonDocument) => elementAt(bytes, ['owner'])?.type === Bson.array
  // An index may have all that is read. Only if a record is found that belongs to nobody, the documents are read.
  let { documents } = await store.aggregate(Query.covered(scope, 'entries', conditions, stages))
  if (documents.some(isNobodys)) ({ documents } = await store.aggregate(Query.in(scope, 'entries', conditions, stages)))
  if (documents.length > MAX_GROUPS) throw tooManyGroups(MANY_GROUPS)
  for (const [i, { bytes }] of documents.entries()) {
    const each = dimensions.map((_, i) => [textOf(bytes, elementAt(bytes, ['_id', `by${i}`]))])
    groups.add(each, numberOf(bytes, elementAt(bytes, ['count'])) as number)
    if (i % SLICE === 0) await setImmediate()
  }
  return groups
}

/** Counts the periods of a time one by one, which an index serves. Undefined where it is quicker to read all entries. */
const groupsOfParts = async ({ store, scope, conditions }: Counting, name: string, zone: string) => {
  const endOf = async (direction: 1 | -1): Promise<number | undefined> => {
    const isTime = { createdAt: { $gte: new Date(YEAR_1), $lte: new Date(YEAR_9999) } }
    const first = [{ $sort: { createdAt: direction, _id: direction } }, { $limit: 1 }, { $project: { createdAt: 1 } }]
    const { documents } = await store.aggregate(Query.in(scope, 'entries', [...conditions, isTime], first as Stage[]))
    return documents[0] && dateOf(documents[0].bytes, fieldOf(documents[0].bytes, 0, 'createdAt'))
  }
  const countOf = async (more: readonly Condition[]): Promise<number> => {
    const stages = [{ $group: { _id: null, count: { $sum: 1 } } }]
    const { documents } = await store.aggregate(Query.in(scope, 'entries', [...conditions, ...more], stages))
    return (documents[0] && numberOf(documents[0].bytes, elementAt(documents[0].bytes, ['count']))) ?? 0
  }
  const partOf = partFinder(name.split(':')[1] as Period, zone)
  let left = await countOf([])
  const [first, last] = [await endOf(1), await endOf(-1)]
  const parts: Part[] = []
  for (let time = first; time !== undefined && time <= (last as number); time = parts.at(-1)?.before) {
    if (parts.push(partOf(time)) * ENTRIES_PER_COUNT > left) return undefined
  }
  const groups = new Groups()
  for (const { text, from, before } of parts) {
    const count = await countOf([{ createdAt: { $gte: new Date(from), $lt: new Date(before) } }])
    if (count > 0) groups.add([[text]], count)
    left -= count
  }
  if (left > 0) groups.add([[null]], left)
  return groups
}

export const sumOf = (groups: readonly { readonly count: number }[]): number =>
  groups.reduce((sum, { count }) => sum + count, 0)

export const tooManyGroups = (fault: string) => invalidParameter('by', `${fault}: a narrower filter may help`)

/** The order of two values. Null is last. */
const order = (a: Value = null, b: Value = null): number => {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  if (typeof a === 'string' || typeof b === 'string') return a < b ? -1 : Number(a > b)
  return a.longitude - b.longitude || a.lattitude - b.lattitude
}
const bySize = (a: Group, b: Group): number =>
  b.count - a.count || order(a.values[0], b.values[0]) || order(a.values[1], b.values[1])

/** What stands beside an id. */
export interface Named {
  readonly name: string
  readonly totalExpectedEntries: number | null
}

const expected = select(DispatchListItem, ['name', 'totalExpectedEntries'])

/** What stands beside the ids of a dimension, by the id. Undefined if that has no names, or the key does not see them. */
export const namesOf = async (
  store: Pick<Store, 'aggregate'>,
  scope: Scope,
  { dimensions, shown }: Summary,
  i: number,
  ticket: Ticket,
): Promise<ReadonlyMap<unknown, Named> | undefined> => {
  const beside = entries.item.beside?.find(({ fields }) => fields[0] === `${dimensions[i]?.name}${BESIDE}`)
  if (beside === undefined) return undefined
  const { from } = beside
  const seen = viewOf(scope.without).shown(from === 'dispatches' ? expected : beside.shown)
  if (Object.keys(seen.properties).length === 0) return undefined
  const ids = shown.flatMap(({ values }) => values[i] ?? [])
  const { documents } = await store.aggregate(Query.in(scope, from, [{ _id: { $in: ids } }], [pick(seen)]), ticket)
  const named = documents.map(({ bytes }): [string | null, Named] => {
    const name = ['name', 'firstName', 'lastName'].flatMap((part) => textOf(bytes, elementAt(bytes, [part])) || [])
    return [
      textOf(bytes, elementAt(bytes, ['_id'])),
      {
        name: name.join(' '),
        totalExpectedEntries: numberOf(bytes, elementAt(bytes, ['totalExpectedEntries'])) ?? null,
      },
    ]
  })
  return new Map(named)
}
