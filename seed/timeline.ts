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
