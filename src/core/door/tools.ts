// What a tool of an assistant is, and the arguments that several tools take, as an assistant reads them.
import { type TProperties, type TSchema, Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { commonFilters } from '../../../schemas/common.js'
import { EntryListQuery, entryFilters } from '../../../schemas/entries.js'
import { select } from '../../../schemas/kit.js'
import { SummaryQuery } from '../../../schemas/summaries.js'
import { MOST_RECORDS } from '../read/list.js'

export type Given = Readonly<Record<string, unknown>>

/** What a tool gives, before it is cut. */
export interface ToolResult extends Given {
  /** How many items some of its lists would have, if none were left out. */
  readonly of?: Readonly<Record<string, number>>
}

export interface Tool {
  readonly description: string
  readonly takes: TProperties
  readonly gives: TProperties
  /** @param texts the query as it was given */
  readonly call: (request: FastifyRequest, query: Given, texts: Given) => Promise<ToolResult>
}

export const firstSentence = (description: string): string => description.split(/(?<=\.) /)[0] as string

export const isTime = (name: string): boolean => /(Since|Before)$/.test(name)

export const list = EntryListQuery({ page: 1, perPage: 1, maxPerPage: MOST_RECORDS })
const parameters: TProperties = { ...list.properties, ...SummaryQuery.properties }
/** A parameter as an assistant knows it. Each word of a filter is read in three tools. */
export const inWords = (names: readonly string[], description: string, more = {}) =>
  Object.fromEntries(names.map((name) => [name, { ...parameters[name], description, ...more } as TSchema]))
/** The first sentence of a parameter that takes a question. What begins alike is said once. */
export const ofQuestions = (name: string) => {
  const sentence = firstSentence(String(parameters[name]?.description))
  return sentence.replace('the key of a question', 'a question').replace(/(?<=(\w+):\S+), \1:/g, '|')
}
const times = inWords(Object.keys(commonFilters).filter(isTime), 'Day or time.', { format: 'day-or-time' })
export const form = Type.String({ minLength: 1, description: 'Id or name.' })
const byId = Object.fromEntries(['form', 'project', 'dispatch', 'agent'].map((name) => [name, Type.Optional(form)]))
export const filters = {
  ...select(list, [...Object.keys(entryFilters), 'answered']).properties,
  ...inWords(['status'], 'One status.'),
  ...inWords(['country', 'state', 'lga', 'city'], 'A name.'),
  ...inWords(['answered'], 'An answered question, or QUESTION=ANSWER. Needs form.'),
  ...inWords(['zone'], 'Time zone of days (IANA).'),
  ...inWords(['bbox'], 'minLongitude,minLatitude,maxLongitude,maxLatitude.'),
  ...byId,
  ...times,
}
export const few = Type.Integer({
  minimum: 1,
  maximum: MOST_RECORDS,
  description: `How many, at most ${MOST_RECORDS}.`,
})

export const [total, text, object] = [Type.Integer(), Type.String(), Type.Unsafe({ type: 'object' })]
export const rows = Type.Array(object)
