// The questions of the entries of a form: what was answered to each, and which one a key stands for.
import { LRUCache } from 'lru-cache'
import type { Asked } from '../../schemas/entries.js'
import { Bson, elements } from '../bson/reader.js'
import { fieldOf, present, stringOf, textsOf } from '../bson/values.js'
import type { Scope } from '../pipelines/stages.js'
import { invalidParameter } from '../problems/problems.js'
import { questionKey } from '../serializer/questions.js'
import type { Store } from '../store/store.js'
import { type Doing, everyEntry } from './whole-list.js'

/** The most questions that are asked for together. Spreadsheets have 16,384 columns. */
export const MAX_QUESTIONS = 2000

type Reads = Pick<Store, 'aggregate' | 'knownIndexes'>

/** An answer of an entry. */
export interface Answer {
  readonly question: string
  readonly type: string | undefined
  /** Its place among the answers, from 1. */
  readonly place: number
  /** The texts that were chosen or given. Undefined if there is no answer. */
  readonly words: readonly string[] | undefined
}

/** The answers of an entry that have a question. */
export function* answersOf(entry: Buffer): Generator<Answer, void> {
  const answers = fieldOf(entry, 0, 'answers')
  let place = 0
  for (const { type, at } of answers?.type === Bson.array ? elements(entry, answers.at) : []) {
    place += 1
    const question = type === Bson.document ? stringOf(entry, fieldOf(entry, at, 'question')) : undefined
    if (question === undefined) continue
    const answer = present(fieldOf(entry, at, 'answer'))
    const words = answer && textsOf(entry, answer)
    yield { question, type: stringOf(entry, fieldOf(entry, at, 'type')), place, words }
  }
}

export const isKey = (text: string): boolean => /^[\da-f]{12}$/.test(text)

/** The texts of questions, by organisation, form and key. A key stands for one text for ever. */
const known = new LRUCache<string, string>({
  maxSize: 16 * 1024 * 1024,
  sizeCalculation: (text, place) => text.length + place.length,
})

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
  const text = known.get(place) ?? (await findQuestion(store, scope, form, key, doing))
  if (text === undefined)
    throw invalidParameter(
      parameter,
      `has ${key}, but must have the key of a question of the form, as GET /v1/forms/{id}/questions has it`,
    )
  known.set(place, text)
  return text
}

/** Looks for a question until it is found. */
const findQuestion = async (store: Reads, scope: Scope, form: string, key: string, doing: Doing) => {
  const others = new Set<string>()
  for await (const rows of everyEntry(store, scope, { form }, ['answers'], doing)) {
    for (const { bytes } of rows) {
      for (const { question } of answersOf(bytes)) {
        if (others.has(question)) continue
        if (questionKey(question) === key) return question
        if (others.size < MAX_QUESTIONS) others.add(question)
      }
    }
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
