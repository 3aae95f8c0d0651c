// Arguments of tools: parameters of operations, which an assistant reads in brief and gives as JSON.
import type { TObject, TSchema } from '@sinclair/typebox'
import { firstSentence, type Given } from '../core/door/tools.js'
import { invalidParameter } from '../core/problems/problems.js'

/** As an assistant reads them: types, words and first sentences. Some clients know no `additionalProperties`. */
export const inBrief = ({ properties, additionalProperties, ...schema }: TObject): object => {
  const brief = ({ type, enum: words, items, default: usual, description = '' }: TSchema) => ({
    type: ['array', 'integer'].includes(type) ? type : 'string',
    ...(words && { enum: words }),
    ...(items && { items: { type: 'string', ...(items.enum && { enum: items.enum }) } }),
    ...(usual !== undefined && { default: usual }),
    description: firstSentence(description),
  })
  const each = Object.entries(properties).map(([name, parameter]) => [name, brief(parameter)])
  return { ...schema, properties: Object.fromEntries(each) }
}

/** More arguments than any tool has, more values than any of them takes, and a longer text than a URL can have. */
const [MANY, LONG] = [50, 8000]

const faultOf = (value: unknown): string | undefined => {
  const values = [value].flat()
  if (values.length === 0) return 'must not be empty'
  if (values.length > MANY) return `must not have more than ${MANY} values`
  if (values.some((each) => typeof each === 'object')) return 'must be a text, a number, or a list of texts'
  return values.some((each) => String(each).length > LONG) ? `must not be longer than ${LONG} characters` : undefined
}

/**
 * Arguments as a query has its parameters: texts and lists of texts. Null counts as not given. If there are more arguments than
 * any tool has, the first ones are enough: some of them are unknown.
 * @throws the problem `invalid_parameter` for a value that no query can have
 */
export const textsOf = (given: object): Given => {
  const some = Object.entries(given).slice(0, MANY)
  const all = some.filter(([, value]) => value !== null)
  for (const [name, value] of all) {
    const fault = faultOf(value)
    if (fault !== undefined) throw invalidParameter(name, fault)
  }
  const textOf = (value: unknown) =>
    Array.isArray(value) && value.length > 1 ? value.map(String) : String([value].flat()[0])
  return Object.fromEntries(all.map(([name, value]) => [name, textOf(value)]))
}
