// The times of the demo data. All dates are fixed and in UTC, so they do not depend on the clock or the time zone.
import type { Random } from './random.js'

export const HOUR = 3_600_000
export const DAY = 24 * HOUR

/** Entries are made from FROM (inclusive) to UNTIL (exclusive). */
export const FROM = Date.UTC(2024, 0, 1)
export const UNTIL = Date.UTC(2025, 6, 1)

/** The n-th of `count` times in increasing order, within `days` days that begin `lead` days before the first entry. */
export const moment = (random: Random, lead: number, days: number, n: number, count: number): Date =>
  new Date(FROM - lead * DAY + Math.floor(((n + random()) / count) * days * DAY))

/** A time up to `days` days after a date. */
export const after = (random: Random, date: Date, days: number): Date =>
  new Date(date.getTime() + Math.floor(random() * days * DAY))

/** How busy the months are, from January: least in the rains, most after the harvest. Few work on Sundays. */
const months = [6, 7, 8, 6, 4, 3, 2, 2, 4, 8, 10, 6]
let sum = 0
const sums = Array.from({ length: (UNTIL - FROM) / DAY }, (_, n) => {
  const day = new Date(FROM + n * DAY)
  sum += (months[day.getUTCMonth()] as number) * (day.getUTCDay() === 0 ? 0.2 : 1)
  return sum
})

/**
 * Returns a function that gives the time at which a part (0 to 1) of all entries has been made. The parts must increase
 * from call to call. Entries are made from 7 to 18 hours in Nigeria.
 */
export function progress(): (part: number) => Date {
  let day = 0
  return (part) => {
    while ((sums[day] as number) <= part * sum) day++
    const [from = 0, to = 0] = [sums[day - 1], sums[day]]
    return new Date(FROM + day * DAY + Math.floor(6 * HOUR + ((part * sum - from) / (to - from)) * 11 * HOUR))
  }
}
