// Summaries: how many entries there are in each group, from one aggregation, which is kept as totals are.

import { DispatchListItem } from '../../schemas/dispatches.js'
import { select } from '../../schemas/kit.js'
import type { SummaryQuery } from '../../schemas/summaries.js'
import { viewOf } from '../../schemas/views.js'
import type { Ticket } from '../limits/scheduler.js'
import { entries } from '../pipelines/entries.js'
import { type Expression, pick, Query, type Scope } from '../pipelines/stages.js'
import { problem, tookTooLong } from '../problems/problems.js'
import type { KeptTotals, Store } from '../store/store.js'
import { finite, objectsOf } from './aggregates.js'
import { onTimeout } from './cost.js'
import { type Dimension, dimensionOf, once, type Shown } from './dimensions.js'
import { asLarge } from './listing.js'
import { questionOf, withQuestions } from './questions.js'

type Reads = Pick<Store & KeptTotals, 'aggregate' | 'keep' | 'isQuick'>

/** The most groups that are counted. */
const MAX_GROUPS = 100_000

/** As the database has it. */
interface Found {
  readonly _id: readonly unknown[]
  readonly count: number
  readonly entries: number
  readonly durations?: number
  readonly sum?: number
  readonly min?: number | null
  readonly max?: number | null
}

export interface Group {
  readonly values: readonly Shown[]
  readonly count: number
  /** How many of them have a duration, and these together. */
  readonly durations: number
  readonly sum: number
  readonly min: number | null
  readonly max: number | null
}

export interface Summary {
  readonly dimensions: readonly Dimension[]
  /** The largest groups, in their order. */
  readonly groups: readonly Group[]
  readonly total: number
  /** How many groups there are, and how many entries are in those that were left out. */
  readonly found: number
  readonly left: number
  readonly isMultiple: boolean
  readonly asOf: Date
}

type Listing = Omit<SummaryQuery, 'top'> & { readonly top?: number }

const duration = finite('$duration')
const measures = {
  durations: { $sum: { $cond: [{ $eq: [duration, { $literal: null }] }, 0, 1] } },
  sum: { $sum: duration },
  min: { $min: duration },
  max: { $max: duration },
} satisfies Record<string, Expression>

/**
 * Counts entries.
 * @throws the problem `invalid_parameter` for a question that the form does not have, and too many groups
 */
export const summaryOf = async (store: Reads, scope: Scope, asked: Listing, ticket: Ticket): Promise<Summary> => {
  const read = (query: Query) => asLarge(store, query, ticket, () => store.aggregate(query, ticket))
  const listing = await withQuestions(scope, asked, read)
  const dimensions: Dimension[] = []
  for (const [i, name] of listing.by.entries()) {
    const isKey = /^[\da-f]{12}$/.test(name)
    const question = isKey ? await questionOf(scope, listing.form, name, 'by', read) : undefined
    dimensions.push(dimensionOf(name, i, listing.zone, question))
  }
  const $group = {
    _id: dimensions.map(({ group }) => group),
    count: { $sum: 1 },
    entries: { $sum: once(dimensions) },
    ...(listing.measure && measures),
  }
  const stages = [...dimensions.flatMap(({ stages }) => stages), { $group }, { $limit: MAX_GROUPS + 1 }]
  const conditions = entries.conditions({ ...listing, sortBy: 'id', sortOrder: 'asc', page: 1, perPage: 1 })
  const query = Query.in(scope, 'entries', conditions, stages)
  const tooLong = () => tookTooLong(` for ${['by', ...given(listing)].join(', ')}: a narrower filter may help`)
  const counted = await asLarge(store, query, ticket, () =>
    store.keep(query, async () => {
      const asOf = new Date()
      const list = await store.aggregate(query)
      return { asOf, found: await objectsOf<Found>(list), bytes: list.size }
    }),
  ).catch(onTimeout(tooLong))
  const { asOf, found } = counted
  if (found.length > MAX_GROUPS) throw tooMany(`makes more than ${MAX_GROUPS} groups`)
  const all = merged(dimensions, found)
  const groups = all.sort(bySize).slice(0, listing.top)
  const sum = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0)
  const total = sum(found.map(({ entries }) => entries))
  const inAll = sum(all.map(({ count }) => count))
  return {
    dimensions,
    groups: dimensions.some(({ isTime }) => isTime) ? groups.sort(byTime(dimensions)) : groups,
    total,
    found: all.length,
    left: inAll - sum(groups.map(({ count }) => count)),
    isMultiple: inAll !== total,
    asOf,
  }
}

/** @throws the problem of a summary with too many groups */
export const tooMany = (fault: string) => {
  const message = `${fault}: a narrower filter or fewer values help`
  return problem('invalid_parameter', `by ${message}`, { errors: [{ in: 'query', name: 'by', message }] })
}

const given = (listing: Listing): string[] => entries.filters.filter((name) => listing[name as never] !== undefined)

/** The groups as they are shown. Several groups of the database may be one. */
const merged = (dimensions: readonly Dimension[], found: readonly Found[]): Group[] => {
  const groups = new Map<string, Group>()
  for (const { _id, count, durations = 0, sum = 0, min = null, max = null } of found) {
    const values = dimensions.map(({ shown }, i) => shown(_id[i] as never))
    const key = JSON.stringify(values)
    const other = groups.get(key)
    groups.set(key, {
      values,
      count: count + (other?.count ?? 0),
      durations: durations + (other?.durations ?? 0),
      sum: sum + (other?.sum ?? 0),
      min: least(min, other?.min),
      max: most(max, other?.max),
    })
  }
  return [...groups.values()]
}

const least = (a: number | null, b: number | null = null) => (a === null || b === null ? (a ?? b) : Math.min(a, b))
const most = (a: number | null, b: number | null = null) => (a === null || b === null ? (a ?? b) : Math.max(a, b))

/** The order of two values: null is last. */
const order = (a: Shown, b: Shown): number => {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  if (typeof a === 'string' || typeof b === 'string') return a < b ? -1 : Number(a > b)
  return a.longitude - b.longitude || a.lattitude - b.lattitude
}
const byValues = (a: Group, b: Group): number =>
  a.values.reduce<number>((found, value, i) => found || order(value, b.values[i] as Shown), 0)
const bySize = (a: Group, b: Group): number => b.count - a.count || byValues(a, b)
const byTime = (dimensions: readonly Dimension[]) => {
  const i = dimensions.findIndex(({ isTime }) => isTime)
  return (a: Group, b: Group): number => order(a.values[i] as Shown, b.values[i] as Shown) || bySize(a, b)
}

/** What stands beside the ids of a dimension. */
export interface Named {
  readonly name: string | null
  readonly totalExpectedEntries?: number | null
}

/** The names of records, by the dimension and the id. A dimension whose names the key does not see is not there. */
export const namesOf = async (
  store: Pick<Store, 'aggregate'>,
  scope: Scope,
  { dimensions, groups }: Summary,
  ticket: Ticket,
): Promise<ReadonlyMap<string, ReadonlyMap<string, Named>>> => {
  const names = new Map<string, ReadonlyMap<string, Named>>()
  for (const [i, { name }] of dimensions.entries()) {
    const beside = entries.item.beside?.find(({ fields }) => fields[0]?.startsWith(`${name}:`))
    if (beside === undefined) continue
    const { from, shown } = beside
    const seen = viewOf(scope.without).shown(from === 'dispatches' ? expected : shown)
    if (Object.keys(seen.properties).length === 0) continue
    const ids = groups.flatMap(({ values }) => values[i] ?? [])
    const query = Query.in(scope, from, [{ _id: { $in: ids } }], [pick(seen)])
    const found = await objectsOf<Record<string, unknown>>(await store.aggregate(query, ticket), ticket.signal)
    names.set(
      name,
      new Map(
        found.map(({ _id, name, firstName, lastName, totalExpectedEntries = null }) => [
          _id as string,
          {
            name: (name ?? [firstName, lastName].filter((part) => part).join(' ')) as string,
            ...(from === 'dispatches' && { totalExpectedEntries: totalExpectedEntries as number | null }),
          },
        ]),
      ),
    )
  }
  return names
}
const expected = select(DispatchListItem, ['name', 'totalExpectedEntries'])
