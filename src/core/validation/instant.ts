// Reads points in time as RFC 3339 writes them, and intervals as OGC API - Features does.
import type { Interval } from '../../../schemas/ogc.js'

const INSTANT = /^(\d{4}-\d\d-\d\d)T((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d+))?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i
const ANSWERED = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d)(:\d\d(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/
const DAY = /^(\d{4}-\d\d-\d\d)T?$/
const DAY_MS = 86_400_000

/**
 * The point in time that a text names, or undefined if it names none. Digits beyond milliseconds are cut off, as the
 * database cuts them off in what it stores: so a record that was changed at exactly this time is not before it.
 */
export const instantOf = (text: string): Date | undefined => {
  const [, day, time, fraction = '', zone] = INSTANT.exec(text) ?? []
  if (day === undefined || zone === undefined || !isDay(day)) return undefined
  return new Date(`${day}T${time}.${fraction.slice(0, 3).padEnd(3, '0')}${zone.toUpperCase()}`)
}

/** The time that an answer is: a day, or one with a time, which is in UTC if it has no zone. */
export const timeIn = (text: string): Date | undefined => {
  const [, day, minutes = '00:00', seconds = ':00', zone = 'Z'] = ANSWERED.exec(text) ?? []
  return day === undefined ? undefined : instantOf(`${day}T${minutes}${seconds}${zone}`)
}

/** Whether a text `YYYY-MM-DD` is a day. Date alone would read the 30th of February as the 1st of March. */
export const isDay = (text: string): boolean => {
  const midnight = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(`${text}T`)
}

/** A day is all of it in UTC, and a time without a fraction is all of its second. */
const spanOf = (text: string): Required<Interval> | undefined => {
  const [, day] = DAY.exec(text) ?? []
  const from = instantOf(day === undefined ? text : `${day}T00:00:00Z`)
  return from && { from, to: new Date(from.getTime() + (day ? DAY_MS : text.includes('.') ? 1 : 1000) - 1) }
}

/**
 * The interval that a text names, or undefined if it names none. A single time or day is an interval of its own. GDAL writes a
 * day as `2025-06-01T`. Behind `/` that stands for the `<` of a filter, so the interval ends before this day.
 */
export const intervalOf = (text: string): Interval | undefined => {
  const [first = '', second = first, ...rest] = text.split('/')
  const ends = [first, second].map((end) => (['', '..'].includes(end) ? undefined : (spanOf(end) ?? 'invalid')))
  const [from, to] = ends
  const isOpen = from === undefined && to === undefined
  if (rest.length > 0 || from === 'invalid' || to === 'invalid' || isOpen) return undefined
  const isBefore = text.endsWith('T') && text !== first
  return { ...(from && { from: from.from }), ...(to && { to: isBefore ? new Date(to.from.getTime() - 1) : to.to }) }
}
