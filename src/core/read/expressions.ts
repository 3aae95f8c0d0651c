// Expressions about entries, whatever their fields hold.
import { MAX_LATITUDE, MAX_LONGITUDE } from '../../../schemas/earth.js'
import type { Expression } from '../pipelines/stages.js'

export const LONGITUDE = '$location.coordinates.longitude'
export const LATITUDE = '$location.coordinates.lattitude'
export const NOTHING: Expression = { $literal: null }
export const YEAR_1 = new Date('0001-01-01T00:00:00Z')
export const YEAR_9999 = new Date('9999-12-31T23:59:59.999Z')

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
export const isPlace: Expression = {
  $and: [...isNumberUpTo(LONGITUDE, MAX_LONGITUDE), ...isNumberUpTo(LATITUDE, MAX_LATITUDE)],
}
const before = (time: Date, ms: number): Expression => ({ $literal: new Date(time.getTime() - ms) })
/** Whether a clock that is so many milliseconds before UTC, at first and at last, shows a year that can be written. */
export const isCreatedWithin = (first: number, last: number): Expression => ({
  $and: within('$createdAt', before(YEAR_1, first), before(YEAR_9999, last)),
})
export const created: Expression = { $cond: [isCreatedWithin(0, 0), '$createdAt', NOTHING] }
/** How long it took as a finite number, or null. */
export const duration: Expression = {
  $cond: [{ $and: isNumberUpTo('$duration', Number.MAX_VALUE) }, '$duration', NOTHING],
}
