// What an assistant may count: what there is, the questions of a form, and entries in groups.
import { Type } from '@sinclair/typebox'
import { select } from '../../schemas/kit.js'
import { SummaryQuery } from '../../schemas/summaries.js'
import {
  filters,
  firstSentence,
  form,
  inWords,
  object,
  ofQuestions,
  rows,
  type Tool,
  total,
} from '../core/door/tools.js'
import { resources } from '../core/pipelines/index.js'
import type { Resource } from '../core/pipelines/resource.js'
import { isInScope } from '../core/pipelines/stages.js'
import { YEAR_1, YEAR_9999 } from '../core/read/expressions.js'
import type { Reader } from '../core/read/reader.js'
import { namesInEntries, sumOf } from '../core/read/summaries.js'
import { listOf, MOST_RECORDS } from '../core/read/values.js'
import { getFormQuestions, QUESTIONS } from './questions.js'
import { COUNTS, summarizeEntries } from './summary.js'

const { entries, forms, projects } = resources

/** The most choices of a question. */
const MOST_CHOICES = 50

/** The records of a resource by their names. Those that a scope does not list are the ones that its entries name. */
const namesIn = async (reader: Reader, resource: Resource) => {
  if (isInScope(resource.collection, reader.scope)) return listOf(reader, resource, { fields: ['name'] })
  const rows = await namesInEntries(reader, resource.name)
  return { total: rows.length, rows: rows.slice(0, MOST_RECORDS), unreadable: [] }
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
      // It has become the keys of all questions that it may mean.
      const keys = question as readonly string[] | undefined
      const questions = keys === undefined ? data : data.filter(({ key }) => keys.includes(key))
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
}
