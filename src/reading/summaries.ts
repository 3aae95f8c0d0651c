// Summaries: how many entries there are in each group. They are kept as totals are.
import { DispatchListItem } from '../../schemas/dispatches.js'
import { BESIDE, select } from '../../schemas/kit.js'
import { MAX_TOP, type SummaryQuery } from '../../schemas/summaries.js'
import { viewOf } from '../../schemas/views.js'
import { Bson, type BsonDocument, type Element } from '../bson/reader.js'
import { fieldOf, numberOf, stringOf } from '../bson/values.js'
import { firstOf, runInSlices, slices } from '../limits/work.js'
import { entries } from '../pipelines/entries.js'
import { type Condition, pick, Query, type Stage } from '../pipelines/stages.js'
import { invalidParameter, tookTooLong } from '../problems/problems.js'
import { hashOf } from '../serializer/etag.js'
import { onTimeout } from './cost.js'
import { type Dimension, dimensionOf, type Value } from './dimensions.js'
import { duration, NOTHING } from './expressions.js'
import { isKey, questionOf, withQuestions } from './question-keys.js'
import type { Reader } from './reader.js'

type Parameters = Omit<SummaryQuery, 'top'> & { readonly top?: number | undefined }

/** The most groups that are counted, the most characters that their values have together, and how many values are counted. */
const MAX_GROUPS = 100_000
const MAX_CHARACTERS = 16 * 1024 * 1024
const MAX_VALUES = 5_000_000
/** About how much memory a group takes besides its values, and a character, in bytes. */
const GROUP_BYTES = 300
const CHARACTER_BYTES = 2

/** How many entries there are, how many of them have a duration, and what is known of these. */
interface Counts {
  count: number
  measured: number
  sum: number
  min: number
  max: number
}
const measures = {
  measured: { $sum: { $cond: [{ $eq: [duration, NOTHING] }, 0, 1] } },
  sum: { $sum: duration },
  min: { $min: duration },
  max: { $max: duration },
} as const
/** The counts of a group of the database, or none. */
const countsOf = (bytes?: Buffer): Counts => {
  const numberIn = (name: keyof Counts) => bytes && numberOf(bytes, fieldOf(bytes, 0, name))
  return {
    count: numberIn('count') ?? 0,
    measured: numberIn('measured') ?? 0,
    sum: numberIn('sum') ?? 0,
    min: numberIn('min') ?? Number.POSITIVE_INFINITY,
    max: numberIn('max') ?? Number.NEGATIVE_INFINITY,
  }
}
const addCounts = (to: Counts, { count, measured, sum, min, max }: Counts): void => {
  to.count += count
  to.measured += measured
  to.sum += sum
  to.min = Math.min(to.min, min)
  to.max = Math.max(to.max, max)
}

/** A group, with a value for each dimension. */
export interface Group extends Counts {
  readonly values: readonly Value[]
  readonly characters: number
}

/** One of the different values of a dimension. */
interface Known {
  readonly value: Value
  readonly number: number
  readonly characters: number
  /** Its groups, each at the number of the value of the other dimension. */
  readonly groups: Group[]
}

/** What is kept of a summary. */
interface Kept {
  /** The largest groups that a response may have, in their order. */
  readonly largest: readonly Group[]
  /** How many groups there are, and how many entries they have together. */
  readonly groups: number
  readonly sum: number
  /** How many entries there are. */
  readonly total: number
  readonly asOf: Date
  readonly bytes: number
  /** Of the largest groups. */
  readonly hash: string
}

export interface Summary extends Kept {
  readonly dimensions: readonly Dimension[]
  /** The largest groups, as they are shown. */
  readonly shown: readonly Group[]
}

/** What is counted. */
interface Counting {
  readonly conditions: readonly Condition[]
  readonly dimensions: readonly Dimension[]
  readonly measure: SummaryQuery['measure']
}

/**
 * Counts entries.
 * @throws the problem `invalid_parameter` for a question that the form does not have, and too many groups
 */
export const summaryOf = async (reader: Reader, parameters: Parameters): Promise<Summary> => {
  const { by, form, zone, measure, top } = parameters
  const filters = await withQuestions(reader, parameters)
  const dimensions: Dimension[] = []
  for (const name of by) {
    const question = isKey(name) ? await questionOf(reader, form, name, 'by') : undefined
    dimensions.push(await dimensionOf(name, zone, question))
  }
  const conditions = entries.conditions(filters)
  const counting: Counting = { conditions: Object.values(conditions), dimensions, measure }
  const query = Query.in(reader.scope, 'entries', counting.conditions, stagesOf(counting))
  const count = async (shared: Reader): Promise<Kept> => {
    const asOf = new Date()
    const { groups, total } = await countedIn(shared, counting)
    const largest = await runInSlices(firstOf(groups, bySize, MAX_TOP))
    const bytes = largest.reduce((sum, { characters }) => sum + GROUP_BYTES + CHARACTER_BYTES * characters, 0)
    const hash = await runInSlices(hashOf(largest))
    return { largest, groups: groups.length, sum: sumOf(groups), total, asOf, bytes, hash }
  }
  const names = ['by', ...Object.keys(conditions)].join(', ')
  const tooLong = () => tookTooLong(` for ${names}: a narrower filter may help`)
  const counted = reader.kept(query, (shared) => shared.inTurn(() => count(shared)))
  const kept = await counted.catch(onTimeout(tooLong))
  const largest = kept.largest.slice(0, top)
  const time = dimensions.findIndex(({ period }) => period)
  const byTime = (a: Group, b: Group) => order(a.values[time], b.values[time]) || bySize(a, b)
  const shown = time === -1 ? largest : await runInSlices(firstOf(largest, byTime, MAX_TOP))
  return { ...kept, dimensions, shown }
}

const stagesOf = ({ dimensions, measure }: Counting, more = {}): Stage[] => {
  // An array would be no key of an index.
  const _id = Object.fromEntries(dimensions.map(({ group }, i) => [`by${i}`, group]))
  return [{ $group: { _id, count: { $sum: 1 }, ...(measure && measures), ...more } }, { $limit: MAX_GROUPS + 1 }]
}

/** Counts in one aggregation of the database. */
const countedIn = async (reader: Reader, counting: Counting): Promise<Counted> => {
  const { scope } = reader
  const { conditions, dimensions, measure } = counting
  const read = async (query: Query) => runInSlices(groupsIn((await reader.read(query)).documents, dimensions))
  if (measure === undefined && dimensions.every(({ isIndexed }) => isIndexed)) {
    // An index may have all that is read. The greatest owner of a group is an array if one of its records belongs to nobody.
    const stages = stagesOf(counting, { owner: { $max: '$organisation' } })
    const counted = await read(Query.covered(scope, 'entries', conditions, stages))
    if (counted !== undefined) return counted
  }
  return (await read(Query.in(scope, 'entries', conditions, stagesOf(counting)))) as Counted
}

interface Counted {
  readonly groups: readonly Group[]
  /** How many entries there are. */
  readonly total: number
}

/**
 * Makes the groups of a response. Several groups of the database may become one of these, and one with several answers becomes
 * several. Undefined if a record belongs to nobody.
 */
function* groupsIn(
  documents: readonly BsonDocument[],
  dimensions: readonly Dimension[],
): Generator<void, Counted | undefined> {
  if (documents.length > MAX_GROUPS) throw tooManyGroups(MANY)
  const known = dimensions.map(() => new Map<unknown, Known>())
  const groups: Group[] = []
  let [total, values, characters] = [0, 0, 0]
  const isSliceOver = slices()
  const groupOf = (one: Known, other: Known | undefined): Group => {
    const number = other?.number ?? 0
    let group = one.groups[number]
    if (group === undefined) {
      const both = other === undefined ? [one] : [one, other]
      const size = both.reduce((sum, { characters }) => sum + characters, 0)
      // The numbers of an object that a spread makes are slow to change.
      group = Object.assign(countsOf(), { values: both.map(({ value }) => value), characters: size })
      one.groups[number] = group
      groups.push(group)
      characters += size
      if (groups.length > MAX_GROUPS) throw tooManyGroups(MANY)
      if (characters > MAX_CHARACTERS) throw tooManyGroups(`makes groups of more than ${MAX_CHARACTERS} characters`)
    }
    return group
  }
  for (const { bytes } of documents) {
    if (fieldOf(bytes, 0, 'owner')?.type === Bson.array) return undefined
    const { at } = fieldOf(bytes, 0, '_id') as Element
    const counts = countsOf(bytes)
    total += counts.count
    const each: Set<Known>[] = []
    for (const [i, { valuesIn }] of dimensions.entries()) {
      const found = new Set<Known>()
      each.push(found)
      for (const value of valuesIn(bytes, fieldOf(bytes, at, `by${i}`))) {
        if (value !== undefined) found.add(knownOf(known[i] as Map<unknown, Known>, value))
        if (isSliceOver(typeof value === 'string' ? value : undefined)) yield
      }
      if (found.size === 0) found.add(knownOf(known[i] as Map<unknown, Known>, null))
    }
    const [ones, others] = each as [Set<Known>, Set<Known>?]
    values += ones.size * (others?.size ?? 1)
    if (values > MAX_VALUES) throw tooManyGroups(`has more than ${MAX_VALUES} values to count`)
    for (const one of ones) {
      for (const other of others ?? [undefined]) {
        addCounts(groupOf(one, other), counts)
        if (isSliceOver()) yield
      }
    }
  }
  return { groups, total }
}

/** A value of a dimension with its number. Each of them is in a group. */
const knownOf = (known: Map<unknown, Known>, value: Value): Known => {
  const key = typeof value === 'string' ? value : value && JSON.stringify(value)
  let found = known.get(key)
  if (found === undefined) {
    if (known.size === MAX_GROUPS) throw tooManyGroups(MANY)
    found = { value, number: known.size, characters: JSON.stringify(value).length, groups: [] }
    known.set(key, found)
  }
  return found
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
  reader: Reader,
  { dimensions, shown }: Summary,
  i: number,
): Promise<ReadonlyMap<unknown, Named> | undefined> => {
  const beside = entries.item.beside?.find(({ fields }) => fields[0] === `${dimensions[i]?.name}${BESIDE}`)
  if (beside === undefined) return undefined
  const { from } = beside
  const { scope } = reader
  const seen = viewOf(scope.without).shown(from === 'dispatches' ? expected : beside.shown)
  if (Object.keys(seen.properties).length === 0) return undefined
  const ids = shown.flatMap(({ values }) => values[i] ?? [])
  const { documents } = await reader.read(Query.in(scope, from, [{ _id: { $in: ids } }], [pick(seen)]))
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
