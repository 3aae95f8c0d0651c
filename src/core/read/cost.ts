// What a list costs: whether an index serves it, and what a caller is told if the database takes too long for it.
import { hasIndex, type Index, type IndexNeed, isServed, servingIndex } from '../documents/indexes.js'
import type { Condition } from '../pipelines/stages.js'
import { type ProblemError, tookTooLong } from '../problems/problems.js'
import { QueryTimeout, type Store } from '../store/store.js'
import type { Selection } from './selection.js'

type Known = Pick<Store, 'knownIndexes'>

/** A page of more records is large. One of 1,000 is as much work as twenty of the usual size. */
const LARGE_PAGE = 50

/** Whether a page of a list is large: it shows many records, or no index serves the list. */
export const isLargePage = (store: Known, selection: Selection, perPage: number): boolean => {
  const need = needOf(selection)
  const isFound = need === undefined || isServed(need, store.knownIndexes(selection.resource.collection))
  return perPage > LARGE_PAGE || !isFound
}

/** What a selection needs of an index, or undefined if it finds a few records by their ids. */
const needOf = ({ conditions, order, within = [] }: Selection): IndexNeed | undefined => {
  if (within.includes('_id')) return undefined
  const equal: string[] = [...within]
  const ranges: string[] = []
  for (const [field, value] of Object.values(conditions).flatMap(fieldsOf)) {
    if (typeof value !== 'object' || value === null) equal.push(field)
    else if (!('$in' in value)) ranges.push(field)
    else if (field === '_id') return undefined
  }
  return { equal: [...new Set(equal)], ranges: [...new Set(ranges)], sort: order.field }
}

const fieldsOf = (condition: Condition): [string, unknown][] =>
  Object.entries(condition).flatMap(([field, value]): [string, unknown][] => {
    if (field === '$or' || field === '$and') return (value as Condition[]).flatMap(fieldsOf)
    const { $elemMatch: inner = {} } = (value ?? {}) as { $elemMatch?: Condition }
    // Some databases index each pair of two fields of an array, so one of them has to do: the last whose value is known.
    const found = Object.entries(inner).findLast(([, each]) => typeof each === 'string')
    return found === undefined ? [[field, value]] : [[`${field}.${found[0]}`, found[1]]]
  })

/** Throws the problem of a read for which the database took too long, or any other error as it is. */
export const onTimeout =
  (toProblem: () => ProblemError) =>
  (error: unknown): never => {
    throw error instanceof QueryTimeout ? toProblem() : error
  }

/** Names the parameters of a list that took too long, and what would help. A far page skips the rows before it. */
export const timeoutProblem = (store: Known, selection: Selection, isFar: boolean): ProblemError => {
  const { resource, conditions, order, given } = selection
  const sorted = order.field === '_id' ? [] : ['sortBy']
  const names = given ?? [...Object.keys(conditions), ...sorted, ...(isFar ? ['page'] : [])]
  const indexes = store.knownIndexes(resource.collection)
  const advice = isFar
    ? 'read on with cursor instead of page'
    : adviceFor(resource.collection, needOf(selection), indexes)
  return tookTooLong(`${names.length === 0 ? '' : ` for ${names.join(', ')}`}: ${advice}`)
}

const adviceFor = (collection: string, need: IndexNeed | undefined, indexes: readonly Index[]): string => {
  if (need === undefined || isServed(need, indexes)) return 'try again later'
  const index = servingIndex(need)
  const fields = index.slice(1, -1)
  if (!hasIndex(indexes, index)) {
    // Records that are found by a range are sorted afterwards.
    const effect = isServed(need, [index]) ? 'serve it' : 'help'
    return `the index '${collection}: ${fields.join(', ')}' would ${effect}, if the operator adds it`
  }
  return fields.length === 1 ? `with sortBy=${fields}, an index serves it` : 'a narrower filter may help'
}
