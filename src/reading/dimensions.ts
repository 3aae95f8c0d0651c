// By what entries are counted: how the database finds the group of an entry, and what a response shows of it.
import type { Period } from '../../schemas/summaries.js'
import type { Expression } from '../pipelines/stages.js'
import { created, isPlace, LATITUDE, LONGITUDE, NOTHING, shownText } from './aggregates.js'
import { changesOf, localTime } from './local-time.js'

/** What a group has of a dimension. */
export type Value = string | { readonly longitude: number; readonly lattitude: number } | null

export interface Dimension {
  /** As `by` has it. */
  readonly name: string
  /** The group of an entry. */
  readonly group: Expression
  /** The values of a group, of what the database has of it: one, or each of several answers. */
  readonly valuesIn: (group: never) => Value[]
  /** Whether groups stand in the order of their values. */
  readonly isTime?: true
  /** Whether the group is the value of a field, so that an index may have it. */
  readonly isField?: true
}

const DAY = 86_400_000
const EPOCH = { $literal: new Date(0) }
/** From 1970-01-01, a Thursday, to a Monday. */
const DAYS_TO_MONDAY = 3

const dateOf = (day: number): string => new Date(day * DAY).toISOString().slice(0, 'YYYY-MM-DD'.length)
const padded = (number: number, digits: number): string => String(number).padStart(digits, '0')

interface Numbered {
  /** The number of a period, of a time as a clock shows it; for the database, and of milliseconds. */
  readonly number: (time: Expression) => Expression
  readonly numberIn: (time: number) => number
  /** When the period of such a time ends. */
  readonly end: (time: number) => number
  readonly text: (number: number) => string
}

const daysOf = (time: number): number => Math.floor(time / DAY)
const monthsOf = (time: number): number => new Date(time).getUTCFullYear() * 12 + new Date(time).getUTCMonth()
const dayNumber = (time: Expression): Expression => ({ $floor: { $divide: [{ $subtract: [time, EPOCH] }, DAY] } })
const periods: Readonly<Record<Period, Numbered>> = {
  day: { number: dayNumber, numberIn: daysOf, end: (time) => (daysOf(time) + 1) * DAY, text: dateOf },
  week: {
    number: (time) => ({ $floor: { $divide: [{ $add: [dayNumber(time), DAYS_TO_MONDAY] }, 7] } }),
    numberIn: (time) => Math.floor((daysOf(time) + DAYS_TO_MONDAY) / 7),
    end: (time) => (7 * (periods.week.numberIn(time) + 1) - DAYS_TO_MONDAY) * DAY,
    text: (week) => dateOf(7 * week - DAYS_TO_MONDAY),
  },
  month: {
    number: (time) => ({ $add: [{ $multiply: [12, { $year: time }] }, { $month: time }, -1] }),
    numberIn: monthsOf,
    end: (time) => Date.UTC(0, monthsOf(time) + 1 - 1900 * 12),
    text: (month) => `${padded(Math.floor(month / 12), 4)}-${padded((month % 12) + 1, 2)}`,
  },
  year: {
    number: (time) => ({ $year: time }),
    numberIn: (time) => new Date(time).getUTCFullYear(),
    end: (time) => Date.UTC(new Date(time).getUTCFullYear() + 1, 0),
    text: (year) => padded(year, 4),
  },
}

export interface Part {
  readonly text: string
  /** Its first moment, and the first behind it. */
  readonly from: Date
  readonly before: Date
}

/** The parts of a span of time that are in one period each. A clock that is put back may divide a period. Both ends are in it. */
export function* partsOf(name: string, zone: string, first: Date, last: Date): Generator<Part> {
  const { numberIn, end, text } = periods[name.split(':')[1] as Period]
  const changes = changesOf(zone)
  for (const [i, { from, offset }] of changes.entries()) {
    const stop = Math.min(changes[i + 1]?.from ?? Number.POSITIVE_INFINITY, last.getTime() + 1)
    for (let time = Math.max(from, first.getTime()); time < stop; ) {
      const before = Math.min(end(time + offset) - offset, stop)
      yield { text: text(numberIn(time + offset)), from: new Date(time), before: new Date(before) }
      time = before
    }
  }
}

/** The number of a cell, of which this is the lower edge: the greatest that is not above the degrees. */
const cellOf = (degrees: Expression, step: number): Expression => {
  const parts = Math.round(1 / step)
  const edge = (cell: Expression): Expression => (step < 1 ? { $divide: [cell, parts] } : { $multiply: [cell, step] })
  const cell: Expression = { $floor: step < 1 ? { $multiply: [degrees, parts] } : { $divide: [degrees, step] } }
  const next: Expression = { $add: [cell, 1] }
  // A product of fractions may be a little too small or too large.
  return {
    $cond: [
      { $lte: [edge(next), degrees] },
      next,
      { $cond: [{ $gt: [edge(cell), degrees] }, { $add: [cell, -1] }, cell] },
    ],
  }
}

/** The middle of a cell, without the noise of fractions. */
const middleOf = (cell: number, step: number): number => Number(((cell + 0.5) * step).toFixed(3))

/**
 * What `by` names.
 * @param question the text of the question, if it names one
 */
export const dimensionOf = (name: string, zone: string, question?: string): Dimension => {
  if (question !== undefined) return { name, group: answersTo(question), valuesIn: wordsIn }
  const [field, detail] = name.split(':') as [string, string?]
  if (detail === undefined)
    return { name, group: `$${field}`, isField: true, valuesIn: (value: unknown) => [shownText(value)] }
  if (field === 'createdAt') {
    const { number, text } = periods[detail as Period]
    const group: Expression = { $cond: [{ $eq: [created, NOTHING] }, NOTHING, number(localTime(created, zone))] }
    return { name, group, isTime: true, valuesIn: (period: number | null) => [period === null ? null : text(period)] }
  }
  const step = Number(detail)
  return {
    name,
    group: { $cond: [isPlace, [cellOf(LONGITUDE, step), cellOf(LATITUDE, step)], NOTHING] },
    valuesIn: (cell: readonly [number, number] | null) => [
      cell && { longitude: middleOf(cell[0], step), lattitude: middleOf(cell[1], step) },
    ],
  }
}

/** The answers of an entry to a question: each a word, or several. */
const answersTo = (question: string): Expression => {
  const answers: Expression = { $cond: [{ $isArray: '$answers' }, '$answers', []] }
  const isAsked: Expression = { $eq: ['$$this.question', { $literal: question }] }
  return { $map: { input: { $filter: { input: answers, cond: isAsked } }, in: '$$this.answer' } }
}

const wordsIn = (answers: readonly unknown[]): Value[] => {
  const words = new Set(answers.flat().map(shownText))
  words.delete(null)
  return words.size === 0 ? [null] : [...words]
}
