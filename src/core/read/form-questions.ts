// The questions that were observed in entries, with their answers.
import type { Question, Values } from '../../../schemas/summaries.js'
import type { BsonDocument } from '../bson/reader.js'
import { fieldOf, instantIn, memoryOf, numberIn } from '../bson/values.js'
import { firstOf, runInSlices, slices } from '../limits/work.js'
import { entries as resource } from '../pipelines/entries.js'
import { invalidParameter } from '../problems/problems.js'
import { timeIn } from '../validation/instant.js'
import { hashOf } from '../write/etag.js'
import { questionKey } from '../write/question-columns.js'
import { answersOf, MAX_QUESTIONS, typeOf, wordsOf } from './question-keys.js'
import type { Reader } from './reader.js'

const MAX_CHOICES = 1000
/** How much memory the texts of questions and types may take, that of different answers, and that of those that are shown, in bytes. */
const MAX_TEXTS = 4 * 1024 * 1024
const MAX_ANSWERS = 64 * 1024 * 1024
const MAX_SHOWN = 8 * 1024 * 1024
/** About how much memory a question takes besides its texts. */
const QUESTION_BYTES = 1000

/** What was counted of a question. Times are in milliseconds. */
class Counted {
  readonly types = new Set<string>()
  /** How often each answer was given. Undefined once these take too much memory, as those of an open question may. */
  words: Map<string, number> | undefined = new Map()
  /** How much memory they take. */
  bytes = 0
  /** How many there are, or were when they took too much. */
  distinct = 0
  /** How many answers were given, each once by an entry. */
  given = 0
  asked = 0
  places = 0
  answered = 0
  first = Number.POSITIVE_INFINITY
  last = Number.NEGATIVE_INFINITY
  /** What all answers so far are. It is text where an entry has several. */
  values: Values | undefined

  constructor(readonly question: string) {}

  see(values: Values): void {
    this.values = this.values === undefined || this.values === values ? values : 'text'
  }
}

type Answered = Map<Counted, Set<string>>

const valuesOf = (word: string): Values => {
  if (numberIn(word) !== undefined) return 'number'
  return timeIn(word) === undefined ? 'text' : 'date'
}

/**
 * Counts the questions of entries, up to a limit, with `hasWords` their answers too. A text says what is too much.
 * @param missing answers that count as none
 */
export const observe = async (
  reader: Reader,
  filters: object,
  options: { hasWords?: boolean; limit?: number | undefined; missing?: readonly string[] },
) => {
  const { hasWords = false, limit, missing = [] } = options
  const all = new Map<string, Counted>()
  /** How many entries were read, and how much memory the texts of questions and types take. */
  let [entries, texts] = [0, 0]
  const isSliceOver = slices()
  const begin = (question: string): Counted => {
    const counted = new Counted(question)
    all.set(question, counted)
    texts += QUESTION_BYTES + memoryOf(question)
    return counted
  }
  /** @param answered what an entry has answered to each question so far */
  const answer = (counted: Counted, word: string, created: number | undefined, answered: Answered): void => {
    const { words } = counted
    const own = answered.get(counted) ?? new Set()
    if (own.size === 0) {
      answered.set(counted, own)
      counted.answered += 1
      counted.first = Math.min(counted.first, created ?? counted.first)
      counted.last = Math.max(counted.last, created ?? counted.last)
    }
    if (own.has(word)) return
    own.add(word)
    counted.given += 1
    if (words === undefined) return
    const count = words.get(word) ?? 0
    if (count === 0) {
      counted.distinct += 1
      counted.bytes += memoryOf(word)
    }
    words.set(word, count + 1)
  }
  const answers = () => [...all.values()].reduce((sum, { bytes }) => sum + bytes, 0)
  function* add(rows: readonly BsonDocument[]): Generator<void, void> {
    for (const { bytes } of rows) {
      entries += 1
      const created = instantIn(bytes, fieldOf(bytes, 0, 'createdAt'))
      const answered: Answered = new Map()
      const seen = new Set<Counted>()
      let place = 0
      for (const { question, at } of answersOf(bytes)) {
        place += 1
        if (isSliceOver(question)) yield
        if (question === undefined) continue
        const counted = all.get(question) ?? begin(question)
        counted.asked += 1
        counted.places += place
        const type = typeOf(bytes, at)
        if (type !== undefined && !counted.types.has(type)) {
          counted.types.add(type)
          texts += memoryOf(type)
        }
        for (const word of hasWords ? wordsOf(bytes, at) : []) {
          if (word !== undefined && missing.includes(word)) continue
          if (word) counted.see(seen.has(counted) ? 'text' : valuesOf(word))
          if (word) seen.add(counted)
          if (word !== undefined) answer(counted, word, created, answered)
          if (isSliceOver(word)) yield
        }
      }
    }
  }
  let tooMuch: string | undefined
  const use = async (rows: readonly BsonDocument[]) => {
    await runInSlices(add(rows))
    if (all.size > MAX_QUESTIONS) tooMuch = `more than ${MAX_QUESTIONS} questions`
    if (texts > MAX_TEXTS) tooMuch = `questions of more than ${MAX_TEXTS} bytes`
    while (answers() > MAX_ANSWERS) {
      const [largest] = [...all.values()].sort((a, b) => b.bytes - a.bytes) as [Counted]
      largest.words = undefined
      largest.bytes = 0
    }
    return tooMuch !== undefined
  }
  await reader.each(reader.select(resource, { ...filters, fields: ['answers', 'createdAt'] }), use, {
    limit,
    needs: MAX_TEXTS + (hasWords ? MAX_ANSWERS : 0),
  })
  if (tooMuch !== undefined) return tooMuch
  const place = ({ places, asked }: Counted) => places / asked
  const questions = [...all.values()].sort((a, b) => place(a) - place(b) || (a.question < b.question ? -1 : 1))
  return { questions, entries, texts }
}

/** The questions of a form by their mean place. If they are too many, it throws the problem `invalid_parameter`. */
export const formQuestions = (reader: Reader, form: string, missing: readonly string[] = []) =>
  reader.cached({ of: 'questions', form, missing }, async (shared) => {
    const asOf = new Date()
    const observed = await observe(shared, { form }, { hasWords: true, missing })
    if (typeof observed === 'string') throw invalidParameter('id', `has ${observed}`, 'path')
    const { questions, bytes } = await runInSlices(shownOf(observed.questions))
    const hash = await runInSlices(hashOf(questions))
    return { questions, entries: observed.entries, asOf, bytes: bytes + observed.texts, hash }
  })

const timeOf = (time: number): string => new Date(time).toISOString()

const byCount = ([a, count]: [string, number], [b, other]: [string, number]): number =>
  other - count || (a < b ? -1 : 1)

/** What is shown of questions. Each may take an equal part of the memory that those before it have left. */
function* shownOf(all: readonly Counted[]): Generator<void, { questions: Question[]; bytes: number }> {
  const questions: Question[] = []
  let left = MAX_SHOWN
  for (const [i, counted] of all.entries()) {
    const { question, types, values = 'text', words, distinct, asked, places, answered, given, first, last } = counted
    let share = Math.floor(left / (all.length - i))
    left -= share
    const choices: Question['choices'] = []
    for (const [answer, count] of yield* firstOf(words ?? [], byCount, MAX_CHOICES)) {
      share -= memoryOf(answer)
      if (share < 0) break
      choices.push({ answer, count })
    }
    left += Math.max(0, share)
    questions.push({
      key: questionKey(question),
      question,
      types: [...types].sort(),
      values,
      position: places / asked,
      answered,
      distinct,
      choices,
      others: given - choices.reduce((sum, { count }) => sum + count, 0),
      ...(first <= last && { firstAnswered: timeOf(first), lastAnswered: timeOf(last) }),
    })
    yield
  }
  return { questions, bytes: MAX_SHOWN - left }
}
