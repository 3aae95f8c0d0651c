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

/** An argument as a text, or as a list of several. */
const textOf = (name: string, value: unknown): string | string[] => {
  const values = [value].flat()
  if (values.length === 0) throw invalidParameter(name, 'must not be empty')
  if (values.length > MANY) throw invalidParameter(name, `must not have more than ${MANY} values`)
  if (values.some((each) => typeof each === 'object'))
    throw invalidParameter(name, 'must be a text, a number, or a list of texts')
  if (values.some((each) => String(each).length > LONG))
    throw invalidParameter(name, `must not be longer than ${LONG} characters`)
  return values.length > 1 ? values.map(String) : String(values[0])
}

/**
 * Arguments as a query has its parameters: texts and lists of texts. Null counts as not given. If there are more arguments than
 * any tool has, the first ones are enough: some of them are unknown.
 * @throws the problem `invalid_parameter` for a value that no query can have
 */
export const textsOf = (given: object): Given => {
  const some = Object.entries(given).slice(0, MANY)
  return Object.fromEntries(some.flatMap(([name, value]) => (value === null ? [] : [[name, textOf(name, value)]])))
}
