// The questions of the entries of a form: what was answered to each, and which one a key stands for.
import { LRUCache } from 'lru-cache'
import type { Answered } from '../../../schemas/entries.js'
import { Bson, type BsonDocument, elements } from '../bson/reader.js'
import { fieldOf, memoryOf, stringOf, textsOf } from '../bson/values.js'
import { runInSlices, slices } from '../limits/work.js'
import { entries } from '../pipelines/entries.js'
import { invalidParameter } from '../problems/problems.js'
import { questionKey } from '../write/question-columns.js'
import type { Reader } from './reader.js'
import { bindingOf } from './token.js'

/** The most questions that are asked for together. Spreadsheets have 16,384 columns. */
export const MAX_QUESTIONS = 2000

const MAX_TYPE = 100

/** The answers of an entry: the text of the question, where there is one, and where the answer begins. */
export function* answersOf(entry: Buffer): Generator<{ question: string | undefined; at: number }, void> {
  const answers = fieldOf(entry, 0, 'answers')
  for (const { type, at } of answers?.type === Bson.array ? elements(entry, answers.at) : []) {
    yield { question: type === Bson.document ? stringOf(entry, fieldOf(entry, at, 'question')) : undefined, at }
  }
}

export const typeOf = (entry: Buffer, at: number): string | undefined => {
  const type = stringOf(entry, fieldOf(entry, at, 'type'))
  return type !== undefined && type.length > MAX_TYPE ? undefined : type
}

/** The texts that an answer gives. What is undefined is no text. */
export const wordsOf = (entry: Buffer, at: number): Iterable<string | undefined> => {
  const answer = fieldOf(entry, at, 'answer')
  return answer === undefined ? [] : textsOf(entry, answer)
}

/** The answers that count as none, in one order. Without a form it throws the problem `invalid_parameter`. */
export const missingOf = ({ missing = [], form }: { readonly missing?: readonly string[]; readonly form?: string }) => {
  if (missing.length > 0 && form === undefined)
    throw invalidParameter('missing', 'has answers of one form, so it must be given with form')
  return missing.toSorted()
}

export const isKey = (text: string): boolean => /^[\da-f]{12}$/.test(text)

/** The texts of questions, by scope, form and key. A key stands for one text for ever. */
const known = new LRUCache<string, string>({
  maxSize: 16 * 1024 * 1024,
  sizeCalculation: (text, place) => memoryOf(text) + memoryOf(place),
})

/** Finds the text of a question by its key. It throws the problem `invalid_parameter` if there is none. */
export const questionOf = async (reader: Reader, form: string | undefined, key: string, parameter: string) => {
  if (form === undefined) throw invalidParameter(parameter, 'has the key of a question, so it must be given with form')
  const place = JSON.stringify([bindingOf(reader.scope), form, key])
  // That no question has the key is in the cache too.
  const text =
    known.get(place) ??
    (await reader.cached({ of: 'question', form, key }, (shared) => findQuestion(shared, form, key))).text
  const fault = `has ${key}, but must have the key of a question of the form, as GET /v1/forms/{id}/questions and describe_form have it`
  if (text === undefined) throw invalidParameter(parameter, fault)
  known.set(place, text)
  return text
}

/** The most characters of other questions that are remembered while one is looked for. */
const MAX_OTHERS = 1024 * 1024

const findQuestion = async (reader: Reader, form: string, key: string) => {
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
  let found: string | undefined
  await reader.each(reader.select(entries, { form, fields: ['answers'] }), async (rows) => {
    found = await runInSlices(findIn(rows))
    return found !== undefined
  })
  return { text: found, bytes: memoryOf(found ?? '') }
}

/** The same parameters with the texts of the questions that they ask for. */
export const withQuestions = async <P extends object>(
  reader: Reader,
  parameters: P & { readonly form?: string; readonly answered?: readonly Answered[] },
): Promise<P> => {
  const { form, answered } = parameters
  if (answered === undefined) return parameters
  const found: Answered[] = []
  for (const asked of answered)
    found.push({ ...asked, question: await questionOf(reader, form, asked.key, 'answered') })
  return { ...parameters, answered: found }
}
