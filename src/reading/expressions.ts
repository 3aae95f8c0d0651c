// Expressions about entries, whatever their fields hold.
import { MAX_LATITUDE, MAX_LONGITUDE } from '../../schemas/earth.js'
import type { Expression } from '../pipelines/stages.js'

export const LONGITUDE = '$location.coordinates.longitude'
export const LATITUDE = '$location.coordinates.lattitude'
export const NOTHING: Expression = { $literal: null }
export const [YEAR_1, YEAR_9999] = ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z'].map(
  (text) => new Date(text),
) as [Date, Date]

/** Compares in the order of BSON, in which a value of another type is outside of a range. */
const within = (value: Expression, least: Expression, most: Expression): Expression[] => [
  { $gte: [value, least] },
  { $lte: [value, most] },
]
/** Whether a value is a number that is no farther from 0. As everywhere, a Decimal128 is none. */
const isNumberUpTo = (value: Expression, most: number): Expression[] => [
  ...within(value, -most, most),
  { $ne: [{ $type: value }, { $literal: 'decimal' }] },
]
/** Whether an entry has a place on the earth. */
export const isPlace: Expression = {
  $and: [...isNumberUpTo(LONGITUDE, MAX_LONGITUDE), ...isNumberUpTo(LATITUDE, MAX_LATITUDE)],
}
const before = (time: Date, ms: number): Expression => ({ $literal: new Date(time.getTime() - ms) })
/**
 * Whether a clock shows a time of the years that can be written when an entry was created.
 * @param first how much the clock is before UTC at the first of these times, and at the last, in milliseconds
 */
export const isCreatedWithin = (first: number, last: number): Expression => ({
  $and: within('$createdAt', before(YEAR_1, first), before(YEAR_9999, last)),
})
/** When an entry was created, or null. */
export const created: Expression = { $cond: [isCreatedWithin(0, 0), '$createdAt', NOTHING] }
/** Whether a value is a finite number. */
export const isNumber = (value: Expression): Expression => ({ $and: isNumberUpTo(value, Number.MAX_VALUE) })
/** How long it took, or null. */
export const duration: Expression = { $cond: [isNumber('$duration'), '$duration', NOTHING] }
