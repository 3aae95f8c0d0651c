// The days, weeks, months and years of a time zone. Every database has other data of time zones and knows other names, so the
// changes of a clock are those that Node knows.
import { LRUCache } from 'lru-cache'
import { type Period, periods } from '../../schemas/summaries.js'
import type { Expression } from '../pipelines/stages.js'
import { created, isTime, NOTHING, YEAR_1, YEAR_9999 } from './expressions.js'

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
    const [, sign, hours = 0, minutes = 0, seconds = 0] = /([+-])(\d+):(\d+)(?::(\d+))?$|$/.exec(
      format.format(time),
    ) as RegExpExecArray
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
/** 1970-01-01 was a Thursday. */
const DAYS_FROM_MONDAY = 3

/** Periods of a clock that shows UTC: how they are written, and when the period of a time starts, or the one `more` later. */
const known: Readonly<Record<Period, { format: string; start: (time: number, more: number) => number }>> = {
  day: { format: '%Y-%m-%d', start: (time, more) => (Math.floor(time / DAY) + more) * DAY },
  week: {
    format: '%Y-%m-%d',
    start: (time, more) => (7 * (Math.floor((time / DAY + DAYS_FROM_MONDAY) / 7) + more) - DAYS_FROM_MONDAY) * DAY,
  },
  month: { format: '%Y-%m', start: (time, more) => startOfMonth(monthOf(time) + more) },
  year: { format: '%Y', start: (time, more) => startOfMonth(12 * (Math.floor(monthOf(time) / 12) + more)) },
}

/** The period in which an entry was created, as a response has it. Null for what the clock of the zone does not show. */
export const periodOf = (period: Period, zone: string): Expression => {
  const offsetIn = (changes: readonly Change[]): Expression => {
    const middle = changes.length >> 1
    const { from, offset } = changes[middle] as Change
    if (changes.length === 1) return offset
    const isBefore: Expression = { $lt: ['$createdAt', { $literal: new Date(from) }] }
    return { $cond: [isBefore, offsetIn(changes.slice(0, middle)), offsetIn(changes.slice(middle))] }
  }
  const local: Expression = { $add: [created, offsetIn(changesOf(zone))] }
  const sinceMonday: Expression = { $multiply: [{ $subtract: [{ $isoDayOfWeek: local }, 1] }, DAY] }
  const date = period === 'week' ? { $subtract: [local, sinceMonday] } : local
  const text: Expression = { $dateToString: { date, format: { $literal: known[period].format } } }
  return { $cond: [isTime(local), text, NOTHING] }
}

/** A span of time that is in one period. A clock that is put back may divide a period into several. */
export interface Part {
  /** The period, as a response has it. */
  readonly text: string
  /** The first time, and the first behind it, in milliseconds. */
  readonly from: number
  readonly before: number
}

/** The parts of the time from a first to a last moment that the clock of the zone shows. */
export function* partsOf(period: Period, zone: string, first: number, last: number): Generator<Part, void> {
  const { start } = known[period]
  const changes = changesOf(zone)
  for (const [i, { from, offset }] of changes.entries()) {
    const end = Math.min(changes[i + 1]?.from ?? Number.POSITIVE_INFINITY, last + 1, YEAR_9999.getTime() - offset + 1)
    for (let time = Math.max(from, first, YEAR_1.getTime() - offset); time < end; ) {
      const text = new Date(start(time + offset, 0)).toISOString().slice(0, periods[period].length)
      const before = Math.min(start(time + offset, 1) - offset, end)
      yield { text, from: time, before }
      time = before
    }
  }
}
