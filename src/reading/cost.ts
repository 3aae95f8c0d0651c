// What a list costs: whether an index serves it, and what a caller is told if the database takes too long for it.
import { hasIndex, type Index, isServed, type Selection, servingIndex } from '../documents/indexes.js'
import type { Resource } from '../pipelines/resource.js'
import { type Condition, type Listing, orderOf } from '../pipelines/stages.js'
import { type ProblemError, tookTooLong } from '../problems/problems.js'
import { QueryTimeout, type Store } from '../store/store.js'

type Known = Pick<Store, 'knownIndexes'>

/** A page of more records is large. One of 1,000 is as much work as twenty of the usual size. */
const LARGE_PAGE = 50

/** Whether a request for a list is large: it shows many records, or no index serves it. */
export const isLargeListing = <L extends Listing>(
  store: Known,
  { collection, conditions }: Resource<L>,
  listing: L,
): boolean => {
  const selection = selectionOf(conditions(listing), listing)
  const isFound = selection === undefined || isServed(selection, store.knownIndexes(collection))
  return listing.perPage > LARGE_PAGE || !isFound
}

/** What conditions select, or undefined if they find a few records by their ids. */
const selectionOf = (conditions: readonly Condition[], listing: Listing): Selection | undefined => {
  const equal: string[] = []
  const ranges: string[] = []
  for (const [field, value] of conditions.flatMap(fieldsOf)) {
    if (typeof value !== 'object' || value === null) equal.push(field)
    else if (!('$in' in value)) ranges.push(field)
    else if (field === '_id') return undefined
  }
  return { equal: [...new Set(equal)], ranges: [...new Set(ranges)], sort: orderOf(listing, false).field }
}

/** The fields of a condition, also inside of others. */
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

/** The problem of a list for which the database took too long: it names the parameters, and what would help. */
export const timeoutProblem = <L extends Listing>(store: Known, resource: Resource<L>, listing: L): ProblemError => {
  const { sortBy, page, cursor, after } = listing
  const isFar = page > 1 && cursor === undefined && after === undefined
  const given = resource.given ?? [
    ...resource.filters.filter((name) => listing[name as keyof L] !== undefined),
    ...(sortBy === 'id' ? [] : ['sortBy']),
    ...(isFar ? ['page'] : []),
  ]
  const names = given.length === 0 ? '' : ` for ${given.join(', ')}`
  const selection = selectionOf(resource.conditions(listing), listing)
  const indexes = store.knownIndexes(resource.collection)
  const advice = isFar ? 'read on with cursor instead of page' : adviceFor(resource.collection, selection, indexes)
  return tookTooLong(`${names}: ${advice}`)
}

const adviceFor = (collection: string, selection: Selection | undefined, indexes: readonly Index[]): string => {
  if (selection === undefined || isServed(selection, indexes)) return 'try again later'
  const index = servingIndex(selection)
  const fields = index.slice(1, -1)
  if (!hasIndex(indexes, index)) {
    // Records that are found by a range are sorted afterwards.
    const effect = isServed(selection, [index]) ? 'serve it' : 'help'
    return `the index '${collection}: ${fields.join(', ')}' would ${effect}, which the operator adds with db:indexes --add`
  }
  return fields.length === 1 ? `with sortBy=${fields}, an index serves it` : 'a narrower filter may help'
}
