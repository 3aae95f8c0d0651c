// The days, weeks, months and years of a time zone. Every database has other data of time zones and knows other names, so the
// changes of a clock are those that Node knows.
import { bisector } from 'd3-array'
import { LRUCache } from 'lru-cache'
import type { Period } from '../../../schemas/summaries.js'
import { ownText } from '../bson/values.js'
import { runInSlices } from '../limits/work.js'
import type { Expression } from '../pipelines/stages.js'
import { isCreatedWithin, NOTHING } from './expressions.js'

const MINUTE = 60_000
const DAY = 86_400_000
/** Between these times a change of a clock counts. Before and after them the clock is as it was then, or as it is. */
const [FIRST, LAST] = [Date.UTC(1970, 0), Date.UTC(2100, 0)]
/** How many days are looked at before other requests go on. */
const SLICE = 500

/** From a time on, how much the clock is before UTC. Both in milliseconds. */
export type Change = { readonly from: number; readonly offset: number }

/** Finds all changes of the clock of a zone, in their order. No clock changes twice within a day. */
function* changesOf(zone: string): Generator<void, readonly Change[]> {
  const format = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' })
  const offsetAt = (time: number): number => {
    const found = /([+-])(\d+):(\d+)(?::(\d+))?$|$/.exec(format.format(time)) as RegExpExecArray
    const [, sign, hours = 0, minutes = 0, seconds = 0] = found
    return (Number(hours) * 60 + Number(minutes) + Number(seconds) / 60) * MINUTE * (sign === '-' ? -1 : 1)
  }
  let last: Change = { from: Number.NEGATIVE_INFINITY, offset: offsetAt(FIRST) }
  const changes = [last]
  for (let day = 1; FIRST + day * DAY <= LAST; day++) {
    let [low, high] = [FIRST + (day - 1) * DAY, FIRST + day * DAY]
    const offset = offsetAt(high)
    if (offset !== last.offset) {
      while (high - low > 1000) {
        const middle = Math.floor((low + high) / 2000) * 1000
        if (offsetAt(middle) === last.offset) low = middle
        else high = middle
      }
      last = { from: high, offset }
      changes.push(last)
    }
    if (day % SLICE === 0) yield
  }
  return changes
}

const cache = new LRUCache<string, readonly Change[]>({
  max: 1000,
  fetchMethod: (zone) => runInSlices(changesOf(zone)),
})

/** The text of a zone may be a part of a long address, which would be kept with it. */
export const changesIn = (zone: string) => cache.forceFetch(ownText(zone))

const dates = { day: '%Y-%m-%d', week: '%Y-%m-%d', month: '%Y-%m', year: '%Y' }
const formats: Readonly<Record<Period, string>> = { ...dates, weekday: '%u', hour: '%H' }
const WEEK = 7 * DAY
const MONDAY: Expression = { $literal: new Date('1970-01-05T00:00:00Z') }

/** When a day begins in a zone: the first time at which the clock shows it. */
export const beginningOf = async (day: string, zone: string): Promise<Date> => {
  const changes = await changesIn(zone)
  const local = Date.parse(day)
  const endOf = (i: number) => changes[i + 1]?.from ?? Number.POSITIVE_INFINITY
  const { from, offset } = changes.find(({ offset }, i) => local < endOf(i) + offset) as Change
  return new Date(Math.max(from, local - offset))
}

/** Gives the day of a time by a clock with these changes, as a number. Both times are in milliseconds. */
export const dayBy = (changes: readonly Change[]): ((time: number) => number) => {
  const next = bisector(({ from }: Change) => from).right
  return (time) => Math.floor((time + (changes[next(changes, time) - 1] as Change).offset) / DAY)
}

/** The period in which an entry was created, as a response has it. Null for what the clock of the zone does not show. */
export const periodOf = async (period: Period, zone: string): Promise<Expression> => {
  const changes = await changesIn(zone)
  const [first, last] = [changes[0], changes.at(-1)] as [Change, Change]
  const offsetIn = (some: readonly Change[]): Expression => {
    const middle = some.length >> 1
    const { from, offset } = some[middle] as Change
    if (some.length === 1) return offset
    const isBefore: Expression = { $lt: ['$createdAt', { $literal: new Date(from) }] }
    return { $cond: [isBefore, offsetIn(some.slice(0, middle)), offsetIn(some.slice(middle))] }
  }
  const local: Expression = { $add: ['$createdAt', offsetIn(changes)] }
  const weeks: Expression = { $floor: { $divide: [{ $subtract: [local, MONDAY] }, WEEK] } }
  const date = period === 'week' ? { $add: [MONDAY, { $multiply: [weeks, WEEK] }] } : local
  const text: Expression = { $dateToString: { date, format: { $literal: formats[period] } } }
  return { $cond: [isCreatedWithin(first.offset, last.offset), text, NOTHING] }
}
