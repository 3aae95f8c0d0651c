// Summaries: how many entries there are in each group. They are kept as totals are.
import { setImmediate } from 'node:timers/promises'
import { DispatchListItem } from '../../schemas/dispatches.js'
import { BESIDE, select } from '../../schemas/kit.js'
import type { SummaryQuery } from '../../schemas/summaries.js'
import { viewOf } from '../../schemas/views.js'
import { Bson, type BsonDocument, type Element } from '../bson/reader.js'
import { fieldOf, numberOf, stringOf } from '../bson/values.js'
import type { Ticket } from '../limits/scheduler.js'
import { entries } from '../pipelines/entries.js'
import { type Condition, pick, Query, type Scope, type Stage } from '../pipelines/stages.js'
import { invalidParameter, tookTooLong } from '../problems/problems.js'
import type { KeptTotals, Store } from '../store/store.js'
import { onTimeout } from './cost.js'
import { type Dimension, dimensionOf, type Value } from './dimensions.js'
import { duration, NOTHING } from './expressions.js'
import { asLarge, inLargePieces } from './listing.js'
import { isKey, questionOf, withQuestions } from './questions.js'

type Reads = Pick<Store & KeptTotals, 'aggregate' | 'keep' | 'isQuick' | 'knownIndexes'>
type Listing = Omit<SummaryQuery, 'top'> & { readonly top?: number | undefined }

/** The most groups that are counted, and the most characters that their values have together. */
const MAX_GROUPS = 100_000
const MAX_CHARACTERS = 16 * 1024 * 1024
/** How many groups of the database are read before other requests go on. */
const SLICE = 500

/** How many entries there are, how many of them have a duration, and what is known of these. */
interface Counts {
  count: number
  measured: number
  sum: number
  min: number
  max: number
}
const NONE: Counts = {
  count: 0,
  measured: 0,
  sum: 0,
  min: Number.POSITIVE_INFINITY,
  max: Number.NEGATIVE_INFINITY,
}
const measures = {
  measured: { $sum: { $cond: [{ $eq: [duration, NOTHING] }, 0, 1] } },
  sum: { $sum: duration },
  min: { $min: duration },
  max: { $max: duration },
} as const
const countsOf = (bytes: Buffer): Counts => {
  const found = Object.keys(NONE).map((name) => [name, numberOf(bytes, fieldOf(bytes, 0, name))] as const)
  return { ...NONE, ...Object.fromEntries(found.filter(([, number]) => number !== undefined)) }
}

/** A group, with a value for each dimension. */
export interface Group extends Counts {
  readonly values: readonly Value[]
}

/** Groups of a response. Several groups of the database may become one of these, and one with several answers becomes several. */
class Groups {
  readonly all = new Map<string, Group>()
  total = 0
  characters = 0

  /** @param each the values of each dimension */
  add([ones = [], others]: readonly (readonly Value[])[], counts: Counts): void {
    this.total += counts.count
    for (const one of ones) {
      for (const values of others?.map((other) => [one, other]) ?? [[one]]) {
        const group = this.#groupOf(values)
        for (const name of ['count', 'measured', 'sum'] as const) group[name] += counts[name]
        group.min = Math.min(group.min, counts.min)
        group.max = Math.max(group.max, counts.max)
      }
    }
  }

  #groupOf(values: readonly Value[]): Group {
    const key = JSON.stringify(values)
    const found = this.all.get(key)
    if (found !== undefined) return found
    const group = { values, ...NONE }
    this.all.set(key, group)
    this.characters += key.length
    if (this.all.size > MAX_GROUPS) throw tooManyGroups(MANY)
    if (this.characters > MAX_CHARACTERS) throw tooManyGroups(`makes groups of more than ${MAX_CHARACTERS} characters`)
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

/** What is counted. */
interface Counting {
  readonly store: Reads
  readonly scope: Scope
  readonly conditions: readonly Condition[]
  readonly dimensions: readonly Dimension[]
  readonly measure: SummaryQuery['measure']
}

/**
 * Counts entries.
 * @throws the problem `invalid_parameter` for a question that the form does not have, and too many groups
 */
export const summaryOf = async (store: Reads, scope: Scope, asked: Listing, ticket: Ticket): Promise<Summary> => {
  const { by, form, zone, measure, top } = asked
  const doing = inLargePieces(ticket)
  const filters = await withQuestions(store, scope, asked, doing)
  const dimensions: Dimension[] = []
  for (const name of by) {
    const question = isKey(name) ? await questionOf(store, scope, form, name, 'by', doing) : undefined
    dimensions.push(await dimensionOf(name, zone, question))
  }
  const conditions = entries.conditions({ ...filters, sortBy: 'id', sortOrder: 'asc', page: 1, perPage: 1 })
  const given = entries.filters.filter((name) => asked[name as never] !== undefined)
  const counting: Counting = { store, scope, conditions, dimensions, measure }
  const query = Query.in(scope, 'entries', conditions, stagesOf(counting))
  const count = async (): Promise<Kept> => {
    const asOf = new Date()
    const { all, total, characters } = await groupsOf(counting)
    return { groups: [...all.values()].sort(bySize), total, asOf, bytes: characters }
  }
  const tooLong = () => tookTooLong(` for ${['by', ...given].join(', ')}: a narrower filter may help`)
  const kept = await asLarge(store, query, ticket, () => store.keep(query, count)).catch(onTimeout(tooLong))
  const shown = kept.groups.slice(0, top)
  const time = dimensions.findIndex(({ period }) => period)
  if (time !== -1) shown.sort((a, b) => order(a.values[time], b.values[time]) || bySize(a, b))
  return { ...kept, dimensions, shown }
}

const stagesOf = ({ dimensions, measure }: Counting, more = {}): Stage[] => {
  // An array would be no key of an index.
  const _id = Object.fromEntries(dimensions.map(({ group }, i) => [`by${i}`, group]))
  return [{ $group: { _id, count: { $sum: 1 }, ...(measure && measures), ...more } }, { $limit: MAX_GROUPS + 1 }]
}

/** Counts in one aggregation of the database. */
const groupsOf = async (counting: Counting): Promise<Groups> => {
  const { store, scope, conditions, dimensions, measure } = counting
  let found: readonly BsonDocument[] | undefined
  if (measure === undefined && dimensions.every(({ isIndexed }) => isIndexed)) {
    // An index may have all that is read. The greatest owner of a group is an array if one of its records belongs to nobody.
    const stages = stagesOf(counting, { owner: { $max: '$organisation' } })
    const { documents } = await store.aggregate(Query.covered(scope, 'entries', conditions, stages))
    if (documents.every(({ bytes }) => fieldOf(bytes, 0, 'owner')?.type !== Bson.array)) found = documents
  }
  found ??= (await store.aggregate(Query.in(scope, 'entries', conditions, stagesOf(counting)))).documents
  if (found.length > MAX_GROUPS) throw tooManyGroups(MANY)
  const groups = new Groups()
  for (const [i, { bytes }] of found.entries()) {
    const { at } = fieldOf(bytes, 0, '_id') as Element
    const each = dimensions.map(({ valuesIn }, i) => valuesIn(bytes, fieldOf(bytes, at, `by${i}`)))
    groups.add(each, countsOf(bytes))
    if (i % SLICE === SLICE - 1) await setImmediate()
  }
  return groups
}

export const sumOf = (groups: readonly { readonly count: number }[]): number =>
  groups.reduce((sum, { count }) => sum + count, 0)

const MANY = `makes more than ${MAX_GROUPS} groups`
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
  const named = documents.map(({ bytes }): [unknown, Named] => {
    const name = ['name', 'firstName', 'lastName'].flatMap((part) => stringOf(bytes, fieldOf(bytes, 0, part)) || [])
    return [
      stringOf(bytes, fieldOf(bytes, 0, '_id')),
      {
        name: name.join(' '),
        totalExpectedEntries: numberOf(bytes, fieldOf(bytes, 0, 'totalExpectedEntries')) ?? null,
      },
    ]
  })
  return new Map(named)
}
