// What an assistant means: a record by its name, a question by its text, a value in another case, and a day as a time. What no
// entry has is an error that says what there is.
import type { Answered } from '../../schemas/entries.js'
import { viewOf } from '../../schemas/views.js'
import { type Given, isTime } from '../core/door/tools.js'
import { resources } from '../core/pipelines/index.js'
import { isInScope } from '../core/pipelines/stages.js'
import { invalidParameter, tookTooLong, unlessProblem } from '../core/problems/problems.js'
import { onTimeout } from '../core/read/cost.js'
import { formQuestions } from '../core/read/form-questions.js'
import { hasAny, listOf, valuesOf } from '../core/read/list.js'
import { beginningOf } from '../core/read/local-time.js'
import { MOST_NAMES, namesInEntries } from '../core/read/names.js'
import { withQuestions } from '../core/read/question-keys.js'
import type { Reader } from '../core/read/reader.js'
import type { Selection } from '../core/read/selection.js'
import { summaryOf } from '../core/read/summaries.js'
import { questionMeant, questionsMeant } from './questions.js'
import { invalidWithChoices, isLike, MOST_CHARACTERS, MOST_TOLD, nearestTo, quoted, taken } from './spelling.js'

const { entries } = resources
const MOST_TWINS = 50

/** What the filters by an id find, and the fields of its name. */
const named = Object.fromEntries(
  Object.entries((entries.item as Required<typeof entries.item>).joined).map(([name, { from, shown }]) => [
    name,
    { resource: resources[from as keyof typeof resources], shown },
  ]),
)
/** By what entries are counted to find the values of a filter. */
const counted: Readonly<Record<string, string>> = {
  status: 'status',
  ...Object.fromEntries(['country', 'state', 'lga', 'city'].map((name) => [name, `location.${name}`])),
}

/** What people know of a record: how many entries it has, and when and in which project the newest one was made. */
const knownOf = async (reader: Reader, name: string, id: string): Promise<string> => {
  const newest = { sortBy: 'createdAt', fields: ['createdAt', 'project'], expand: ['project'], perPage: 1 }
  const { total, rows } = await listOf(reader, entries, { [name]: id, ...newest })
  const [{ createdAt, project } = {}] = rows as { createdAt?: string; project?: { name?: string } }[]
  const facts = [
    `entries: ${total}`,
    createdAt && `newest: ${createdAt}`,
    project?.name && `its project: ${quoted(project.name)}`,
  ]
  return `${id} (${facts.filter(Boolean).join(', ')})`
}

/** `say` takes what the result says of it. Without such a record, or with several, it throws `invalid_parameter`. */
const idMeant = async (reader: Reader, name: string, given: string, say: (note: string) => void): Promise<string> => {
  const { resource, shown } = named[name] as (typeof named)[string]
  const { collection, article } = resource
  const isListed = isInScope(collection, reader.scope)
  // Entries may have the id of a record that is gone.
  const isId =
    (isListed && (await hasAny(reader, resource, resource.conditions({ ids: [given] })))) ||
    (await hasAny(reader, entries, entries.conditions({ [name]: given })))
  const fields = Object.keys(viewOf(reader.scope.without).shown(shown).properties)
  if (isId && fields.length === 0) return given
  if (fields.length === 0)
    throw invalidWithChoices(name, `is not the id of ${article} ${resource.name}, and the key sees no names`, [])
  const namesBy = async (conditions: Selection['conditions'], perPage: number) => {
    const selection = { ...reader.select(resource, { fields, sortOrder: 'desc' }), conditions }
    const { rows } = await reader.page(selection, { page: 1, perPage })
    const values = await valuesOf(rows, selection.projection, reader.ticket, () => {})
    return values.map((value) => ({ id: String(value.id), name: fields.map((field) => value[field]).join(' ') }))
  }
  // Each place at which a name may be divided in two is a condition, so only the first ones count.
  const spaces = [...given.slice(0, MOST_CHARACTERS).matchAll(/ /g)]
  const divided = spaces.map(({ index }) => [given.slice(0, index), given.slice(index + 1)])
  const $or = (fields.length === 1 ? [[given]] : divided).map((texts) =>
    Object.fromEntries(fields.map((field, i) => [field, texts[i]])),
  )
  const exactly = { [name]: { $or } }
  if (isId) {
    // Mostly it is no name, which is kept.
    const count = () => reader.count({ resource, conditions: exactly }).catch(onTimeout(() => tookTooLong('')))
    const isName = isListed && $or.length > 0 && (await unlessProblem(count()))
    const others = isName ? (await namesBy(exactly, MOST_TWINS)).filter(({ id }) => id !== given) : []
    const ids = others.map(({ id }) => quoted(id)).join(', ')
    if (ids !== '') say(`${name} ${quoted(given)} was taken for an id, but it is also the name of ${ids}`)
    return given
  }
  let found = !isListed || $or.length === 0 ? [] : await namesBy(exactly, MOST_TWINS)
  if (found.length === 0) {
    const some = isListed ? await namesBy({}, MOST_NAMES) : await namesInEntries(reader, name)
    const all = some.filter((each) => each.name.length <= MOST_CHARACTERS)
    const isSame = isLike(given)
    found = all.filter(({ name }) => isSame(name))
    const message = `is neither the id nor the name of ${article} ${resource.name}: allowed has names`
    const names = all.map((each) => each.name)
    if (found.length === 0) throw invalidWithChoices(name, message, nearestTo(given, names))
  }
  const ids = found.map(({ id }) => id)
  if (ids.length === 1) {
    const [one] = found as [(typeof found)[number]]
    if (one.name !== given) say(taken(name, given, one.name))
    return one.id
  }
  const known: string[] = []
  for (const id of ids.slice(0, MOST_TOLD)) known.push((await unlessProblem(knownOf(reader, name, id))) ?? id)
  const message = `is the name of several ${collection}, and allowed has their ids: ${known.join('; ')}`
  throw invalidWithChoices(name, message, ids)
}

/**
 * @param filters that by the value, with what it needs beside it
 * @param by what counts entries by such values
 * @throws the problem `invalid_parameter` if no entry has the value, though entries have others
 */
const valueMeant = async (reader: Reader, name: string, given: string, filters: Given, by: string): Promise<string> => {
  if (await hasAny(reader, entries, entries.conditions(await withQuestions(reader, filters)))) return given
  const { form } = filters as { form?: string }
  const counting = { by: [by], zone: 'UTC', ...(form !== undefined && { form }) }
  // There may be too many values, or to count them may take too long.
  const { largest = [] } = (await unlessProblem(summaryOf(reader, counting))) ?? {}
  const texts = largest.slice(0, MOST_NAMES).map(({ values: [value] }) => value)
  const values = texts.filter((value) => typeof value === 'string' && value.length <= MOST_CHARACTERS) as string[]
  const like = values.filter(isLike(given))
  const inOtherCase = like.filter((value) => value.toLowerCase() === given.toLowerCase())
  const same = inOtherCase.length === 1 ? inOtherCase : like
  if (same.length === 1 || values.length === 0) return same[0] ?? given
  if (same.length > 1)
    throw invalidWithChoices(name, 'has a value that several values are like: allowed has them', same)
  const message = 'has a value that no entry has: allowed has those of entries'
  throw invalidWithChoices(name, message, nearestTo(given, values))
}

/** @throws the problem `invalid_parameter` if no time is in a range: whoever gives a day twice means all of it */
const checkRanges = (times: Given): void => {
  for (const field of ['created', 'updated']) {
    const [since, before] = [times[`${field}Since`], times[`${field}Before`]] as (Date | undefined)[]
    const message = `must be later than ${field}Since: a day stands for its beginning`
    if (since && before && since >= before) throw invalidParameter(`${field}Before`, message)
  }
}

/**
 * The ids, the keys, the values and the times that some arguments stand for, by the names of the arguments, and what the
 * result says of them. A day stands for its beginning.
 * @param asked the texts of questions by the keys that stand in their place
 * @throws the problem `invalid_parameter` for what nobody can mean
 */
export const meantBy = async (
  reader: Reader,
  given: Given,
  asked: ReadonlyMap<string, string>,
): Promise<{ meant: Given; notes: string[] }> => {
  const meant: Record<string, unknown> = {}
  const notes: string[] = []
  const say = (note: string) => notes.push(note)
  const spelled = async (name: string, value: string, filters: Given, by: string) => {
    const found = await valueMeant(reader, name, value, filters, by)
    if (found !== value) say(taken(name, value, found))
    return found
  }
  const { zone = 'UTC' } = given
  for (const [name, value] of Object.entries(given)) {
    if (isTime(name)) meant[name] = typeof value === 'string' ? await beginningOf(value, String(zone)) : value
    if (name in named) meant[name] = await idMeant(reader, name, String(value), say)
    if (name in counted) meant[name] = await spelled(name, String(value), { [name]: value }, counted[name] as string)
  }
  const { form = given.form } = meant
  const askedFor = async (name: string, given: Answered): Promise<Answered> => {
    const text = asked.get(given.key)
    return text === undefined ? given : questionMeant(reader, String(form), name, text, say)
  }
  if (given.measure !== undefined) meant.measure = (await askedFor('measure', { key: String(given.measure) })).key
  if (given.by !== undefined) {
    const by: string[] = []
    for (const key of given.by as string[]) by.push((await askedFor('by', { key })).key)
    if (new Set(by).size < by.length) throw invalidParameter('by', 'must not have the same value twice')
    meant.by = by
  }
  if (given.answered !== undefined) {
    const answered: Answered[] = []
    for (const each of given.answered as Answered[]) {
      const { key, answer } = await askedFor('answered', each)
      const filters = { form, answered: [{ key, answer }] }
      answered.push(answer === undefined ? { key } : { key, answer: await spelled('answered', answer, filters, key) })
    }
    meant.answered = answered
  }
  if (given.question !== undefined) {
    const { questions } = await formQuestions(reader, String(form))
    const found = await questionsMeant(reader, questions, 'question', String(given.question))
    meant.question = found.map(({ key }) => key)
  }
  checkRanges(meant)
  return { meant, notes }
}
