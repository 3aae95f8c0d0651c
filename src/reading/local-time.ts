// The days, weeks, months and years of a time zone. Every database has other data of time zones and knows other names, so the
// changes of a clock are those that Node knows.
import { LRUCache } from 'lru-cache'
import { type Period, periods } from '../../schemas/summaries.js'

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
const monthStart = (month: number): number => Date.UTC(0, month - 12 * 1900)
/** 1970-01-01 was a Thursday. */
const DAYS_FROM_MONDAY = 3

/** The number of a period in which a time is, and the first time of a period. */
const numbered: Readonly<Record<Period, [of: (time: number) => number, start: (number: number) => number]>> = {
  day: [(time) => Math.floor(time / DAY), (day) => day * DAY],
  week: [(time) => Math.floor((time / DAY + DAYS_FROM_MONDAY) / 7), (week) => (7 * week - DAYS_FROM_MONDAY) * DAY],
  month: [monthOf, monthStart],
  year: [(time) => Math.floor(monthOf(time) / 12), (year) => monthStart(12 * year)],
}

/** A span of time that is in one period. A clock that is put back may divide a period into several. */
export interface Part {
  /** The period. */
  readonly text: string
  /** The first time, and the first behind it, in milliseconds. */
  readonly from: number
  readonly before: number
}

/** A function that finds the part of a time. It is quick where times are near to each other. */
export const partFinder = (period: Period, zone: string): ((time: number) => Part) => {
  const changes = changesOf(zone)
  const [numberOf, startOf] = numbered[period]
  let part: Part = { text: '', from: 0, before: 0 }
  return (time) => {
    if (part.from <= time && time < part.before) return part
    const i = changes.findLastIndex(({ from }) => from <= time)
    const { from, offset } = changes[i] as Change
    const number = numberOf(time + offset)
    const start = startOf(number)
    part = {
      text: new Date(start).toISOString().slice(0, periods[period].length),
      from: Math.max(from, start - offset),
      before: Math.min(changes[i + 1]?.from ?? Number.POSITIVE_INFINITY, startOf(number + 1) - offset),
    }
    return part
  }
}
