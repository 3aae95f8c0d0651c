// Keyset paging: reading a sorted list from a position instead of skipping what is before it. So a page costs the same
// however deep it is, and records that are added or deleted meanwhile neither hide nor repeat any.
import type { Condition } from './stages.js'

/** The value of a sort field. A missing field counts as null. */
export type SortValue = null | number | bigint | string | boolean | Date

export interface Position {
  /** The value of the sort field; null if the list is sorted by the id. */
  readonly value: SortValue
  readonly id: string
}

/** All types that an id may have besides a string. Unlike a negated condition, this one is a range of the index everywhere. */
export const OTHER_ID_TYPES = [
  ...['minKey', 'null', 'symbol', 'object', 'binData', 'objectId', 'bool', 'dbPointer', 'maxKey'],
  ...['double', 'int', 'long', 'decimal'],
  ...['date', 'timestamp'],
  ...['javascript', 'javascriptWithScope'],
]

export const FIRST_TIME = new Date(-8.64e15)

/** The types that a sort field may have, in the order of MongoDB. A condition finds only values of its type. */
const types: readonly { has: (value: SortValue) => boolean; values: unknown }[] = [
  { has: (value) => value === null, values: null },
  { has: () => false, values: Number.NaN }, // which $gte does not find
  { has: (value) => ['number', 'bigint'].includes(typeof value), values: { $gte: Number.NEGATIVE_INFINITY } },
  { has: (value) => typeof value === 'string', values: { $gte: '' } },
  { has: () => false, values: { $gte: {} } },
  { has: (value) => typeof value === 'boolean', values: { $gte: false } },
  { has: (value) => value instanceof Date, values: { $gte: FIRST_TIME } },
]

/**
 * The records that follow a position, as conditions. An index serves each of them. The records of a condition follow
 * the records of the condition before. They are separate because no index serves them as `$or` on every database. For sortBy `x`,
 * ascending, and a number, they are: the same `x` and a greater id; a greater number; each type that sorts after
 * numbers.
 * @param sortBy the stored name of the sort field
 * @param isInclusive whether a record exactly at the position belongs to them
 */
export const rangesAfter = (sortBy: string, direction: 1 | -1, { value, id }: Position, isInclusive = false) => {
  const beyond = direction === 1 ? '$gt' : '$lt'
  const byId: Condition = { _id: { [isInclusive ? `${beyond}e` : beyond]: id } }
  if (sortBy === '_id') return [byId]
  const type = types.findIndex(({ has }) => has(value))
  const others = direction === 1 ? types.slice(type + 1) : types.slice(0, type).reverse()
  return [
    { [sortBy]: value, ...byId },
    ...(value === null ? [] : [{ [sortBy]: { [beyond]: value } }]),
    ...others.map(({ values }) => ({ [sortBy]: values })),
  ]
}
