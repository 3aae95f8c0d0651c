// By what entries are counted: how the database finds the group of an entry, and what a response shows of it.
import type { Period } from '../../schemas/summaries.js'
import type { Expression, Stage } from '../pipelines/stages.js'
import { created, isPlace, LATITUDE, LONGITUDE, NOTHING, textOf } from './aggregates.js'
import { localTime } from './local-time.js'

/** What a group has of a dimension. */
export type Value = string | { readonly longitude: number; readonly lattitude: number } | null

export interface Dimension {
  /** As `by` has it. */
  readonly name: string
  /** The group of an entry, behind the stages. */
  readonly group: Expression
  /** What makes an entry several: one for each answer. */
  readonly stages?: readonly Stage[]
  /** Whether it is the first of these. */
  readonly isFirst?: Expression
  /** The value of a group, of what the database has of it. */
  readonly shownOf: (group: never) => Value
  /** Whether groups stand in the order of their values. */
  readonly isTime?: true
}

const DAY = 86_400_000
const EPOCH = { $literal: new Date(0) }
/** From 1970-01-01, a Thursday, to a Monday. */
const DAYS_TO_MONDAY = 3

const dateOf = (day: number): string => new Date(day * DAY).toISOString().slice(0, 'YYYY-MM-DD'.length)
const padded = (number: number, digits: number): string => String(number).padStart(digits, '0')

/** The number of a period, of a time as a clock shows it. */
const periods: Readonly<
  Record<Period, { number: (time: Expression) => Expression; text: (number: number) => string }>
> = {
  day: { number: (time) => ({ $floor: { $divide: [{ $subtract: [time, EPOCH] }, DAY] } }), text: dateOf },
  week: {
    number: (time) => ({ $floor: { $divide: [{ $add: [periods.day.number(time), DAYS_TO_MONDAY] }, 7] } }),
    text: (week) => dateOf(7 * week - DAYS_TO_MONDAY),
  },
  month: {
    number: (time) => ({ $add: [{ $multiply: [12, { $year: time }] }, { $month: time }, -1] }),
    text: (month) => `${padded(Math.floor(month / 12), 4)}-${padded((month % 12) + 1, 2)}`,
  },
  year: { number: (time) => ({ $year: time }), text: (year) => padded(year, 4) },
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

const asFound = (value: Value): Value => value

/**
 * What `by` names.
 * @param i its place there
 * @param question the text of the question, if it names one
 */
export const dimensionOf = (name: string, i: number, zone: string, question?: string): Dimension => {
  if (question !== undefined) return answersTo(name, i, question)
  const [field, detail] = name.split(':') as [string, string?]
  if (detail === undefined) return { name, group: textOf(`$${field}`), shownOf: asFound }
  if (field === 'createdAt') {
    const { number, text } = periods[detail as Period]
    const group: Expression = { $cond: [{ $eq: [created, NOTHING] }, NOTHING, number(localTime(created, zone))] }
    return { name, group, shownOf: (period: number | null) => (period === null ? null : text(period)), isTime: true }
  }
  const step = Number(detail)
  return {
    name,
    group: { $cond: [isPlace, [cellOf(LONGITUDE, step), cellOf(LATITUDE, step)], NOTHING] },
    shownOf: (cell: readonly [number, number] | null) =>
      cell && { longitude: middleOf(cell[0], step), lattitude: middleOf(cell[1], step) },
  }
}

/** The answers to a question. An entry may have several of them, or none. */
const answersTo = (name: string, i: number, question: string): Dimension => {
  const [field, place] = [`answer${i}`, `place${i}`] as const
  const isAsked: Expression = { $eq: ['$$this.question', { $literal: question }] }
  const given: Expression = { $filter: { input: '$answers', cond: isAsked } }
  const values: Expression = { $cond: [{ $isArray: '$$this.answer' }, '$$this.answer', ['$$this.answer']] }
  const texts: Expression = { $map: { input: values, in: textOf('$$this') } }
  const all: Expression = { $reduce: { input: given, initialValue: [], in: { $setUnion: ['$$value', texts] } } }
  return {
    name,
    group: { $ifNull: [`$${field}`, NOTHING] },
    stages: [
      { $set: { [field]: { $cond: [{ $isArray: '$answers' }, { $setDifference: [all, [NOTHING]] }, []] } } },
      { $unwind: { path: `$${field}`, includeArrayIndex: place, preserveNullAndEmptyArrays: true } },
    ],
    isFirst: { $lte: [{ $ifNull: [`$${place}`, 0] }, 0] },
    shownOf: asFound,
  }
}
