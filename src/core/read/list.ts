// A page of a list by its parameters, its total, and what its filters do not match.
import type { Listing } from '../../../schemas/common.js'
import type { Resource } from '../pipelines/resource.js'
import { tookTooLong, unlessProblem } from '../problems/problems.js'
import { onTimeout } from './cost.js'
import { totalOf } from './page.js'
import { withQuestions } from './question-keys.js'
import type { Counted, Reader } from './reader.js'
import type { Selection } from './selection.js'
import { tokensOf } from './token.js'

/** The page that a list asks for, and its total, which is undefined where it does not ask for one. */
export const readList = async (reader: Reader, resource: Resource, parameters: Listing) => {
  const filters = await withQuestions(reader, parameters)
  const tokens = tokensOf(reader.scope, resource.operationIds.list, filters)
  const selection = reader.select(resource, filters)
  const page = await reader.page(selection, parameters, tokens.start)
  const isCounted = (parameters.total ?? (parameters.cursor === undefined ? 'true' : 'false')) === 'true'
  const tooLong = () => tookTooLong(' to count the records: total=false leaves the total out')
  const counted = isCounted ? await reader.count(selection).catch(onTimeout(tooLong)) : undefined
  const total = counted === undefined ? undefined : totalOf(parameters, page, counted)
  return { page, total, selection, tokens }
}

export const hasAny = async (reader: Reader, resource: Resource, conditions: Selection['conditions']) => {
  const selection = { ...reader.select(resource, { fields: ['id'] }), conditions }
  return (await reader.page(selection, { page: 1, perPage: 1 })).rows.length > 0
}

/** The filters whose value may be a mistake: no record at all may have it. */
const CHECKED = ['status', 'dispatch', 'form', 'project', 'agent']

/** The names of the filters that match no record, whatever else is asked for. One that takes too long is not among them. */
export const unmatchedIn = async (reader: Reader, { resource, conditions }: Counted): Promise<string[]> => {
  const unmatched: string[] = []
  for (const name of CHECKED) {
    const condition = conditions[name]
    if (condition === undefined) continue
    const isMatched = await unlessProblem(hasAny(reader, resource, { [name]: condition }))
    if (isMatched === false) unmatched.push(name)
  }
  return unmatched
}
