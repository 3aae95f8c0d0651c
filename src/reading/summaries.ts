// Summaries: how many entries there are in each group, from one aggregation, which is kept as totals are.
import { DispatchListItem } from '../../schemas/dispatches.js'
import { select } from '../../schemas/kit.js'
import type { SummaryQuery } from '../../schemas/summaries.js'
import { viewOf } from '../../schemas/views.js'
import type { Ticket } from '../limits/scheduler.js'
import { entries } from '../pipelines/entries.js'
import { type Condition, type Expression, pick, Query, type Scope, type Stage } from '../pipelines/stages.js'
import { invalidParameter, tookTooLong } from '../problems/problems.js'
import type { KeptTotals, Store } from '../store/store.js'
import { finite, NOTHING, objectsOf, YEAR_1, YEAR_9999 } from './aggregates.js'
import { onTimeout } from './cost.js'
import { type Dimension, dimensionOf, type Part, partsOf, type Value } from './dimensions.js'
import { asLarge } from './listing.js'
import { isKey, questionOf, withQuestions } from './questions.js'

type Reads = Pick<Store & KeptTotals, 'aggregate' | 'keep' | 'isQuick'>
type Listing = Omit<SummaryQuery, 'top'> & { readonly top?: number | undefined }

/** The most periods that are counted one by one. */
const MAX_PARTS = 1500
/** The most groups that are counted. */
const MAX_GROUPS = 100_000

/** A group of the database. */
interface Found {
  readonly _id: Readonly<Record<string, never>>
  readonly count: number
  readonly durations?: number
  readonly sum?: number
  readonly min?: number | null
  readonly max?: number | null
  /** The greatest organisation. It is an array if a record is in the group that belongs to nobody. */
  readonly owner?: unknown
}

/** A group, with a value for each dimension. The last four are of the entries that have a duration. */
export interface Group {
  readonly values: readonly Value[]
  readonly count: number
  readonly durations: number
  readonly sum: number
  readonly min: number | null
  readonly max: number | null
}

export interface Summary {
  readonly dimensions: readonly Dimension[]
  /** The largest groups, in their order. */
  readonly groups: readonly Group[]
  /** How many groups there are, and the sum of their counts. */
  readonly found: number
  readonly sum: number
  /** How many entries there are. */
  readonly total: number
  readonly asOf: Date
}

/** What is kept of a summary. */
interface Kept {
  readonly groups: readonly Group[]
  readonly total: number
  readonly asOf: Date
  readonly bytes: number
}

const duration = finite('$duration')
const measures: Record<string, Expression> = {
  durations: { $sum: { $cond: [{ $eq: [duration, NOTHING] }, 0, 1] } },
  sum: { $sum: duration },
  min: { $min: duration },
  max: { $max: duration },
}

/**
 * Counts entries.
 * @throws the problem `invalid_parameter` for a question that the form does not have, and too many groups
 */
export const summaryOf = async (store: Reads, scope: Scope, asked: Listing, ticket: Ticket): Promise<Summary> => {
  const read = (query: Query) => asLarge(store, query, ticket, () => store.aggregate(query, ticket))
  const listing = await withQuestions(scope, asked, read)
  const { by, form, zone, measure, top } = listing
  const dimensions: Dimension[] = []
  for (const name of by) {
    const question = isKey(name) ? await questionOf(scope, form, name, 'by', read) : undefined
    dimensions.push(dimensionOf(name, zone, question))
  }
  const conditions = entries.conditions({ ...listing, sortBy: 'id', sortOrder: 'asc', page: 1, perPage: 1 })
  const given = entries.filters.filter((name) => listing[name as never] !== undefined)
  const stagesWith = (more: Record<string, Expression>): Stage[] => [
    {
      $group: {
        // An array would be no key of an index.
        _id: Object.fromEntries(dimensions.map(({ group }, i) => [`by${i}`, group])),
        count: { $sum: 1 },
        ...(measure && measures),
        ...more,
      },
    },
    { $limit: MAX_GROUPS + 1 },
  ]
  const exact = Query.in(scope, 'entries', conditions, stagesWith({}))
  const groupsOf = async (query: Query): Promise<Omit<Kept, 'asOf'> | undefined> => {
    const list = await store.aggregate(query)
    const found = await objectsOf<Found>(list)
    if (found.length > MAX_GROUPS) throw tooManyGroups(`makes more than ${MAX_GROUPS} groups`)
    if (found.some(({ owner }) => Array.isArray(owner))) return undefined
    return { groups: merged(dimensions, found), total: sumOf(found), bytes: list.size }
  }
  const count = async (): Promise<Kept> => {
    const asOf = new Date()
    const isAlone = dimensions.length === 1 && measure === undefined
    const isInTime = isAlone && given.every((name) => name.startsWith('created'))
    const [{ name, isTime }] = dimensions as [Dimension]
    const counted = isTime && isInTime ? await countedInParts(store, scope, conditions, name, zone) : undefined
    // An index may have all that is read, so it is not read whether a record belongs to nobody.
    const isCovered = dimensions.every(({ isField }) => isField)
    const owner = { owner: { $max: '$organisation' } } as const
    const covered = isCovered
      ? await groupsOf(Query.covered(scope, 'entries', conditions, stagesWith(owner)))
      : undefined
    return { ...(counted ?? covered ?? ((await groupsOf(exact)) as Kept)), asOf }
  }
  const tooLong = () => tookTooLong(` for ${['by', ...given].join(', ')}: a narrower filter may help`)
  const { groups, total, asOf } = await asLarge(store, exact, ticket, () => store.keep(exact, count)).catch(
    onTimeout(tooLong),
  )
  const shown = [...groups].sort(bySize).slice(0, top)
  const time = dimensions.findIndex(({ isTime }) => isTime)
  return {
    dimensions,
    groups: time === -1 ? shown : shown.sort((a, b) => order(a.values[time], b.values[time]) || bySize(a, b)),
    found: groups.length,
    sum: sumOf(groups),
    total,
    asOf,
  }
}

/** The groups as they are shown. Several groups of the database may be one, and one with several answers is several. */
const merged = (dimensions: readonly Dimension[], found: readonly Found[]): Group[] => {
  const groups = new Map<string, Group>()
  for (const { _id, count, durations = 0, sum = 0, min = null, max = null } of found) {
    const each = dimensions.map(({ valuesIn }, i) => valuesIn(_id[`by${i}`] as never))
    for (const values of each.reduce<Value[][]>((all, next) => all.flatMap((a) => next.map((b) => [...a, b])), [[]])) {
      const key = JSON.stringify(values)
      const other = groups.get(key) ?? NOBODY
      groups.set(key, {
        values,
        count: count + other.count,
        durations: durations + other.durations,
        sum: sum + other.sum,
        min: least(min, other.min),
        max: greatest(max, other.max),
      })
    }
  }
  return [...groups.values()]
}
const NOBODY: Omit<Group, 'values'> = { count: 0, durations: 0, sum: 0, min: null, max: null }
const least = (a: number | null, b: number | null) => (a === null || b === null ? (a ?? b) : Math.min(a, b))
const greatest = (a: number | null, b: number | null) => (a === null || b === null ? (a ?? b) : Math.max(a, b))

/** Counts period by period from the index of the time. Undefined where the periods are very many. */
const countedInParts = async (
  store: Pick<Store, 'aggregate'>,
  scope: Scope,
  conditions: readonly Condition[],
  name: string,
  zone: string,
): Promise<Omit<Kept, 'asOf'> | undefined> => {
  const endOf = async (direction: 1 | -1): Promise<Date | undefined> => {
    const stages = [
      { $sort: { createdAt: direction, _id: direction } },
      { $limit: 1 },
      { $project: { createdAt: 1 } },
    ] as const
    const isTime = { createdAt: { $gte: YEAR_1, $lte: YEAR_9999 } }
    const list = await store.aggregate(Query.in(scope, 'entries', [...conditions, isTime], stages))
    return (await objectsOf<{ createdAt: Date }>(list))[0]?.createdAt
  }
  const countOf = async (more: readonly Condition[]): Promise<number> => {
    const stages = [{ $group: { _id: null, count: { $sum: 1 } } }]
    const list = await store.aggregate(Query.in(scope, 'entries', [...conditions, ...more], stages))
    return (await objectsOf<{ count: number }>(list))[0]?.count ?? 0
  }
  const [first, last] = [await endOf(1), await endOf(-1)]
  const parts: Part[] = []
  if (first !== undefined && last !== undefined) {
    if (first.getTime() < 0) return undefined
    for (const part of partsOf(name, zone, first, last)) if (parts.push(part) > MAX_PARTS) return undefined
  }
  const counts = new Map<string | null, number>()
  let left = await countOf([])
  for (const { text, from, before } of parts) {
    const count = await countOf([{ createdAt: { $gte: from, $lt: before } }])
    if (count > 0) counts.set(text, count + (counts.get(text) ?? 0))
    left -= count
  }
  if (left > 0) counts.set(null, left)
  const groups = [...counts].map(([text, count]) => ({ ...NOBODY, values: [text], count }))
  return { groups, total: sumOf(groups), bytes: 0 }
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
  { dimensions, groups }: Summary,
  i: number,
  ticket: Ticket,
): Promise<ReadonlyMap<unknown, Named> | undefined> => {
  const beside = entries.item.beside?.find(({ fields }) => fields[0]?.startsWith(`${dimensions[i]?.name}:`))
  if (beside === undefined) return undefined
  const { from, shown } = beside
  const seen = viewOf(scope.without).shown(from === 'dispatches' ? expected : shown)
  if (Object.keys(seen.properties).length === 0) return undefined
  const ids = groups.flatMap(({ values }) => values[i] ?? [])
  const list = await store.aggregate(Query.in(scope, from, [{ _id: { $in: ids } }], [pick(seen)]), ticket)
  const found = await objectsOf<Record<string, string> & { totalExpectedEntries?: number }>(list, ticket.signal)
  return new Map(
    found.map(({ _id, name, firstName, lastName, totalExpectedEntries = null }) => [
      _id,
      { name: name ?? [firstName, lastName].filter((part) => part).join(' '), totalExpectedEntries },
    ]),
  )
}
