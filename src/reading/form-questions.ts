// The questions that were observed in the entries of a form, with their answers.
import type { Question } from '../../schemas/summaries.js'
import type { Ticket } from '../limits/scheduler.js'
import { type Expression, Query, type Scope, type Stage } from '../pipelines/stages.js'
import { invalidParameter, tookTooLong } from '../problems/problems.js'
import { questionKey } from '../serializer/questions.js'
import type { KeptTotals, Store } from '../store/store.js'
import { created, NOTHING, objectsOf, shownText, textOf } from './aggregates.js'
import { onTimeout } from './cost.js'
import { asLarge } from './listing.js'
import { MAX_QUESTIONS, questionStages } from './questions.js'

/** How many answers a question shows. */
const MAX_CHOICES = 1000
/** The most groups of equal answers, or of questions that are asked together, that are read. */
const MAX_GROUPS = 20_000

type Found = Pick<Question, 'types' | 'position' | 'answered'> &
  Record<'firstAnswered' | 'lastAnswered', Date | null> & { readonly _id: unknown }
interface FoundChoices {
  readonly _id: unknown
  readonly choices: readonly { readonly answer: string | null; readonly count: number }[]
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

const stages: readonly Stage[] = questionStages(
  {
    types: { $addToSet: '$answers.type' },
    answered: { $sum: { $cond: [isFirst, 1, 0] } },
    firstAnswered: { $min: when },
    lastAnswered: { $max: when },
  },
  [{ $set: { answered: answeredQuestions } }],
)

const isNoText: Expression = { $eq: ['$_id.answer', NOTHING] }
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
      distinct: { $sum: { $cond: [isNoText, 0, 1] } },
      count: { $sum: { $cond: [isNoText, 0, '$count'] } },
    },
  },
]

const askedStages: readonly Stage[] = [
  { $group: { _id: '$answers.question', count: { $sum: 1 } } },
  { $limit: MAX_GROUPS + 1 },
]
const answerStages: readonly Stage[] = [
  { $project: { answers: 1, createdAt: 1 } },
  { $unwind: { path: '$answers', includeArrayIndex: 'position' } },
  {
    $group: {
      _id: '$answers',
      count: { $sum: 1 },
      places: { $sum: '$position' },
      first: { $min: '$createdAt' },
      last: { $max: '$createdAt' },
    },
  },
  { $limit: MAX_GROUPS + 1 },
]

interface Observed {
  readonly found: readonly Found[]
  readonly chosen: readonly FoundChoices[]
  readonly bytes: number
}
type Reads = Pick<Store & KeptTotals, 'aggregate' | 'count' | 'keep' | 'isQuick'>

/** What the database counts of all answers. */
const observed = async (store: Reads, scope: Scope, form: string): Promise<Observed> => {
  const found = await objectsOf<Found>(await store.aggregate(Query.in(scope, 'entries', [{ form }], stages)))
  const list = await store.aggregate(Query.in(scope, 'entries', [{ form }], choiceStages))
  return { found, chosen: await objectsOf<FoundChoices>(list), bytes: list.size }
}

interface Answers extends Record<'first' | 'last', unknown> {
  readonly _id: { readonly question?: unknown; readonly type?: unknown; readonly answer?: unknown } | null
  readonly count: number
  readonly places: number
}

/**
 * The same of groups of equal answers, which is several times as fast. Undefined where these are very many, or where an entry
 * answers a question twice.
 */
const observedInGroups = async (store: Reads, scope: Scope, form: string): Promise<Observed | undefined> => {
  const read = async (stages: readonly Stage[]) => store.aggregate(Query.in(scope, 'entries', [{ form }], stages))
  const askedTogether = await objectsOf<{ _id: unknown }>(await read(askedStages))
  const isOnce = ({ _id = null }: { _id?: unknown }) =>
    _id === null || (Array.isArray(_id) && new Set(_id).size === _id.length)
  if (askedTogether.length > MAX_GROUPS || !askedTogether.every(isOnce)) return undefined
  const list = await read(answerStages)
  const groups = await objectsOf<Answers>(list)
  const hasTimes = ({ first, last }: Answers) => first instanceof Date && last instanceof Date
  if (groups.length > MAX_GROUPS || !groups.every(hasTimes)) return undefined
  const found = new Map<string, Found & { count: number; words: Map<string, number> }>()
  for (const { _id, count, places, first, last } of groups) {
    const { question, type, answer = null } = _id ?? {}
    if (typeof question !== 'string') continue
    const none = {
      _id: question,
      types: [],
      position: 0,
      count: 0,
      answered: 0,
      firstAnswered: null,
      lastAnswered: null,
    }
    const before = found.get(question) ?? { ...none, words: new Map<string, number>() }
    const { words, types, firstAnswered, lastAnswered } = before
    for (const word of answer === null ? [] : [answer].flat()) {
      const text = shownText(word)
      if (text !== null) words.set(text, count + (words.get(text) ?? 0))
    }
    const isEarlier = answer !== null && (firstAnswered === null || (first as Date) < firstAnswered)
    const isLater = answer !== null && (lastAnswered === null || (last as Date) > lastAnswered)
    found.set(question, {
      ...before,
      types: typeof type !== 'string' || types.includes(type) ? types : [...types, type],
      position: (before.position * before.count + places) / (before.count + count),
      count: before.count + count,
      answered: before.answered + (answer === null ? 0 : count),
      firstAnswered: isEarlier ? (first as Date) : firstAnswered,
      lastAnswered: isLater ? (last as Date) : lastAnswered,
    })
  }
  const chosen = [...found.values()].map(({ _id, words }) => {
    const all = [...words].map(([answer, count]) => ({ answer, count }))
    all.sort((a, b) => b.count - a.count || (a.answer < b.answer ? -1 : 1))
    const count = all.reduce((sum, { count }) => sum + count, 0)
    return { _id, choices: all.slice(0, MAX_CHOICES), distinct: all.length, count }
  })
  const inOrder = [...found.values()].sort((a, b) => a.position - b.position)
  return { found: inOrder, chosen, bytes: list.size }
}

/**
 * The questions of a form, in the order of their mean place.
 * @throws the problem `invalid_parameter` if they are too many
 */
export const formQuestions = async (
  store: Reads,
  scope: Scope,
  form: string,
  ticket: Ticket,
): Promise<{ questions: readonly Question[]; entries: number; asOf: Date }> => {
  const ofForm = Query.in(scope, 'entries', [{ form }], stages)
  const read = async () => {
    const asOf = new Date()
    const { found, chosen, bytes } =
      (await observedInGroups(store, scope, form)) ?? (await observed(store, scope, form))
    if (found.length > MAX_QUESTIONS) throw invalidParameter('id', `has more than ${MAX_QUESTIONS} questions`, 'path')
    const choices = new Map(chosen.map((each) => [each._id, each]))
    const questions = found.flatMap((each) => (typeof each._id === 'string' ? [questionOf(each, choices)] : []))
    // Of another query: this one waits for what is read here.
    const entries = await store.count(Query.in(scope, 'entries', [{ form }], []))
    return { questions, entries, asOf, bytes }
  }
  return asLarge(store, ofForm, ticket, () => store.keep(ofForm, read)).catch(
    onTimeout(() => tookTooLong(' for the questions of this form: try again later')),
  )
}

const questionOf = (
  { _id, types, position, answered, firstAnswered, lastAnswered }: Found,
  all: ReadonlyMap<unknown, FoundChoices>,
): Question => {
  const { choices: found = [], distinct = 0, count = 0 } = all.get(_id) ?? {}
  const choices = found.flatMap(({ answer, count }) => (answer === null ? [] : [{ answer, count }]))
  return {
    key: questionKey(_id as string),
    question: _id as string,
    types: types.filter((type) => typeof type === 'string').sort(),
    position: position + 1,
    answered,
    distinct,
    choices,
    others: count - choices.reduce((sum, { count }) => sum + count, 0),
    ...(firstAnswered && { firstAnswered: firstAnswered.toISOString() }),
    ...(lastAnswered && { lastAnswered: lastAnswered.toISOString() }),
  }
}
