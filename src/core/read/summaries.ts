// Summaries: how many entries there are in each group.
import { MAX_TOP, type SummaryQuery } from '../../../schemas/summaries.js'
import { Bson, type BsonList, type Element, elements } from '../bson/reader.js'
import { fieldOf, numberOf, stringOf } from '../bson/values.js'
import { firstOf, runInSlices, slices } from '../limits/work.js'
import { entries } from '../pipelines/entries.js'
import { resources } from '../pipelines/index.js'
import { type Condition, type Expression, Query, type Stage } from '../pipelines/stages.js'
import { invalidParameter, tookTooLong } from '../problems/problems.js'
import { hashOf } from '../write/etag.js'
import { onTimeout } from './cost.js'
import { type Dimension, dimensionOf, type GroupValue, numberOfAnswers, numbersTo, order } from './dimensions.js'
import { duration, NOTHING } from './expressions.js'
import { bucketOf, middleOf, type Percentiles, percentilesOf } from './percentiles.js'
import { isKey, missingOf, questionOf, withQuestions } from './question-keys.js'
import type { Reader } from './reader.js'

type Parameters = Omit<SummaryQuery, 'top'> & { readonly top?: number | undefined }

/** The most groups that are counted, the most characters that their values have together, and how many values are counted. */
const MAX_GROUPS = 100_000
const MAX_CHARACTERS = 16 * 1024 * 1024
const MAX_VALUES = 5_000_000
/** A different number of a group counts as this many values. */
const NUMBER_VALUES = 5
/** About how much memory a group takes besides its values, and a character, in bytes. */
const GROUP_BYTES = 400
const CHARACTER_BYTES = 2

/** What the database finds of durations. */
const SUMS = ['sum', 'min', 'max'] as const
type Sum = (typeof SUMS)[number]

/** The numbers of a group of the database, middles of buckets or answers, each with its count. What is no number is undefined. */
function* numbersIn(bytes: Buffer, missing: readonly string[]): Generator<[number | undefined, number], void> {
  const pairs = fieldOf(bytes, 0, 'numbers')
  for (const pair of pairs === undefined ? [] : elements(bytes, pairs.at)) {
    const [what, count] = [...elements(bytes, pair.at)] as [Element, Element]
    const number = what.type === Bson.array ? numberOfAnswers(bytes, what, missing) : middleOf(numberOf(bytes, what))
    yield [number, numberOf(bytes, count) as number]
  }
}

/** A group, with a value for each dimension: how many entries it has, and what is known of the numbers that are measured of them. */
export class Group {
  count = 0
  measured = 0
  /** Not finite if it is too large for a number. */
  sum = 0
  min = Number.POSITIVE_INFINITY
  max = Number.NEGATIVE_INFINITY
  /** How often each number is there, right within 1 %. Undefined if there is none, and once percentiles are made of it. */
  numbers: Map<number, number> | undefined
  percentiles: Percentiles | undefined

  constructor(
    readonly values: readonly GroupValue[] = [],
    readonly characters = 0,
  ) {}

  /** Null if nothing is measured, or the sum is too large. */
  get mean(): number | null {
    const mean = this.sum / this.measured
    return Number.isFinite(mean) ? mean : null
  }

  addNumber(number: number, count: number): void {
    this.measured += count
    this.numbers ??= new Map()
    this.numbers.set(number, (this.numbers.get(number) ?? 0) + count)
  }

  addSums({ sum, min, max }: Readonly<Record<Sum, number>>): void {
    this.sum += sum
    this.min = Math.min(this.min, min)
    this.max = Math.max(this.max, max)
  }
}

interface LargestGroups {
  /** The largest groups that a response may have, in their order. */
  readonly largest: readonly Group[]
  /** How many groups there are, and how many entries they have together. */
  readonly groups: number
  readonly sum: number
  readonly total: number
  readonly asOf: Date
  readonly bytes: number
  /** Of the largest groups. */
  readonly hash: string
}

export interface CountedEntries extends LargestGroups {
  readonly dimensions: readonly Dimension[]
  /** The largest groups, as they are shown. */
  readonly shown: readonly Group[]
}

interface Counting {
  readonly conditions: readonly Condition[]
  readonly dimensions: readonly Dimension[]
  /** The duration that is measured of an entry, or the answers to the question that is. */
  readonly number: Expression | undefined
  /** The answers that count as none. */
  readonly missing: readonly string[]
  /** What the database finds of numbers besides how often each is there. It cannot read those in texts. */
  readonly sums: readonly Sum[]
}

/** Counts entries. Questions that the form does not have, and too many groups, throw `invalid_parameter`. */
export const summaryOf = async (reader: Reader, parameters: Parameters): Promise<CountedEntries> => {
  const { by = [], form, zone, measure, none, top } = parameters
  const missing = missingOf(parameters)
  const filters = await withQuestions(reader, parameters)
  const dimensions: Dimension[] = []
  for (const name of by) {
    const question = isKey(name) ? await questionOf(reader, form, name, 'by') : undefined
    dimensions.push(await dimensionOf(name, zone, question, missing))
  }
  const question = measure && isKey(measure) ? await questionOf(reader, form, measure, 'measure') : undefined
  const conditions = entries.conditions(filters)
  const ofEntry = measure === 'duration' ? duration : undefined
  const number = question === undefined ? ofEntry : numbersTo(question)
  const sums = question === undefined ? SUMS : []
  const counting: Counting = { conditions: Object.values(conditions), dimensions, number, missing, sums }
  const largestFirst = bySize(dimensions)
  const inOrder = (a: Group, b: Group) => rankOf(b) - rankOf(a) || largestFirst(a, b)
  const count = async (shared: Reader): Promise<LargestGroups> => {
    const asOf = new Date()
    const { groups, total } = await countedIn(shared, counting)
    const largest = await runInSlices(firstOf(groups, inOrder, MAX_TOP))
    if (number !== undefined) await runInSlices(withPercentiles(largest))
    const bytes = largest.reduce((sum, { characters }) => sum + GROUP_BYTES + CHARACTER_BYTES * characters, 0)
    const hash = await runInSlices(hashOf(largest))
    return { largest, groups: groups.length, sum: sumOf(groups), total, asOf, bytes, hash }
  }
  const names = [...(parameters.by ? ['by'] : []), ...Object.keys(conditions)].join(', ')
  const tooLong = () => tookTooLong(`${names && ` for ${names}`}: a narrower filter may help`)
  const key = { of: 'summary', conditions: counting.conditions, stages: stagesOf(counting), missing }
  const counted = await reader.cached(key, (shared) => shared.large(() => count(shared))).catch(onTimeout(tooLong))
  const absent = none === 'true' ? await absentIn(reader, by, counted, parameters) : []
  const largest = [...counted.largest, ...absent].slice(0, top)
  const time = dimensions.findIndex(({ period }) => period)
  const byTime = (a: Group, b: Group) => order(a.values[time], b.values[time]) || largestFirst(a, b)
  const shown = time === -1 ? largest : await runInSlices(firstOf(largest, byTime, MAX_TOP))
  const hash = absent.length === 0 ? counted.hash : counted.hash + (await runInSlices(hashOf(absent)))
  return { ...counted, groups: counted.groups + absent.length, hash, dimensions, shown }
}

/** Groups of records that no entry names. It throws `invalid_parameter` if they are many, or `by` is no id alone. */
const absentIn = async (reader: Reader, by: readonly string[], counted: LargestGroups, parameters: Parameters) => {
  const [name, ...others] = by
  const from = entries.item.joined?.[String(name)]?.from
  if (from === undefined || others.length > 0)
    throw invalidParameter('none', 'must be left out: only a count by form, project, dispatch or agent has it')
  // What a filter by an id leaves out is no group either.
  const { form, project } = parameters
  const id = parameters[name as 'form' | 'project' | 'dispatch' | 'agent']
  const conditions = resources[from as keyof typeof resources].conditions({ ids: id && [id], form, project })
  const stages = [{ $limit: MAX_TOP + 1 }, { $project: { _id: 1 } }] as const
  const { documents } = await reader.read(Query.in(reader.scope, from, Object.values(conditions), stages))
  if (Math.max(counted.groups, documents.length) > MAX_TOP)
    throw invalidParameter('none', `must be left out: there are more than ${MAX_TOP} ${from}`)
  const named = new Set(counted.largest.map(({ values }) => values[0]))
  const ids = documents.flatMap(({ bytes }) => stringOf(bytes, fieldOf(bytes, 0, '_id')) ?? [])
  return ids
    .filter((id) => !named.has(id))
    .sort()
    .map((id) => new Group([id], id.length))
}

const stagesOf = ({ dimensions, number, sums }: Counting, more = {}): Stage[] => {
  // An array would be no key of an index.
  const by = Object.fromEntries(dimensions.map(({ group }, i) => [`by${i}`, group]))
  const limit = { $limit: MAX_GROUPS + 1 }
  if (number === undefined) return [{ $group: { _id: by, count: { $sum: 1 }, ...more } }, limit]
  const bucket: Expression = { $cond: [{ $eq: ['$number', NOTHING] }, NOTHING, bucketOf('$number')] }
  const part = sums.length > 0 ? bucket : '$number'
  const of = (from: (name: Sum) => Expression): Record<string, Expression> =>
    Object.fromEntries(sums.map((name) => [name, { [`$${name}`]: from(name) }]))
  const _id = Object.fromEntries(Object.keys(by).map((name): [string, Expression] => [name, `$_id.${name}`]))
  const numbers: Expression = { $push: ['$_id.part', '$count'] }
  return [
    { $set: { number } },
    { $group: { _id: { ...by, part }, count: { $sum: 1 }, ...of(() => '$number') } },
    { $group: { _id, count: { $sum: '$count' }, numbers, ...of((name) => `$${name}`) } },
    limit,
  ]
}

/** Counts in one aggregation of the database. */
const countedIn = async (reader: Reader, counting: Counting) => {
  const { scope } = reader
  const { conditions, dimensions, number } = counting
  const read = async (query: Query) => runInSlices(groupsIn(await reader.read(query), counting))
  if (number === undefined && dimensions.every(({ isIndexed }) => isIndexed)) {
    // An index may have all that is read. The greatest owner of a group is an array if one of its records belongs to nobody.
    const stages = stagesOf(counting, { owner: { $max: '$organisation' } })
    const counted = await read(Query.in(scope, 'entries', conditions, stages).covered())
    if (counted !== undefined) return counted
  }
  return (await read(Query.in(scope, 'entries', conditions, stagesOf(counting)))) as Counted
}

type Counted = { readonly groups: readonly Group[]; readonly total: number }

/** The groups of a response. Several of the database may become one, or one several. Undefined if one is nobody’s. */
function* groupsIn(
  { documents }: BsonList,
  { dimensions, missing, sums }: Counting,
): Generator<void, Counted | undefined> {
  if (documents.length > MAX_GROUPS) throw tooManyGroups(MANY)
  const groups = new Map<string, Group>()
  let [total, values, characters] = [0, 0, 0]
  const isSliceOver = slices()
  const groupOf = (values: readonly GroupValue[]): Group => {
    const key = JSON.stringify(values)
    let group = groups.get(key)
    if (group === undefined) {
      group = new Group(values, key.length)
      groups.set(key, group)
      characters += group.characters
      if (groups.size > MAX_GROUPS) throw tooManyGroups(MANY)
      if (characters > MAX_CHARACTERS) throw tooManyGroups(`makes groups of more than ${MAX_CHARACTERS} characters`)
    }
    return group
  }
  for (const { bytes } of documents) {
    if (fieldOf(bytes, 0, 'owner')?.type === Bson.array) return undefined
    // The MongoDB-compatible server may leave it out if no dimension has a value.
    const id = fieldOf(bytes, 0, '_id')
    const counts = new Group()
    const numberOr = (otherwise: number, name: 'count' | Sum) => numberOf(bytes, fieldOf(bytes, 0, name)) ?? otherwise
    counts.count = numberOr(0, 'count')
    total += counts.count
    for (const name of sums) counts[name] = numberOr(name === 'sum' ? Number.NaN : counts[name], name)
    for (const [number, count] of numbersIn(bytes, missing)) {
      if (isSliceOver()) yield
      if (number === undefined) continue
      counts.addNumber(number, count)
      if (sums.length === 0) counts.addSums({ sum: number * count, min: number, max: number })
    }
    const each: Set<GroupValue>[] = []
    for (const [i, { valuesIn }] of dimensions.entries()) {
      const found = new Set<GroupValue>()
      each.push(found)
      for (const value of valuesIn(bytes, id && fieldOf(bytes, id.at, `by${i}`))) {
        if (value !== undefined) found.add(value)
        if (isSliceOver(typeof value === 'string' ? value : undefined)) yield
      }
      if (found.size === 0) found.add(null)
    }
    // Without a dimension all entries are one group.
    const [ones = new Set([null]), others] = each
    values += ones.size * (others?.size ?? 1) * (1 + NUMBER_VALUES * (counts.numbers?.size ?? 0))
    if (values > MAX_VALUES) throw tooManyGroups(`has more than ${MAX_VALUES} values to count`)
    for (const one of ones) {
      for (const other of others ?? [undefined]) {
        const group = groupOf(other === undefined ? [one] : [one, other])
        group.count += counts.count
        group.addSums(counts)
        if (isSliceOver()) yield
        for (const [number, count] of counts.numbers ?? []) {
          group.addNumber(number, count)
          if (isSliceOver()) yield
        }
      }
    }
  }
  return { groups: [...groups.values()], total }
}

export const sumOf = (groups: readonly { readonly count: number }[]): number =>
  groups.reduce((sum, { count }) => sum + count, 0)

const MANY = `makes more than ${MAX_GROUPS} groups`
export const tooManyGroups = (fault: string) => invalidParameter('by', `${fault}: a narrower filter may help`)

/** The largest groups first, and equal ones in the order of their values. */
const bySize =
  (dimensions: readonly Dimension[]) =>
  (a: Group, b: Group): number =>
    dimensions.reduce((sum, { order }, i) => sum || order(a.values[i], b.values[i]), b.count - a.count)
/** Those without a mean are last: all of them, if nothing is measured. */
const rankOf = ({ mean }: Group): number => mean ?? -Number.MAX_VALUE

/** Makes percentiles of the numbers, which are dropped. */
function* withPercentiles(groups: readonly Group[]): Generator<void, void> {
  const isSliceOver = slices()
  for (const group of groups) {
    for (const _ of group.numbers ?? []) if (isSliceOver()) yield
    const { numbers = new Map(), measured, min, max } = group
    group.percentiles = percentilesOf(numbers, measured, min, max)
    group.numbers = undefined
  }
}
