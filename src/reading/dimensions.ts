// By what entries are counted: in which group an entry is, and what a response shows of it.
import type { Period } from '../../schemas/summaries.js'
import { dateOf, elementAt, numberOf, textOf } from '../bson/values.js'
import { partFinder } from './local-time.js'
import { answersOf } from './questions.js'

/** What a group has of a dimension. */
export type Value = string | { readonly longitude: number; readonly lattitude: number } | null

export interface Dimension {
  /** As `by` has it. */
  readonly name: string
  /** The stored field that is read, with dots. */
  readonly field: string
  /** The values of an entry: one, or each of several answers. */
  readonly valuesIn: (entry: Buffer) => readonly Value[]
  /** Whether groups stand in the order of their values. */
  readonly isTime?: true
}

export const [YEAR_1, YEAR_9999] = [Date.UTC(0, -12 * 1899), Date.UTC(10_000, 0) - 1]

/** A number within limits. */
const within = (bytes: Buffer, path: string, most: number): number | undefined => {
  const number = numberOf(bytes, elementAt(bytes, path.split('.')))
  return number !== undefined && Math.abs(number) <= most ? number : undefined
}

/** The middle of the cell that has this place: the last one whose lower edge is not above it. */
const middleOf = (degrees: number, step: number): number => {
  const parts = Math.round(1 / step)
  const edge = (cell: number): number => (step < 1 ? cell / parts : cell * step)
  // A quotient of fractions may be a little too small or too large.
  let cell = Math.round(degrees / step)
  if (edge(cell) > degrees) cell -= 1
  return Number(((cell + 0.5) * step).toFixed(3))
}

/**
 * What `by` names.
 * @param question the text of the question, if it names one
 */
export const dimensionOf = (name: string, zone: string, question?: string): Dimension => {
  if (question !== undefined) return { name, field: 'answers', valuesIn: (entry) => wordsIn(entry, question) }
  const [field, detail] = name.split(':') as [string, string?]
  const path = field.split('.')
  if (detail === undefined) return { name, field, valuesIn: (entry) => [textOf(entry, elementAt(entry, path))] }
  if (field === 'createdAt') {
    const partOf = partFinder(detail as Period, zone)
    const valuesIn = (entry: Buffer) => {
      const time = dateOf(entry, elementAt(entry, path))
      return [time !== undefined && time >= YEAR_1 && time <= YEAR_9999 ? partOf(time).text : null]
    }
    return { name, field, isTime: true, valuesIn }
  }
  const step = Number(detail)
  const valuesIn = (entry: Buffer) => {
    const longitude = within(entry, 'location.coordinates.longitude', 180)
    const lattitude = within(entry, 'location.coordinates.lattitude', 90)
    if (longitude === undefined || lattitude === undefined) return [null]
    return [{ longitude: middleOf(longitude, step), lattitude: middleOf(lattitude, step) }]
  }
  return { name, field, valuesIn }
}

/** The different answers of an entry to a question. */
const wordsIn = (entry: Buffer, question: string): readonly Value[] => {
  const words = new Set<string>()
  for (const answer of answersOf(entry)) {
    if (answer.question === question) for (const word of answer.words ?? []) words.add(word)
  }
  return words.size === 0 ? [null] : [...words]
}
