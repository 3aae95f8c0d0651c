// Summaries: how many entries there are in each group, from one aggregation, which is kept as totals are.
import { DispatchListItem } from '../../schemas/dispatches.js'
import { select } from '../../schemas/kit.js'
import type { SummaryQuery } from '../../schemas/summaries.js'
import { viewOf } from '../../schemas/views.js'
import type { Ticket } from '../limits/scheduler.js'
import { entries } from '../pipelines/entries.js'
import { type Expression, pick, Query, type Scope } from '../pipelines/stages.js'
import { invalidParameter, tookTooLong } from '../problems/problems.js'
import type { KeptTotals, Store } from '../store/store.js'
import { finite, NOTHING, objectsOf } from './aggregates.js'
import { onTimeout } from './cost.js'
import { type Dimension, dimensionOf, type Value } from './dimensions.js'
import { asLarge } from './listing.js'
import { isKey, questionOf, withQuestions } from './questions.js'

type Reads = Pick<Store & KeptTotals, 'aggregate' | 'keep' | 'isQuick'>
type Listing = Omit<SummaryQuery, 'top'> & { readonly top?: number | undefined }

/** The most groups that are counted. */
const MAX_GROUPS = 100_000

interface Counted {
  readonly count: number
  readonly durations: number
  readonly min: number | null
  readonly mean: number | null
  readonly max: number | null
}

/** As the database has it. Several groups may have an entry, which counts once among `entries`. */
type Found = Counted & { readonly _id: readonly never[]; readonly entries: number }

/** A group, with a value for each dimension. The mean and the others are of the entries that have a duration. */
export type Group = Counted & { readonly values: readonly Value[] }

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

const duration = finite('$duration')
const measures: Record<string, Expression> = {
  durations: { $sum: { $cond: [{ $eq: [duration, NOTHING] }, 0, 1] } },
  min: { $min: duration },
  mean: { $avg: duration },
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
  for (const [i, name] of by.entries()) {
    const question = isKey(name) ? await questionOf(scope, form, name, 'by', read) : undefined
    dimensions.push(dimensionOf(name, i, zone, question))
  }
  const _id = dimensions.map(({ group }) => group)
  const isFirst = dimensions.flatMap(({ isFirst = [] }) => isFirst)
  const once: Expression = isFirst.length > 0 ? { $cond: [{ $and: isFirst }, 1, 0] } : 1
  const $group = { _id, count: { $sum: 1 }, entries: { $sum: once }, ...(measure && measures) }
  const stages = [...dimensions.flatMap(({ stages = [] }) => stages), { $group }, { $limit: MAX_GROUPS + 1 }]
  const conditions = entries.conditions({ ...listing, sortBy: 'id', sortOrder: 'asc', page: 1, perPage: 1 })
  const query = Query.in(scope, 'entries', conditions, stages)
  const count = async () => {
    const asOf = new Date()
    const list = await store.aggregate(query)
    return { asOf, found: await objectsOf<Found>(list), bytes: list.size }
  }
  const given = entries.filters.filter((name) => listing[name as never] !== undefined)
  const tooLong = () => tookTooLong(` for ${['by', ...given].join(', ')}: a narrower filter may help`)
  const { asOf, found } = await asLarge(store, query, ticket, () => store.keep(query, count)).catch(onTimeout(tooLong))
  if (found.length > MAX_GROUPS) throw tooManyGroups(`makes more than ${MAX_GROUPS} groups`)
  const all = found.map(({ _id, ...counted }) => ({
    ...counted,
    values: dimensions.map(({ shownOf }, i) => shownOf(_id[i] as never)),
  }))
  const groups = all.sort(bySize).slice(0, top)
  const time = dimensions.findIndex(({ isTime }) => isTime)
  return {
    dimensions,
    groups: time === -1 ? groups : groups.sort((a, b) => order(a.values[time], b.values[time]) || bySize(a, b)),
    found: all.length,
    sum: sumOf(all),
    total: all.reduce((sum, { entries }) => sum + entries, 0),
    asOf,
  }
}

export const sumOf = (groups: readonly Group[]): number => groups.reduce((sum, { count }) => sum + count, 0)

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
