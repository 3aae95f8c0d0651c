// The questions that were observed in entries, with their answers.
import type { Question } from '../../schemas/summaries.js'
import type { BsonDocument } from '../bson/reader.js'
import { dateOf, fieldOf } from '../bson/values.js'
import type { Ticket } from '../limits/scheduler.js'
import { firstOf, runInSlices, slices } from '../limits/work.js'
import { Query, type Scope } from '../pipelines/stages.js'
import { invalidParameter } from '../problems/problems.js'
import { questionKey } from '../serializer/questions.js'
import type { KeptTotals, Store } from '../store/store.js'
import { asLarge } from './listing.js'
import { answersOf, MAX_QUESTIONS, typeOf, wordsOf } from './questions.js'
import { type Doing, type EntryFilters, everyEntry } from './whole-list.js'

/** How many answers a question shows. */
const MAX_CHOICES = 1000
/** How much memory the texts of questions and types may take, that of different answers, and that of those that are shown, in bytes. */
const MAX_TEXTS = 4 * 1024 * 1024
const MAX_ANSWERS = 64 * 1024 * 1024
const MAX_SHOWN = 8 * 1024 * 1024
/** About how much memory a text takes, with what a map takes for it. */
const sizeOf = (text: string): number => 100 + text.length

/** What was counted of a question. Times are in milliseconds. */
interface Counted {
  readonly question: string
  readonly types: Set<string>
  readonly words: Map<string, number>
  /** The answers of the last entry that answers it, and its number. */
  readonly newest: Set<string>
  answeredBy: number
  /** How many answers were given, each once by an entry. */
  given: number
  asked: number
  places: number
  answered: number
  first: number
  last: number
}

export interface Observed {
  /** In the order of their mean place. */
  readonly questions: readonly Counted[]
  readonly entries: number
  /** How much memory the texts of questions and types take. */
  readonly texts: number
}

type Choice = Question['choices'][number]
type Reads = Pick<Store, 'aggregate' | 'knownIndexes'>

/**
 * Counts the questions of the entries that match.
 * @param hasWords whether their answers are counted too
 * @param limit how many entries are read
 * @returns what is too much, if the questions are too many or their answers too large
 */
export const observe = async (
  store: Reads,
  scope: Scope,
  filters: EntryFilters,
  hasWords: boolean,
  doing: Doing,
  limit?: number,
): Promise<Observed | string> => {
  const all = new Map<string, Counted>()
  let [entries, texts, answers] = [0, 0, 0]
  const isSliceOver = slices()
  const begin = (question: string): Counted => {
    const nothing = { newest: new Set<string>(), answeredBy: 0, given: 0, asked: 0, places: 0, answered: 0 }
    const never = { first: Number.POSITIVE_INFINITY, last: Number.NEGATIVE_INFINITY }
    const counted = { question, types: new Set<string>(), words: new Map<string, number>(), ...nothing, ...never }
    all.set(question, counted)
    texts += sizeOf(question)
    return counted
  }
  const answer = (counted: Counted, word: string, created: number | undefined): void => {
    const { words, newest } = counted
    if (counted.answeredBy !== entries) {
      counted.answeredBy = entries
      counted.answered += 1
      counted.first = Math.min(counted.first, created ?? counted.first)
      counted.last = Math.max(counted.last, created ?? counted.last)
      newest.clear()
    }
    if (newest.has(word)) return
    newest.add(word)
    counted.given += 1
    const count = words.get(word) ?? 0
    if (count === 0) answers += sizeOf(word)
    words.set(word, count + 1)
  }
  function* add(rows: readonly BsonDocument[]): Generator<void, void> {
    for (const { bytes } of rows) {
      entries += 1
      const created = dateOf(bytes, fieldOf(bytes, 0, 'createdAt'))
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
          texts += sizeOf(type)
        }
        for (const word of hasWords ? wordsOf(bytes, at) : []) {
          if (word !== undefined) answer(counted, word, created)
          if (isSliceOver(word)) yield
        }
      }
    }
  }
  for await (const rows of everyEntry(store, scope, filters, ['answers', 'createdAt'], doing, limit)) {
    await runInSlices(add(rows))
    if (all.size > MAX_QUESTIONS) return `more than ${MAX_QUESTIONS} questions`
    if (texts > MAX_TEXTS) return `questions of more than ${MAX_TEXTS} bytes`
    if (answers > MAX_ANSWERS) return `different answers of more than ${MAX_ANSWERS} bytes`
  }
  const place = ({ places, asked }: Counted) => places / asked
  const questions = [...all.values()].sort((a, b) => place(a) - place(b) || (a.question < b.question ? -1 : 1))
  return { questions, entries, texts }
}

/**
 * The questions of a form, in the order of their mean place.
 * @throws the problem `invalid_parameter` if they are too many
 */
export const formQuestions = async (
  store: Reads & Pick<KeptTotals, 'keep' | 'isQuick'>,
  scope: Scope,
  form: string,
  ticket: Ticket,
): Promise<{ questions: readonly Question[]; entries: number; asOf: Date }> => {
  const query = Query.in(scope, 'entries', [{ form }], [{ $project: { answers: 1, createdAt: 1 } }])
  const read = async () => {
    const asOf = new Date()
    // Other callers may wait for the same, so it goes on without this one.
    const observed = await observe(store, scope, { form }, true, (work) => work({}))
    if (typeof observed === 'string') throw invalidParameter('id', `has ${observed}`, 'path')
    const { questions, bytes } = await runInSlices(shownOf(observed.questions))
    return { questions, entries: observed.entries, asOf, bytes: bytes + observed.texts }
  }
  return asLarge(store, query, ticket, () => store.keep(query, read))
}

const timeOf = (time: number): string => new Date(time).toISOString()

function* choicesOf(words: Counted['words']): Generator<Choice, void> {
  for (const [answer, count] of words) yield { answer, count }
}

const byCount = (a: Choice, b: Choice): number => b.count - a.count || (a.answer < b.answer ? -1 : 1)

/** What is shown of questions. Each may take an equal part of the memory that those before it have left. */
function* shownOf(all: readonly Counted[]): Generator<void, { questions: Question[]; bytes: number }> {
  const questions: Question[] = []
  let left = MAX_SHOWN
  for (const [i, { question, types, words, asked, places, answered, given, first, last }] of all.entries()) {
    let share = left / (all.length - i)
    left -= share
    const choices: Choice[] = []
    for (const choice of yield* firstOf(choicesOf(words), byCount, MAX_CHOICES)) {
      share -= sizeOf(choice.answer)
      if (share < 0) break
      choices.push(choice)
    }
    left += Math.max(0, share)
    questions.push({
      key: questionKey(question),
      question,
      types: [...types].sort(),
      position: places / asked,
      answered,
      distinct: words.size,
      choices,
      others: given - choices.reduce((sum, { count }) => sum + count, 0),
      ...(first <= last && { firstAnswered: timeOf(first), lastAnswered: timeOf(last) }),
    })
    yield
  }
  return { questions, bytes: MAX_SHOWN - left }
}
