// The questions that were observed in entries, with their answers.
import type { Question } from '../../schemas/summaries.js'
import { dateOf, fieldOf } from '../bson/values.js'
import type { Ticket } from '../limits/scheduler.js'
import { Query, type Scope } from '../pipelines/stages.js'
import { invalidParameter } from '../problems/problems.js'
import { questionKey } from '../serializer/questions.js'
import type { KeptTotals, Store } from '../store/store.js'
import { asLarge } from './listing.js'
import { answersOf, MAX_QUESTIONS } from './questions.js'
import { type Doing, type EntryFilters, everyEntry } from './whole-list.js'

/** How many answers a question shows. */
const MAX_CHOICES = 1000
/** How many bytes questions and different answers may take, with what a map takes for each of them. */
const MAX_BYTES = 64 * 1024 * 1024
const TEXT_BYTES = 100

/** What was counted of a question. Times are in milliseconds. */
interface Counted {
  readonly question: string
  readonly types: Set<string>
  readonly words: Map<string, number>
  asked: number
  places: number
  answered: number
  /** The number of the last entry that answers it. */
  answeredBy: number
  first: number
  last: number
}

export interface Observed {
  /** In the order of their mean place. */
  readonly questions: readonly Counted[]
  readonly entries: number
}

type Reads = Pick<Store, 'aggregate' | 'knownIndexes'>

/**
 * Counts the questions of the entries that match.
 * @param hasWords whether their answers are counted too
 * @returns what is too much, if the questions are too many or their answers too large
 */
export const observe = async (
  store: Reads,
  scope: Scope,
  filters: EntryFilters,
  hasWords: boolean,
  doing: Doing,
): Promise<Observed | string> => {
  const all = new Map<string, Counted>()
  let [entries, bytes] = [0, 0]
  const begin = (question: string): Counted => {
    const nothing = { asked: 0, places: 0, answered: 0, answeredBy: 0 }
    const never = { first: Number.POSITIVE_INFINITY, last: Number.NEGATIVE_INFINITY }
    const counted = { question, types: new Set<string>(), words: new Map<string, number>(), ...nothing, ...never }
    all.set(question, counted)
    bytes += question.length + TEXT_BYTES
    return counted
  }
  const add = (entry: Buffer): void => {
    entries += 1
    const created = dateOf(entry, fieldOf(entry, 0, 'createdAt'))
    for (const { question, type, place, words } of answersOf(entry)) {
      const counted = all.get(question) ?? begin(question)
      counted.asked += 1
      counted.places += place
      if (type !== undefined) counted.types.add(type)
      if (words === undefined || !hasWords) continue
      if (counted.answeredBy !== entries) counted.answered += 1
      counted.answeredBy = entries
      counted.first = Math.min(counted.first, created ?? counted.first)
      counted.last = Math.max(counted.last, created ?? counted.last)
      for (const word of words) {
        const count = counted.words.get(word) ?? 0
        if (count === 0) bytes += word.length + TEXT_BYTES
        counted.words.set(word, count + 1)
      }
    }
  }
  for await (const rows of everyEntry(store, scope, filters, ['answers', 'createdAt'], doing)) {
    for (const row of rows) add(row.bytes)
    if (all.size > MAX_QUESTIONS) return `more than ${MAX_QUESTIONS} questions`
    if (bytes > MAX_BYTES) return `different answers of more than ${MAX_BYTES} bytes`
  }
  const place = ({ places, asked }: Counted) => places / asked
  const questions = [...all.values()].sort((a, b) => place(a) - place(b) || (a.question < b.question ? -1 : 1))
  return { questions, entries }
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
    const questions = observed.questions.map(shown)
    return { questions, entries: observed.entries, asOf, bytes: JSON.stringify(questions).length }
  }
  return asLarge(store, query, ticket, () => store.keep(query, read))
}

const timeOf = (time: number): string => new Date(time).toISOString()

const shown = ({ question, types, words, asked, places, answered, first, last }: Counted): Question => {
  const all = [...words].map(([answer, count]) => ({ answer, count }))
  all.sort((a, b) => b.count - a.count || (a.answer < b.answer ? -1 : 1))
  return {
    key: questionKey(question),
    question,
    types: [...types].sort(),
    position: places / asked,
    answered,
    distinct: all.length,
    choices: all.slice(0, MAX_CHOICES),
    others: all.slice(MAX_CHOICES).reduce((sum, { count }) => sum + count, 0),
    ...(first <= last && { firstAnswered: timeOf(first), lastAnswered: timeOf(last) }),
  }
}
