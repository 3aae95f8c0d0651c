// The days, weeks, months and years of a time zone, as numbers. Every database has other data of time zones and knows other names, so the
// changes of a clock are those that Node knows.
import { LRUCache } from 'lru-cache'
import { type Period, periods } from '../../schemas/summaries.js'
import type { Expression } from '../pipelines/stages.js'

const MINUTE = 60_000
const DAY = 86_400_000
/** Between these times a change of a clock counts. Before and after them the clock is as it was then, or as it is. */
const [FIRST, LAST] = [Date.UTC(1970, 0), Date.UTC(2100, 0)]
/** No clock changes twice within this time. */
const STEP = 14 * DAY

/** From a time on, how much the clock is before UTC. Both in milliseconds. */
interface Change {
  readonly from: number
  readonly offset: number
}

const kept = new LRUCache<string, readonly Change[]>({ max: 1000 })

/** All changes of the clock of a zone, in their order. */
const changesOf = (zone: string): readonly Change[] => {
  const known = kept.get(zone)
  if (known !== undefined) return known
  const format = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' })
  const offsetAt = (time: number): number => {
    const [, sign, hours = 0, minutes = 0, seconds = 0] =
      /([+-])(\d+):(\d+)(?::(\d+))?$/.exec(format.format(time)) ?? []
    return (Number(hours) * 60 + Number(minutes) + Number(seconds) / 60) * MINUTE * (sign === '-' ? -1 : 1)
  }
  const changes: Change[] = [{ from: Number.NEGATIVE_INFINITY, offset: offsetAt(FIRST) }]
  for (let start = FIRST; start < LAST; start += STEP) {
    const before = (changes.at(-1) as Change).offset
    let [low, high] = [start, start + STEP]
    const offset = offsetAt(high)
    if (offset === before) continue
    while (high - low > 1000) {
      const middle = Math.floor((low + high) / 2000) * 1000
      if (offsetAt(middle) === before) low = middle
      else high = middle
    }
    changes.push({ from: high, offset })
  }
  kept.set(zone, changes)
  return changes
}

const monthOf = (time: number): number => 12 * new Date(time).getUTCFullYear() + new Date(time).getUTCMonth()
const startOfMonth = (month: number): number => Date.UTC(0, month - 12 * 1900)
const dayOf = (time: Expression): Expression => ({
  $floor: { $divide: [{ $subtract: [time, { $literal: new Date(0) }] }, DAY] },
})
/** 1970-01-01 was a Thursday. */
const DAYS_FROM_MONDAY = 3

interface Numbered {
  /** The number of the period in which a time is; for the database, and of milliseconds. */
  readonly number: (time: Expression) => Expression
  readonly numberOf: (time: number) => number
  /** The first time of a period. */
  readonly start: (number: number) => number
}

/** Periods of a clock that shows UTC. */
const numbered: Readonly<Record<Period, Numbered>> = {
  day: { number: dayOf, numberOf: (time) => Math.floor(time / DAY), start: (day) => day * DAY },
  week: {
    number: (time) => ({ $floor: { $divide: [{ $add: [dayOf(time), DAYS_FROM_MONDAY] }, 7] } }),
    numberOf: (time) => Math.floor((time / DAY + DAYS_FROM_MONDAY) / 7),
    start: (week) => (7 * week - DAYS_FROM_MONDAY) * DAY,
  },
  month: {
    number: (time) => ({ $add: [{ $multiply: [12, { $year: time }] }, { $month: time }, -1] }),
    numberOf: monthOf,
    start: startOfMonth,
  },
  year: {
    number: (time) => ({ $year: time }),
    numberOf: (time) => Math.floor(monthOf(time) / 12),
    start: (year) => startOfMonth(12 * year),
  },
}

/** The number of the period of a zone in which a time is. */
export const periodOf = (period: Period, zone: string, time: Expression): Expression => {
  const offsetIn = (changes: readonly Change[]): Expression => {
    const middle = changes.length >> 1
    const { from, offset } = changes[middle] as Change
    if (changes.length === 1) return offset
    const isBefore: Expression = { $lt: [time, { $literal: new Date(from) }] }
    return { $cond: [isBefore, offsetIn(changes.slice(0, middle)), offsetIn(changes.slice(middle))] }
  }
  return numbered[period].number({ $add: [time, offsetIn(changesOf(zone))] })
}

/** A period as a response has it. */
export const shownPeriod = (period: Period, number: number): string =>
  new Date(numbered[period].start(number)).toISOString().slice(0, periods[period].length)

/** A span of time that is in one period. A clock that is put back may divide a period into several. */
export interface Part {
  /** The number of the period. */
  readonly number: number
  /** The first time, and the first behind it, in milliseconds. */
  readonly from: number
  readonly before: number
}

/** The parts of the time from a first to a last moment. */
export function* partsOf(period: Period, zone: string, first: number, last: number): Generator<Part, void> {
  const { numberOf, start } = numbered[period]
  const changes = changesOf(zone)
  for (const [i, { from, offset }] of changes.entries()) {
    const end = Math.min(changes[i + 1]?.from ?? Number.POSITIVE_INFINITY, last + 1)
    for (let time = Math.max(from, first); time < end; ) {
      const number = numberOf(time + offset)
      const before = Math.min(start(number + 1) - offset, end)
      yield { number, from: time, before }
      time = before
    }
  }
}
