// Arguments of tools: parameters of operations, which an assistant reads in brief and gives as JSON.
import type { TObject, TSchema } from '@sinclair/typebox'
import { invalidParameter } from '../problems/problems.js'

export type Given = Readonly<Record<string, unknown>>

export const firstSentence = (description: string): string => description.split(/(?<=\.) /)[0] as string

/** Arguments as an assistant reads them: types, words, and the first sentence of each description. */
export const inBrief = ({ properties, ...schema }: TObject): object => {
  const brief = ({ type, enum: words, items, description = '' }: TSchema) => ({
    type: ['array', 'integer'].includes(type) ? type : 'string',
    ...(words && { enum: words }),
    ...(items && { items: { type: 'string', ...(items.enum && { enum: items.enum }) } }),
    description: firstSentence(description),
  })
  const each = Object.entries(properties).map(([name, parameter]) => [name, brief(parameter)])
  return { ...schema, properties: Object.fromEntries(each) }
}

/**
 * Arguments as a query has its parameters: texts and lists of texts. What is null is not given.
 * @throws the problem `invalid_parameter` for an object
 */
export const textsOf = (given: object): Given => {
  const all = Object.entries(given).filter(([, value]) => value !== null)
  const wrong = all.find(([, value]) => [value].flat().some((each) => typeof each === 'object'))
  if (wrong !== undefined) throw invalidParameter(wrong[0], 'must be a text, a number, or a list of texts')
  return Object.fromEntries(
    all.map(([name, value]) => [name, Array.isArray(value) ? value.map(String) : String(value)]),
  )
}
