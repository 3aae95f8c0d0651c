// By what entries are counted: how the database finds the group of an entry, and what a response shows of it.
import { MAX_LATITUDE, MAX_LONGITUDE } from '../../../schemas/earth.js'
import type { Period } from '../../../schemas/summaries.js'
import { Bson, type Element, elements } from '../bson/reader.js'
import { numberIn, numberOf, numberOfWords, stringOf, textsOf } from '../bson/values.js'
import type { Expression } from '../pipelines/stages.js'
import { isPlace, LATITUDE, LONGITUDE, NOTHING } from './expressions.js'
import { periodOf } from './local-time.js'

export type GroupValue = string | number | { readonly longitude: number; readonly lattitude: number } | null

export interface Dimension {
  /** As `by` has it. */
  readonly name: string
  readonly group: Expression
  /** The values that a group of the database has in a response: none, one, or several answers. What is undefined is no value. */
  readonly valuesIn: (bytes: Buffer, group: Element | undefined) => Iterable<GroupValue | undefined>
  /** Whether the group is made of one field of a text or a time, so that an index may have what it needs. */
  readonly isIndexed?: true
  readonly order: (a?: GroupValue, b?: GroupValue) => number
  /** The period, if it is one of time. Then groups stand in the order of their values. */
  readonly period?: Period
}

/** The order of two values. Null is last, and a number is before a text. */
export const order = (a: GroupValue = null, b: GroupValue = null): number => {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  if (typeof a === 'object' && typeof b === 'object') return a.longitude - b.longitude || a.lattitude - b.lattitude
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1
  return a < b ? -1 : Number(a > b)
}
/** The order of two answers. Those that are numbers come first. */
const byAnswer = (a: GroupValue = null, b: GroupValue = null): number => {
  const [x = a, y = b] = [a, b].map((answer) => (answer === null ? undefined : numberIn(String(answer))))
  return order(x, y) || order(a, b)
}

/**
 * The number of the last cell whose lower edge is not above some degrees. A product of fractions may be a little too small. The
 * last edge of the earth is in the last cell.
 */
const cellOf = (degrees: Expression, step: number, most: number): Expression => ({
  $cond: [
    { $lt: [degrees, most] },
    { $floor: { $add: [{ $multiply: [degrees, 1 / step] }, 1e-9] } },
    Math.round(most / step) - 1,
  ],
})

/** The middle of a cell, without the noise of fractions. */
const middleOf = (cell: number, step: number): number => Number(((cell + 0.5) * step).toFixed(3))

/** No parameter can ask for an empty text, so it is no value. */
const textIn = (bytes: Buffer, value: Element | undefined) => [stringOf(bytes, value) || undefined]

const numberTextIn = (bytes: Buffer, value: Element | undefined) =>
  textIn(bytes, value).map((text) => text && Number(text))

/** The answers of an entry to a question: each a word, or several. A Decimal128 would be in one group with an equal number. */
export const answersTo = (question: string, more: readonly Expression[] = []): Expression => {
  const answers: Expression = { $cond: [{ $isArray: '$answers' }, '$answers', []] }
  const isAsked: Expression = { $eq: ['$$this.question', { $literal: question }] }
  const isDecimal: Expression = { $eq: [{ $type: '$$this.answer' }, { $literal: 'decimal' }] }
  const cond = { $and: [isAsked, { $not: [isDecimal] }, ...more] }
  return { $map: { input: { $filter: { input: answers, cond } }, in: '$$this.answer' } }
}

/** Texts that begin with a digit, a minus or a space are before this one, as numbers are. Most comments are behind it. */
const BEHIND_NUMBERS: Expression = { $literal: ':' }
/** What may be a number of the answers to a question. The rest stays in the database: all that it finds of a group is one document. */
export const numbersTo = (question: string): Expression => {
  const first: Expression = { $arrayElemAt: ['$$this.answer', 0] }
  const text: Expression = { $cond: [{ $isArray: '$$this.answer' }, first, '$$this.answer'] }
  return answersTo(question, [{ $lt: [text, BEHIND_NUMBERS] }])
}

/** The texts of an answer, without those that stand for none. */
function* givenIn(bytes: Buffer, answer: Element, missing: readonly string[]) {
  for (const text of textsOf(bytes, answer)) if (text === undefined || !missing.includes(text)) yield text
}

function* wordsIn(bytes: Buffer, answers: Element | undefined, missing: readonly string[]) {
  for (const answer of elements(bytes, (answers as Element).at)) yield* givenIn(bytes, answer, missing)
}

/** The first number that the answers of an entry to a question give: a number alone, or in a list of one. */
export const numberOfAnswers = (bytes: Buffer, answers: Element, missing: readonly string[]): number | undefined => {
  for (const answer of elements(bytes, answers.at)) {
    const number = numberOfWords([...givenIn(bytes, answer, missing)])
    if (number !== undefined) return number
  }
  return undefined
}

/** What `by` names. The question is the text of the one that it names, if it names one. */
export const dimensionOf = async (
  name: string,
  zone: string,
  question?: string,
  missing: readonly string[] = [],
): Promise<Dimension> => {
  if (question !== undefined) {
    const valuesIn: Dimension['valuesIn'] = (bytes, answers) => wordsIn(bytes, answers, missing)
    return { name, group: answersTo(question), order: byAnswer, valuesIn }
  }
  const [field, detail] = name.split(':') as [string, string?]
  if (detail === undefined) return { name, group: `$${field}`, isIndexed: true, order, valuesIn: textIn }
  if (field === 'createdAt') {
    const period = detail as Period
    const valuesIn = period === 'weekday' || period === 'hour' ? numberTextIn : textIn
    return { name, group: await periodOf(period, zone), isIndexed: true, period, order, valuesIn }
  }
  const step = Number(detail)
  const group: Expression = {
    $cond: [isPlace, [cellOf(LONGITUDE, step, MAX_LONGITUDE), cellOf(LATITUDE, step, MAX_LATITUDE)], NOTHING],
  }
  const valuesIn = (bytes: Buffer, group: Element | undefined): GroupValue[] => {
    if (group?.type !== Bson.array) return []
    const [x, y] = [...elements(bytes, group.at)].map((cell) => numberOf(bytes, cell)) as [number, number]
    return [{ longitude: middleOf(x, step), lattitude: middleOf(y, step) }]
  }
  return { name, group, order, valuesIn }
}
