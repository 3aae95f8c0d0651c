// The questions of entries: which there are, and which one a key stands for.
import { LRUCache } from 'lru-cache'
import type { Asked } from '../../schemas/entries.js'
import type { BsonList } from '../bson/reader.js'
import { fieldOf, stringOf } from '../bson/values.js'
import { type Condition, type Expression, Query, type Scope, type Stage } from '../pipelines/stages.js'
import { invalidParameter, tookTooLong } from '../problems/problems.js'
import { questionKey } from '../serializer/questions.js'
import { onTimeout } from './cost.js'

/** The most questions that are asked for together. Spreadsheets have 16,384 columns. */
export const MAX_QUESTIONS = 2000
/** How many characters of questions are kept. */
const KEPT_CHARACTERS = 16_000_000

export const isKey = (text: string): boolean => /^[\da-f]{12}$/.test(text)

/**
 * Makes a document of each question of entries, in the order of their mean place.
 * @param more what it has besides
 * @param before stages on the entries, of which only answers and times are read
 */
export const questionStages = (
  more: Readonly<Record<string, Expression>> = {},
  before: readonly Stage[] = [],
): Stage[] => [
  { $project: { answers: 1, createdAt: 1 } },
  ...before,
  { $unwind: { path: '$answers', includeArrayIndex: 'position' } },
  { $group: { _id: '$answers.question', position: { $avg: '$position' }, ...more } },
  { $sort: { position: 1, _id: 1 } },
  { $limit: MAX_QUESTIONS + 1 },
]

/** The questions of the entries that match. */
export const questionsQuery = (scope: Scope, conditions: readonly Condition[]): Query =>
  Query.in(scope, 'entries', conditions, questionStages())

/** The texts in the result of such a query. Undefined if they are too many. */
export const textsOf = ({ documents }: BsonList): string[] | undefined =>
  documents.length > MAX_QUESTIONS
    ? undefined
    : documents.flatMap(({ bytes }) => stringOf(bytes, fieldOf(bytes, 0, '_id')) ?? [])

/** The questions of a form of an organisation, by their keys. A key stands for one text for ever. */
const known = new LRUCache<string, ReadonlyMap<string, string>>({
  max: 10_000,
  maxSize: KEPT_CHARACTERS,
  sizeCalculation: (texts) => [...texts.values()].reduce((sum, text) => sum + text.length, 1),
})

/**
 * Finds the text of a question by its key.
 * @throws the problem `invalid_parameter` if there is no such question
 */
export const questionOf = async (
  scope: Scope,
  form: string | undefined,
  key: string,
  parameter: string,
  read: (query: Query) => Promise<BsonList>,
): Promise<string> => {
  if (form === undefined) throw invalidParameter(parameter, 'has the key of a question, so it must be given with form')
  const place = JSON.stringify([scope.organisation, form])
  const text = known.get(place)?.get(key)
  if (text !== undefined) return text
  // The key may be that of a new question.
  const list = await read(questionsQuery(scope, [{ form }])).catch(
    onTimeout(() => tookTooLong(` to find the question of ${parameter}: try again later`)),
  )
  const texts = textsOf(list)
  if (texts === undefined) throw invalidParameter('form', `has more than ${MAX_QUESTIONS} questions`)
  const found = new Map(texts.map((text) => [questionKey(text), text]))
  known.set(place, found)
  const asked = found.get(key)
  if (asked !== undefined) return asked
  throw invalidParameter(
    parameter,
    `has ${key}, but must have the key of a question of the form, as GET /v1/forms/{id}/questions has it`,
  )
}

/** The same listing with the texts of the questions that it asks for. */
export const withQuestions = async <L extends object>(
  scope: Scope,
  listing: L & { readonly form?: string; readonly answered?: readonly Asked[] },
  read: (query: Query) => Promise<BsonList>,
): Promise<L> => {
  const { form, answered } = listing
  if (answered === undefined) return listing
  const found: Asked[] = []
  for (const asked of answered)
    found.push({ ...asked, question: await questionOf(scope, form, asked.key, 'answered', read) })
  return { ...listing, answered: found }
}
