// Percentiles of many numbers, from how often each of them, or of their buckets, is there.
import type { Expression } from '../pipelines/stages.js'

export type Percentiles = Readonly<ReturnType<typeof percentilesOf>>

/** The numbers of a bucket differ by less than 2 % from each other, so that its middle is right within 1 %. */
const WIDTH = Math.log(1.02)
/** The buckets of positive numbers are around this number, those of negative ones around its negative, and that of 0 is 0. */
const FIRST_POSITIVE = 40_000

/** The bucket of a number: buckets are in the order of their numbers. */
export const bucketOf = (number: Expression): Expression => {
  const place: Expression = { $floor: { $divide: [{ $ln: { $abs: number } }, WIDTH] } }
  const sign: Expression = { $cond: [{ $gt: [number, 0] }, 1, -1] }
  return { $cond: [{ $eq: [number, 0] }, 0, { $multiply: [sign, { $add: [place, FIRST_POSITIVE] }] }] }
}
export const middleOf = (bucket: number | undefined): number | undefined =>
  bucket && Math.sign(bucket) * Math.exp((Math.abs(bucket) - FIRST_POSITIVE + 0.5) * WIDTH)

/**
 * Percentiles as spreadsheets and pandas have them: what lies between two numbers is between them.
 * @param numbers how often each is there, `count` in all; none is beyond `min` and `max`
 */
export const percentilesOf = (numbers: ReadonlyMap<number, number>, count: number, min: number, max: number) => {
  const inOrder = Float64Array.from(numbers.keys()).sort()
  const numberAt = (place: number): number => {
    let upTo = 0
    const found = inOrder.find((number) => {
      upTo += Number(numbers.get(number))
      return upTo > place
    })
    return Math.min(max, Math.max(min, Number(found)))
  }
  const at = (part: number): number => {
    const place = part * (count - 1)
    const [low, high] = [numberAt(Math.floor(place)), numberAt(Math.ceil(place))]
    // Of two large numbers the difference may be too large for a number.
    return low === high ? low : low * (1 - (place % 1)) + high * (place % 1)
  }
  return { median: at(0.5), p10: at(0.1), p90: at(0.9) }
}
