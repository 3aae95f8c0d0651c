// The time of a zone, as expressions. Every database has other data of time zones and knows other names, so the changes of a
// clock are those that Node knows.
import { LRUCache } from 'lru-cache'
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
export const changesOf = (zone: string): readonly Change[] => {
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

/** A time as the clock of a zone shows it, as if that were UTC. */
export const localTime = (time: Expression, zone: string): Expression => {
  const offsetIn = (changes: readonly Change[]): Expression => {
    const middle = changes.length >> 1
    const { from, offset } = changes[middle] as Change
    if (changes.length === 1) return offset
    const isBefore: Expression = { $lt: [time, { $literal: new Date(from) }] }
    return { $cond: [isBefore, offsetIn(changes.slice(0, middle)), offsetIn(changes.slice(middle))] }
  }
  return { $add: [time, offsetIn(changesOf(zone))] }
}
