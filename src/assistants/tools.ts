// What an assistant may ask: each tool calls what its operation calls, with the names and the checks of its parameters.
import { type TProperties, type TSchema, Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { ChecksListQuery } from '../../schemas/checks.js'
import { commonFilters, IdParams } from '../../schemas/common.js'
import { type Answered, EntryListQuery, entryFilters } from '../../schemas/entries.js'
import { type FormatName, FormatParams, mediaTypes } from '../../schemas/exports.js'
import { defaulted, select } from '../../schemas/kit.js'
import { SummaryQuery } from '../../schemas/summaries.js'
import { CHECKS, checkedRows, flaggedAgents, flaggedEntries } from '../checks/operations.js'
import { baseOf } from '../core/http/address.js'
import { resources } from '../core/pipelines/index.js'
import type { Resource } from '../core/pipelines/resource.js'
import { isInScope } from '../core/pipelines/stages.js'
import { YEAR_1, YEAR_9999 } from '../core/read/expressions.js'
import { projectionOf } from '../core/read/projection.js'
import type { Reader } from '../core/read/reader.js'
import { sumOf } from '../core/read/summaries.js'
import { getFormQuestions, QUESTIONS } from '../counts/questions.js'
import { COUNTS, summarizeEntries } from '../counts/summary.js'
import { firstSentence, type Given } from './arguments.js'
import type { ToolResult } from './fitting.js'
import { isTime, namesInEntries } from './meant.js'
import { questionsMeant } from './questions.js'
import { listOf, MOST_RECORDS, valuesOf } from './values.js'

const { entries, forms, projects } = resources

export interface Tool {
  readonly description: string
  readonly takes: TProperties
  readonly gives: TProperties
  /** @param texts the query as it was given */
  readonly call: (request: FastifyRequest, query: Given, texts: Given) => Promise<ToolResult>
}

/** The most choices of a question. */
const MOST_CHOICES = 50

/** The records of a resource by their names. Those that a scope does not list are the ones that its entries name. */
const namesIn = async (reader: Reader, resource: Resource) => {
  if (isInScope(resource.collection, reader.scope)) return listOf(reader, resource, { fields: ['name'] })
  const rows = await namesInEntries(reader, resource.name)
  return { total: rows.length, rows: rows.slice(0, MOST_RECORDS), unreadable: [] }
}

const limits = { page: 1, perPage: 1, maxPerPage: MOST_RECORDS }
const [list, checked] = [EntryListQuery(limits), ChecksListQuery(limits)]
const parameters: TProperties = { ...list.properties, ...SummaryQuery.properties }
/** A parameter as an assistant knows it. Each word of a filter is read in three tools. */
const inWords = (names: readonly string[], description: string, more = {}) =>
  Object.fromEntries(names.map((name) => [name, { ...parameters[name], description, ...more } as TSchema]))
/** The first sentence of a parameter that takes a question. What begins alike is said once. */
const ofQuestions = (name: string) => {
  const sentence = firstSentence(String(parameters[name]?.description))
  return sentence.replace('the key of a question', 'a question').replace(/(?<=(\w+):\S+), \1:/g, '|')
}
const times = inWords(Object.keys(commonFilters).filter(isTime), 'Day or time.', { format: 'day-or-time' })
const form = Type.String({ minLength: 1, description: 'Id or name.' })
const byId = Object.fromEntries(['form', 'project', 'dispatch', 'agent'].map((name) => [name, Type.Optional(form)]))
const filters = {
  ...select(list, [...Object.keys(entryFilters), 'answered']).properties,
  ...inWords(['status'], 'One status.'),
  ...inWords(['country', 'state', 'lga', 'city'], 'A name.'),
  ...inWords(['answered'], 'An answered question, or QUESTION=ANSWER. Needs form.'),
  ...inWords(['zone'], 'Time zone of days (IANA).'),
  ...inWords(['bbox'], 'minLongitude,minLatitude,maxLongitude,maxLatitude.'),
  ...byId,
  ...times,
}
const few = Type.Integer({ minimum: 1, maximum: MOST_RECORDS, description: `How many, at most ${MOST_RECORDS}.` })

const [total, object] = [Type.Integer(), Type.Unsafe({ type: 'object' })]
const [text, rows] = [Type.String(), Type.Array(object)]

/** A checked argument as a URL has it. */
const textOf = (value: unknown): string => {
  if (value instanceof Date) return value.toISOString()
  if (typeof value !== 'object') return String(value)
  const { key, answer } = value as Answered
  return answer === undefined ? key : `${key}=${answer}`
}

export const tools: Readonly<Record<string, Tool>> = {
  describe: {
    description:
      'What there is, and what the key sees: entries by status, from when to when, forms and projects. Begin here.',
    takes: {},
    gives: { organisation: object, entries: object, totals: object, forms: rows, projects: rows },
    async call({ reader, scope }) {
      const { organisation: id, organisationName: name, without = [], only } = scope
      const counted = await summarizeEntries(reader, { query: { by: ['status'], zone: 'UTC', top: MOST_RECORDS } })
      const status = counted.rows.map(counted.rowOf)
      const isTime = { createdSince: YEAR_1, createdBefore: YEAR_9999 }
      const ends = { ...isTime, sortBy: 'createdAt', perPage: 1, fields: ['createdAt'], total: 'false' }
      const [first] = (await listOf(reader, entries, { ...ends, sortOrder: 'asc' })).rows
      const [last] = (await listOf(reader, entries, ends)).rows
      const { total, asOf } = counted.metadata
      const [ofForms, ofProjects] = [await namesIn(reader, forms), await namesIn(reader, projects)]
      return {
        organisation: { id, name },
        without,
        only,
        entries: { total, asOf, from: first?.createdAt, to: last?.createdAt, status },
        totals: { forms: ofForms.total, projects: ofProjects.total },
        forms: ofForms.rows,
        projects: ofProjects.rows,
        unreadable: [...ofForms.unreadable, ...ofProjects.unreadable],
        of: { forms: ofForms.total, projects: ofProjects.total },
      }
    },
  },
  describe_form: {
    description: firstSentence(QUESTIONS),
    takes: { form, question: Type.Optional({ ...form, description: 'Words of its text, or its key.' }) },
    gives: { total, questions: rows },
    async call({ reader }, { form, question }) {
      const { data, _metadata } = (await getFormQuestions(reader, { params: { id: String(form) } })).value
      const questions = question === undefined ? data : await questionsMeant(reader, data, 'question', String(question))
      const shown = questions.map(({ choices, others, ...question }) => {
        const left = sumOf(choices.slice(MOST_CHOICES))
        return { ...question, choices: choices.slice(0, MOST_CHOICES), others: others + left }
      })
      return { form, ..._metadata, total: questions.length, questions: shown }
    },
  },
  count_entries: {
    description: `${firstSentence(COUNTS)} Use it for each question of how many.`,
    takes: {
      ...inWords(['by'], ofQuestions('by')),
      ...inWords(['names'], 'With `true`, names stand beside ids.'),
      ...inWords(['measure'], ofQuestions('measure')),
      ...select(SummaryQuery, ['none', 'top']).properties,
      ...filters,
      ...inWords(['zone'], 'Time zone of days and periods (IANA).'),
    },
    gives: { total, groups: total, rows },
    async call({ reader }, query, { top, zone = query.zone }) {
      const { rows: shown, rowOf, metadata } = await summarizeEntries(reader, { query: query as never })
      return {
        ...metadata,
        zone,
        rows: shown.map(rowOf),
        of: { rows: top === undefined ? metadata.groups : shown.length },
      }
    },
  },
  find_entries: {
    description: `${firstSentence(entries.descriptions.list)} Newest first.`,
    takes: { ...filters, fields: list.properties.fields, limit: defaulted(few, 20) },
    gives: { total, columns: Type.Array(text), rows: Type.Array(Type.Array(Type.Unknown())) },
    async call({ reader }, { limit: perPage, zone: _, ...query }) {
      const newest = { sortBy: 'createdAt', sortOrder: 'desc' }
      const { rows, of, ...found } = await listOf(reader, entries, { ...query, ...newest, perPage })
      const columns = [...new Set(rows.flatMap(Object.keys))]
      const table = rows.map((row) => columns.map((name) => row[name] ?? null))
      return { ...found, columns, rows: table, of: { rows: of } }
    },
  },
  check_entries: {
    description: `${firstSentence(CHECKS)} Worst agents and flagged entries; a flag says nothing of why.`,
    takes: {
      ...select(checked, ['checks']).properties,
      ...select(Type.Object(filters), ['form', 'project', 'agent', 'zone', 'createdSince', 'createdBefore']).properties,
      limit: defaulted(few, 10),
    },
    gives: { totals: object, agents: rows, flagged: rows },
    async call({ reader }, { limit: perPage, ...given }, { zone = given.zone }) {
      const query = { ...given, minEntries: 20, names: 'true', page: 1, perPage } as const
      const agents = await checkedRows(reader, flaggedAgents, query as never)
      const flagged = await checkedRows(reader, flaggedEntries, query as never)
      const { entries, asOf, total } = agents.metadata
      const of = { agents: total, flagged: flagged.metadata.total }
      return { asOf, zone, totals: { ...of, checked: entries }, agents: agents.rows, flagged: flagged.rows, of }
    },
  },
  get_entry: {
    description: firstSentence(entries.descriptions.get),
    takes: IdParams('entry').properties,
    gives: { entry: object },
    async call({ reader }, { id }) {
      const projection = projectionOf(entries, reader.scope.without, {}, 'record')
      const document = await reader.record(entries, String(id), projection)
      const [entry] = await valuesOf([document], projection, reader.ticket)
      return { entry }
    },
  },
  export_link: {
    description: 'The address of a file with all entries that match, and a command that fetches it.',
    takes: { ...FormatParams(Object.keys(mediaTypes) as FormatName[]).properties, ...filters },
    gives: { total, url: text, curl: text },
    async call(request, { zone: _, ...query }, { format, zone: __, ...texts }) {
      const { total } = await listOf(request.reader, entries, { ...query, perPage: 1, fields: ['id'] })
      const all = Object.entries(texts).flatMap(([name, value]) =>
        [value].flat().map((each): [string, string] => [name, textOf(each)]),
      )
      const parameters = new URLSearchParams(all)
      const path = `/v1/exports/entries.${format}${parameters.size > 0 ? '?' : ''}${parameters}`
      const url = `${baseOf(request, request.server.config.publicUrl)}${path}`
      const curl = `curl --fail-with-body -H "Authorization: Bearer $API_KEY" -o entries.${format} '${url}'`
      return { total, url, curl }
    },
  },
}
