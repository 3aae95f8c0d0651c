// The questions of the entries of a form: what was answered to each, and which one a key stands for.
import { LRUCache } from 'lru-cache'
import type { Asked } from '../../schemas/entries.js'
import { Bson, type BsonDocument, elements } from '../bson/reader.js'
import { fieldOf, stringOf, textsOf } from '../bson/values.js'
import { runInSlices, slices } from '../limits/work.js'
import type { Scope } from '../pipelines/stages.js'
import { invalidParameter } from '../problems/problems.js'
import { questionKey } from '../serializer/questions.js'
import type { Store } from '../store/store.js'
import { type Doing, everyEntry } from './whole-list.js'

/** The most questions that are asked for together. Spreadsheets have 16,384 columns. */
export const MAX_QUESTIONS = 2000

type Reads = Pick<Store, 'aggregate' | 'knownIndexes'>

/** A longer type is none. */
const MAX_TYPE = 100

/** The answers of an entry: the text of the question, where there is one, and where the answer begins. */
export function* answersOf(entry: Buffer): Generator<{ question: string | undefined; at: number }, void> {
  const answers = fieldOf(entry, 0, 'answers')
  for (const { type, at } of answers?.type === Bson.array ? elements(entry, answers.at) : []) {
    yield { question: type === Bson.document ? stringOf(entry, fieldOf(entry, at, 'question')) : undefined, at }
  }
}

/** The type of an answer. */
export const typeOf = (entry: Buffer, at: number): string | undefined => {
  const type = stringOf(entry, fieldOf(entry, at, 'type'))
  return type !== undefined && type.length > MAX_TYPE ? undefined : type
}

/** The texts that an answer gives. What is undefined is no text. */
export const wordsOf = (entry: Buffer, at: number): Iterable<string | undefined> => {
  const answer = fieldOf(entry, at, 'answer')
  return answer === undefined ? [] : textsOf(entry, answer)
}

export const isKey = (text: string): boolean => /^[\da-f]{12}$/.test(text)

/** The texts of questions, by organisation, form and key. A key stands for one text for ever. */
const known = new LRUCache<string, string>({
  maxSize: 16 * 1024 * 1024,
  sizeCalculation: (text, place) => text.length + place.length,
})

/** Keys that no question had, for twenty times as long as they were looked for, and a minute at most. */
const unknown = new LRUCache<string, true>({ max: 10_000, ttl: 1 })
const UNKNOWN_PER_COST = 20
const MAX_UNKNOWN_MS = 60_000

/**
 * Finds the text of a question by its key.
 * @throws the problem `invalid_parameter` if there is no such question
 */
export const questionOf = async (
  store: Reads,
  scope: Scope,
  form: string | undefined,
  key: string,
  parameter: string,
  doing: Doing,
): Promise<string> => {
  if (form === undefined) throw invalidParameter(parameter, 'has the key of a question, so it must be given with form')
  const place = JSON.stringify([scope.organisation, form, key])
  let text = known.get(place)
  if (text === undefined && !unknown.has(place)) {
    const start = performance.now()
    text = await findQuestion(store, scope, form, key, doing)
    const ttl = Math.min(MAX_UNKNOWN_MS, Math.ceil(UNKNOWN_PER_COST * (performance.now() - start)))
    if (text === undefined) unknown.set(place, true, { ttl })
  }
  if (text === undefined)
    throw invalidParameter(
      parameter,
      `has ${key}, but must have the key of a question of the form, as GET /v1/forms/{id}/questions has it`,
    )
  known.set(place, text)
  return text
}

/** The most characters of other questions that are remembered while one is looked for. */
const MAX_OTHERS = 1024 * 1024

/** Looks for a question until it is found. */
const findQuestion = async (store: Reads, scope: Scope, form: string, key: string, doing: Doing) => {
  const others = new Set<string>()
  let characters = 0
  const isSliceOver = slices()
  function* findIn(rows: readonly BsonDocument[]): Generator<void, string | undefined> {
    for (const { bytes } of rows) {
      for (const { question } of answersOf(bytes)) {
        if (isSliceOver(question)) yield
        if (question === undefined || others.has(question)) continue
        if (questionKey(question) === key) return question
        if (characters + question.length > MAX_OTHERS || others.size === MAX_QUESTIONS) continue
        characters += question.length
        others.add(question)
      }
    }
    return undefined
  }
  for await (const rows of everyEntry(store, scope, { form }, ['answers'], doing)) {
    const found = await runInSlices(findIn(rows))
    if (found !== undefined) return found
  }
  return undefined
}

/** The same listing with the texts of the questions that it asks for. */
export const withQuestions = async <L extends object>(
  store: Reads,
  scope: Scope,
  listing: L & { readonly form?: string; readonly answered?: readonly Asked[] },
  doing: Doing,
): Promise<L> => {
  const { form, answered } = listing
  if (answered === undefined) return listing
  const found: Asked[] = []
  for (const asked of answered)
    found.push({ ...asked, question: await questionOf(store, scope, form, asked.key, 'answered', doing) })
  return { ...listing, answered: found }
}
