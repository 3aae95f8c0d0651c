// What an assistant means: a record by its name, a value in another case, and a day as a time. What no entry has is an error
// that says what there is.
import type { Answered } from '../../schemas/entries.js'
import { BESIDE } from '../../schemas/kit.js'
import { viewOf } from '../../schemas/views.js'
import { hasAny } from '../operations/list.js'
import { resources } from '../pipelines/index.js'
import type { ReferencesTo } from '../pipelines/joins.js'
import { isInScope } from '../pipelines/stages.js'
import { invalidParameter, ProblemError } from '../problems/problems.js'
import { beginningOf } from '../reading/local-time.js'
import { withQuestions } from '../reading/question-keys.js'
import type { Reader } from '../reading/reader.js'
import type { Selection } from '../reading/selection.js'
import { type Named, namesOf, summaryOf } from '../reading/summaries.js'
import type { Given } from './arguments.js'
import { valuesOf } from './values.js'

const { entries } = resources
/** How many names or values are compared, how many an error lists, and how many records of one name are read. */
const [MOST_NAMES, MOST_ALLOWED, MOST_TWINS] = [1000, 100, 50]
/** Nobody means a longer value. */
const MOST_CHARACTERS = 200

/** What the filters by an id find, and the parts of its name. */
const named = Object.fromEntries(
  (entries.item.beside as readonly ReferencesTo[]).map(({ from, fields, shown }) => [
    (fields[0] as string).slice(0, -BESIDE.length),
    { resource: resources[from as keyof typeof resources], shown },
  ]),
)
/** By what entries are counted to find the values of a filter. */
const counted: Readonly<Record<string, string>> = {
  status: 'status',
  ...Object.fromEntries(['country', 'state', 'lga', 'city'].map((name) => [name, `location.${name}`])),
}

const wrong = (name: string, message: string, allowed: string[]) => invalidParameter(name, message, 'query', allowed)

/** A text without what people leave out: cases, accents and spaces. */
const plain = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/[\p{M}\s]/gu, '')
    .toLowerCase()
const isLike = (text: string): ((other: string) => boolean) => {
  const wanted = plain(text)
  return (other) => plain(other) === wanted
}
/** Those that have a text in them, or begin it, come first. */
const nearestTo = (text: string, all: readonly string[]): string[] => {
  const wanted = plain(text)
  const near = all.filter((each) => plain(each).includes(wanted) || (each && wanted.startsWith(plain(each))))
  return [...new Set([...near, ...all])].slice(0, MOST_ALLOWED)
}

/** The records that entries name most often, for a key that sees their names. */
export const namesInEntries = async (reader: Reader, by: string) => {
  const counted = await summaryOf(reader, { by: [by], zone: 'UTC', top: MOST_NAMES })
  const ids = counted.shown.map(({ values }) => values[0])
  const names = (await namesOf(reader, by, ids)) as ReadonlyMap<unknown, Named>
  return [...names].map(([id, { name }]) => ({ id: String(id), name }))
}

/** @throws the problem `invalid_parameter` if there is no such record, or several have the name */
const idMeant = async (reader: Reader, name: string, given: string): Promise<string> => {
  const { resource, shown } = named[name] as (typeof named)[string]
  const { collection, article } = resource
  const isListed = isInScope(collection, reader.scope)
  // Entries may have the id of a record that is gone.
  if (isListed && (await hasAny(reader, resource, resource.conditions({ ids: [given] })))) return given
  if (await hasAny(reader, entries, entries.conditions({ [name]: given }))) return given
  const parts = Object.keys(viewOf(reader.scope.without).shown(shown).properties)
  if (parts.length === 0)
    throw wrong(name, `is not the id of ${article} ${resource.name}, and the key sees no names`, [])
  const namesBy = async (conditions: Selection['conditions'], perPage: number) => {
    const selection = { ...reader.select(resource, { fields: parts, sortOrder: 'desc' }), conditions }
    const { rows } = await reader.page(selection, { page: 1, perPage, isWalk: false })
    const values = await valuesOf(rows, selection.projection, reader.ticket, () => {})
    return values.map((value) => ({ id: String(value.id), name: parts.map((part) => value[part]).join(' ') }))
  }
  // Each place at which a name may be divided in two is a condition, so only the first ones count.
  const spaces = [...given.slice(0, MOST_CHARACTERS).matchAll(/ /g)].map(({ index }) => [
    given.slice(0, index),
    given.slice(index + 1),
  ])
  const exact = (parts.length === 1 ? [[given]] : spaces).map((texts) =>
    Object.fromEntries(parts.map((part, i) => [part, texts[i]])),
  )
  let found = !isListed || exact.length === 0 ? [] : await namesBy({ [name]: { $or: exact } }, MOST_TWINS)
  if (found.length === 0) {
    const some = isListed ? await namesBy({}, MOST_NAMES) : await namesInEntries(reader, name)
    const all = some.filter((each) => each.name.length <= MOST_CHARACTERS)
    const isSame = isLike(given)
    found = all.filter(({ name }) => isSame(name))
    const message = `is neither the id nor the name of ${article} ${resource.name}: allowed has names`
    const names = all.map((each) => each.name)
    if (found.length === 0) throw wrong(name, message, nearestTo(given, names))
  }
  const [{ id }, ...others] = found as [(typeof found)[number], ...typeof found]
  if (others.length === 0) return id
  const ids = found.map((each) => each.id)
  throw wrong(name, `is the name of several ${collection}: allowed has their ids`, ids)
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
  const { largest } = await summaryOf(reader, counting).catch((error) => {
    // There are too many values, or to count them takes too long.
    if (error instanceof ProblemError) return { largest: [] }
    throw error
  })
  const texts = largest.slice(0, MOST_NAMES).map(({ values: [value] }) => value)
  const values = texts.filter((value) => typeof value === 'string' && value.length <= MOST_CHARACTERS) as string[]
  const same = values.filter(isLike(given))
  if (same.length === 1 || values.length === 0) return same[0] ?? given
  throw wrong(name, 'has a value that no entry has: allowed has those of entries', nearestTo(given, values))
}

export const isTime = (name: string): boolean => /(Since|Before)$/.test(name)

/** @throws the problem `invalid_parameter` if no time is in a range: whoever gives a day twice means all of it */
const checkRanges = (times: Given): void => {
  for (const field of ['created', 'updated']) {
    const [since, before] = [times[`${field}Since`], times[`${field}Before`]] as (Date | undefined)[]
    const message = `must be later than ${field}Since: a day stands for its beginning`
    if (since && before && since >= before) throw invalidParameter(`${field}Before`, message)
  }
}

/**
 * The ids, the values and the times that some arguments stand for, by the names of the arguments. A day stands for its beginning.
 * @throws the problem `invalid_parameter` for what nobody can mean
 */
export const meantBy = async (reader: Reader, given: Given): Promise<Given> => {
  const meant: Record<string, unknown> = {}
  const { zone = 'UTC' } = given
  for (const [name, value] of Object.entries(given)) {
    if (isTime(name)) meant[name] = typeof value === 'string' ? await beginningOf(value, String(zone)) : value
    if (name in named) meant[name] = await idMeant(reader, name, String(value))
    if (name in counted)
      meant[name] = await valueMeant(reader, name, String(value), { [name]: value }, counted[name] as string)
  }
  if (given.answered !== undefined) {
    const { form = given.form } = meant
    const answered: Answered[] = []
    for (const { key, answer } of given.answered as Answered[]) {
      const filters = { form, answered: [{ key, answer }] }
      answered.push(
        answer === undefined ? { key } : { key, answer: await valueMeant(reader, 'answered', answer, filters, key) },
      )
    }
    meant.answered = answered
  }
  checkRanges(meant)
  return meant
}
