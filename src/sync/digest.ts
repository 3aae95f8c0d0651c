// Digests: count and sum of `updatedAt` of the records in consecutive ranges of ids. A partner computes the same from
// its copy, and where the two differ the copy is wrong.
import type { RangeDigest } from '../../schemas/sync.js'
import { Bson, type BsonDocument, type Element } from '../core/bson/reader.js'
import { fieldOf, integerOf } from '../core/bson/values.js'
import type { RecordCollection } from '../core/documents/collections.js'
import { type Expression, Query, type Scope, type Stage } from '../core/pipelines/stages.js'
import { invalidParameter, type ProblemError, tookTooLong } from '../core/problems/problems.js'
import { onTimeout } from '../core/read/cost.js'
import type { Reader } from '../core/read/reader.js'
import type { Store } from '../core/store/store.js'

/** The ids from `from` on and before `to`. Without `from` the range has no beginning, without `to` no end. */
export type IdRange = Pick<RangeDigest, 'from' | 'to'>

/**
 * Divides the ids from `from` to `to` into ranges.
 * @param bounds the ids at which a new range begins, separated by commas, as the schema of the parameter has it
 * @throws the problem `invalid_parameter` unless all ids are in ascending order
 */
export const rangesOf = ({ from, to, bounds }: IdRange & { readonly bounds?: string }): IdRange[] => {
  const inner = bounds === undefined ? [] : bounds.split(',')
  const ends = [from, ...inner, to]
  const ids = ends.filter((id) => id !== undefined)
  const isOrdered = ids.every((id, i) => i === 0 || Buffer.from(ids[i - 1] as string).compare(Buffer.from(id)) < 0)
  if (!isOrdered && inner.length === 0) throw invalidParameter('to', 'must be greater than from')
  const order = 'must be ids in ascending order of their UTF-8 bytes, greater than from and less than to'
  if (!isOrdered) throw invalidParameter('bounds', order)
  return ends.slice(1).map((to, i) => {
    const from = ends[i]
    return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
  })
}

/** A sum that is too large to be exact is taken in two parts: millions of milliseconds, and the rest. */
const HIGH = 1_000_000

const updatedAt: Expression = {
  $cond: [{ $eq: [{ $type: '$updatedAt' }, { $literal: 'date' }] }, { $toLong: '$updatedAt' }, 0],
}

const whole = { sum: { $sum: updatedAt } }
const inParts = {
  high: { $sum: { $toLong: { $divide: [updatedAt, HIGH] } } },
  low: { $sum: { $mod: [updatedAt, HIGH] } },
}

/** Counts the records and sums their `updatedAt`, 0 if it is no date. In two parts it takes half as long again. */
export const digestOf = (scope: Scope, collection: RecordCollection, { from, to }: IdRange, isInParts = false) => {
  const ids = { ...(from !== undefined && { $gte: from }), ...(to !== undefined && { $lt: to }) }
  const conditions = from === undefined && to === undefined ? [] : [{ _id: ids }]
  const sums: Stage = { $group: { _id: null, count: { $sum: 1 }, ...(isInParts ? inParts : whole) } }
  return Query.in(scope, collection, conditions, [sums]).covered()
}

/**
 * The digests of ranges. They are read one after the other, each with the time of a query and in a turn of its own.
 * @param limitMs how long all ranges together may take
 * @throws the problem `query_timeout`, which names the range that was reached, if they take too long
 */
export const readDigests = async (
  { store, scope, ticket }: Pick<Reader, 'scope' | 'ticket'> & { readonly store: Pick<Store, 'aggregate'> },
  collection: RecordCollection,
  ranges: readonly IdRange[],
  limitMs: number,
): Promise<RangeDigest[]> => {
  const begun = performance.now()
  const digests: RangeDigest[] = []
  for (const range of ranges) {
    if (performance.now() - begun > limitMs) throw tooLong(digests.length, ranges.length, 'ask for fewer ranges')
    const reading = { signal: ticket.signal, isMajority: true }
    const read = async (isInParts: boolean): Promise<Sums | undefined> => {
      const { documents } = await store.aggregate(digestOf(scope, collection, range, isInParts), reading)
      return sumsOf(documents[0], isInParts)
    }
    const sums = ticket.large(async () => (await read(false)) ?? ((await read(true)) as Sums))
    const tooSlow = () => tooLong(digests.length, ranges.length, 'ask for smaller ranges')
    digests.push({ ...range, ...(await sums.catch(onTimeout(tooSlow))) })
  }
  return digests
}

const tooLong = (done: number, all: number, advice: string): ProblemError =>
  tookTooLong(` for the digest; it read ${done} of ${all} ranges: ${advice}`)

type Sums = Pick<RangeDigest, 'count' | 'updatedAtSum'>

/**
 * The sums of a range. A range without records has no document. The result is undefined if the sum was taken as a whole
 * and is a double, which may not be exact: MongoDB gives a double if 64 bits are too few.
 */
const sumsOf = (document: BsonDocument | undefined, isInParts: boolean): Sums | undefined => {
  if (document === undefined) return { count: 0, updatedAtSum: '0' }
  const { bytes } = document
  const field = (name: string): Element => fieldOf(bytes, 0, name) as Element
  const integer = (name: string): bigint => integerOf(bytes, field(name))
  if (!isInParts && field('sum').type === Bson.double) return undefined
  const sum = isInParts ? integer('high') * BigInt(HIGH) + integer('low') : integer('sum')
  return { count: Number(integer('count')), updatedAtSum: String(sum) }
}
