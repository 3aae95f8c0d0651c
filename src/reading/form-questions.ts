// The questions that were observed in the entries of a form, with their answers.
import type { Question } from '../../schemas/summaries.js'
import type { Ticket } from '../limits/scheduler.js'
import { type Expression, Query, type Scope, type Stage } from '../pipelines/stages.js'
import { invalidParameter, tookTooLong } from '../problems/problems.js'
import { questionKey } from '../serializer/questions.js'
import type { KeptTotals, Store } from '../store/store.js'
import { created, NOTHING, objectsOf, textOf } from './aggregates.js'
import { onTimeout } from './cost.js'
import { asLarge } from './listing.js'
import { MAX_QUESTIONS, questionStages } from './questions.js'

/** How many answers a question shows. */
const MAX_CHOICES = 1000

type Found = Pick<Question, 'types' | 'position' | 'answered'> &
  Record<'firstAnswered' | 'lastAnswered', Date | null> & { readonly _id: unknown }
interface FoundChoices {
  readonly _id: unknown
  readonly choices: readonly { readonly answer: string; readonly count: number }[]
  readonly distinct: number
  readonly count: number
}

const isGiven = (answer: Expression): Expression => ({ $ne: [{ $ifNull: [answer, NOTHING] }, NOTHING] })
/** In place of each answer the text of its question, or null where there is none. */
const answeredQuestions: Expression = {
  $cond: [
    { $isArray: '$answers' },
    { $map: { input: '$answers', in: { $cond: [isGiven('$$this.answer'), '$$this.question', NOTHING] } } },
    [],
  ],
}
/** Whether this is the first answer of the entry to the question. */
const isFirst: Expression = { $eq: [{ $indexOfArray: ['$answered', '$answers.question'] }, '$position'] }
const when: Expression = { $cond: [isGiven('$answers.answer'), created, NOTHING] }

const stages: readonly Stage[] = [
  { $set: { answered: answeredQuestions } },
  ...questionStages({
    types: { $addToSet: '$answers.type' },
    answered: { $sum: { $cond: [isFirst, 1, 0] } },
    firstAnswered: { $min: when },
    lastAnswered: { $max: when },
  }),
]

const choiceStages: readonly Stage[] = [
  { $unwind: { path: '$answers', includeArrayIndex: 'position' } },
  { $unwind: { path: '$answers.answer', includeArrayIndex: 'place' } },
  {
    $group: {
      _id: { question: '$answers.question', answer: textOf('$answers.answer') },
      count: { $sum: 1 },
    },
  },
  { $sort: { count: -1, '_id.answer': 1 } },
  {
    $group: {
      _id: '$_id.question',
      choices: { $firstN: { input: { answer: '$_id.answer', count: '$count' }, n: MAX_CHOICES } },
      distinct: { $sum: 1 },
      count: { $sum: '$count' },
    },
  },
]

/**
 * The questions of a form, in the order of their mean place.
 * @throws the problem `invalid_parameter` if they are too many
 */
export const formQuestions = async (
  store: Pick<Store & KeptTotals, 'aggregate' | 'count' | 'keep' | 'isQuick'>,
  scope: Scope,
  form: string,
  ticket: Ticket,
): Promise<{ questions: readonly Question[]; entries: number; asOf: Date }> => {
  const query = Query.in(scope, 'entries', [{ form }], stages)
  const read = async () => {
    const asOf = new Date()
    const found = await objectsOf<Found>(await store.aggregate(query))
    if (found.length > MAX_QUESTIONS) throw invalidParameter('id', `has more than ${MAX_QUESTIONS} questions`, 'path')
    const list = await store.aggregate(Query.in(scope, 'entries', [{ form }], choiceStages))
    const chosen = await objectsOf<FoundChoices>(list)
    const choices = new Map(chosen.map((each) => [each._id, each]))
    const questions = found.flatMap((each) => (typeof each._id === 'string' ? [questionOf(each, choices)] : []))
    return { questions, entries: await store.count(Query.in(scope, 'entries', [{ form }], [])), asOf, bytes: list.size }
  }
  return asLarge(store, query, ticket, () => store.keep(query, read)).catch(
    onTimeout(() => tookTooLong(' for the questions of this form: try again later')),
  )
}

const questionOf = (
  { _id, types, position, answered, firstAnswered, lastAnswered }: Found,
  all: ReadonlyMap<unknown, FoundChoices>,
): Question => {
  const { choices = [], distinct = 0, count = 0 } = all.get(_id) ?? {}
  return {
    key: questionKey(_id as string),
    question: _id as string,
    types: types.filter((type) => typeof type === 'string').sort(),
    position: position + 1,
    answered,
    distinct,
    choices: [...choices],
    others: count - choices.reduce((sum, { count }) => sum + count, 0),
    ...(firstAnswered && { firstAnswered: firstAnswered.toISOString() }),
    ...(lastAnswered && { lastAnswered: lastAnswered.toISOString() }),
  }
}
