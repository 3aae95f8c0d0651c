// The answers of an entry as columns of their own: one for each question.
import { hash } from 'node:crypto'
import { Bson, type Bytes, type Element, elements } from '../bson/reader.js'
import { type BareElement, itemsOf, lastFieldOf, present, stringOf } from '../bson/values.js'
import type { ColumnFormat } from './columns.js'
import { type Write, WrongValue } from './scalars.js'

/** A question, and the name of its column. */
export interface QuestionColumn {
  readonly question: string
  readonly name: string
}

/** Names of columns that map programs and databases take for their own, and that of a column whose name nobody sees. */
const RESERVED = ['geometry', 'geom', 'fid', 'ogc_fid', '']
const MAX_NAME_CHARACTERS = 255

/** The key of a question: the first 12 digits of the SHA-256 of its text, so that anybody can compute it. */
export const questionKey = (question: string): string => hash('sha256', question).slice(0, 12)

/** Invisible characters, but not those that join or part letters and emoji, nor marks of direction. */
const INVISIBLE = /(?![\u061c\u200c-\u200f])(?=\p{Default_Ignorable_Code_Point})\p{Cf}/gu

/** What is compared of a name: many programs ignore its case, nobody sees a joiner, and CSV may add an apostrophe. */
const comparedOf = (name: string): string => {
  const folded = name.normalize('NFKC').toUpperCase().toLowerCase()
  return folded.replace(/^'+|\p{Default_Ignorable_Code_Point}/gu, '')
}

/**
 * A column for each question. Its text in one line is the name, or `question` without one. A text that is cut, or that names a
 * field or another question, has the key behind it, so that no name depends on the questions before it.
 */
export const questionColumns = (questions: readonly string[], others: readonly string[]): QuestionColumn[] => {
  const seen = questions.map((question) => question.replace(INVISIBLE, '').replace(/[\s\p{Cc}]+/gu, ' '))
  const texts = seen.map((text) => [...text.trim()])
  const lines = texts.map((text) => text.slice(0, MAX_NAME_CHARACTERS).join('').trim() || 'question')
  const uses = new Map<string, number>()
  for (const name of [...RESERVED, ...others, ...lines].map(comparedOf)) uses.set(name, (uses.get(name) ?? 0) + 1)
  return questions.map((question, i) => {
    let name = lines[i] as string
    if (texts[i]?.length === [...name].length && uses.get(comparedOf(name)) === 1) return { question, name }
    name = `${name} (${questionKey(question)})`
    // A text may look so, or two texts have the same key.
    while (uses.has(comparedOf(name))) name += ' +'
    uses.set(comparedOf(name), 1)
    return { question, name }
  })
}

const SEPARATOR = Buffer.from('; ')

/** Writes the words of values as one raw text, or the ids of the records that are in them. */
export const joinWords = (write: Write, input: Bytes, values: Iterable<BareElement>, output: Bytes, begin: number) => {
  const { bytes } = input
  let [to, isFirst] = [begin, true]
  for (const value of values) {
    for (const item of itemsOf(bytes, value)) {
      const { type, at } = item.type === Bson.document ? (lastFieldOf(bytes, item.at, '_id') as Element) : item
      if (!isFirst) to += SEPARATOR.copy(output.bytes, to)
      isFirst = false
      to = write(input, type, at, output, to)
    }
  }
  return to
}

/** Writes the columns of questions, whose answers have been checked. @param labels pieces around the number of the row */
export const writeQuestions = (
  questions: readonly QuestionColumn[],
  labels: readonly (readonly string[])[],
  { missing, raw, finish }: ColumnFormat,
  writeRow: (output: Bytes, to: number) => number,
): Write => {
  const columns = new Map(questions.map(({ question }, i) => [question, i]))
  const befores = labels.map((pieces) => pieces.map((piece) => Buffer.from(piece)))
  const none = [Buffer.from(missing)]
  return (input, _type, at, output, begin) => {
    const { bytes } = input
    const found: Element[][] = []
    for (const answer of elements(bytes, at)) {
      const value = present(lastFieldOf(bytes, answer.at, 'answer'))
      if (value === undefined) continue
      const column = columns.get(stringOf(bytes, lastFieldOf(bytes, answer.at, 'question')) as string)
      if (column === undefined) throw new WrongValue('has a question that came while the export was made', answer.at)
      const values = found[column] ?? []
      found[column] = values
      values.push(value)
    }
    let to = begin
    for (const [i, before] of befores.entries()) {
      const values = found[i]
      for (const [piece, bytes] of (values === undefined ? none : before).entries()) {
        if (piece > 0) to = writeRow(output, to)
        to += bytes.copy(output.bytes, to)
      }
      if (values !== undefined) to = finish(output, to, joinWords(raw, input, values, output, to), at)
    }
    return to
  }
}
