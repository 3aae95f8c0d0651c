// GET /v1/summaries/entries, also as CSV: how many entries there are. GET /v1/forms/:id/questions: what they answer.
import { Type } from '@sinclair/typebox'
import { IdParams } from '../../schemas/common.js'
import { mediaTypes } from '../../schemas/exports.js'
import { select, strict } from '../../schemas/kit.js'
import { MAX_TOP, missing, Questions, Summary, SummaryFileQuery, SummaryQuery } from '../../schemas/summaries.js'
import { type Asked, fileNameOf, type RowsAnswer, type ValueAnswer } from '../core/door/answer.js'
import type { Capability, Route } from '../core/door/capability.js'
import { attached, commonProblems, FILE, tagged } from '../core/door/responses.js'
import { filters, firstSentence, form, inWords, object, ofQuestions, rows, total } from '../core/door/tools.js'
import { resources } from '../core/pipelines/index.js'
import type { Resource } from '../core/pipelines/resource.js'
import { isInScope } from '../core/pipelines/stages.js'
import { YEAR_1, YEAR_9999 } from '../core/read/expressions.js'
import { formQuestions } from '../core/read/form-questions.js'
import { listOf, MOST_RECORDS } from '../core/read/list.js'
import { namesInEntries, namesOf } from '../core/read/names.js'
import { projectionOf } from '../core/read/projection.js'
import { notFound, type Reader } from '../core/read/reader.js'
import { type CountedEntries, type Group, summaryOf, sumOf, tooManyGroups } from '../core/read/summaries.js'
import { type Cells, csvTable } from '../core/write/csv.js'
import { jsonArray } from '../core/write/json.js'

export const COUNTS =
  'Counts the entries that match every given filter, as they are stored, in groups. A large count may be some seconds old: `asOf` says when it was made.'

/** How many bytes a row takes, besides its texts, where it is written. */
const ROW_BYTES = 200

/** Counts entries. `rowOf` is a group as it is shown. */
const summarizeEntries = async (reader: Reader, { query }: Pick<Asked<SummaryQuery>, 'query'>) => {
  const { summary, columns, answer } = await countedFor(reader, query)
  const { groups, sum, shown, total, asOf } = summary
  const others = { groups: groups - shown.length, count: sum - sumOf(shown) }
  const metadata = { total, groups, others, ...(sum !== total && { multiple: true }), asOf: asOf.toISOString() }
  const rowOf = (group: Group): Readonly<Record<string, unknown>> =>
    Object.fromEntries(columns.map(({ name, valueIn }) => [name, valueIn(group)]))
  const format = jsonArray((group: Group, out) => out.text(JSON.stringify(rowOf(group))))
  const envelope = { before: { success: true }, name: 'data', after: () => ({ _metadata: metadata }) }
  return { ...answer, format, envelope, rowOf, metadata }
}

/** The same as a table: a cell of the map has two columns, and so on. */
const summarizeEntriesAsCsv = async (reader: Reader, { query }: Asked<typeof SummaryFileQuery.static>) => {
  const { top } = query
  const { summary, columns, answer } = await countedFor(reader, { ...query, top: top ?? MAX_TOP })
  if (top === undefined && summary.groups > MAX_TOP)
    throw tooManyGroups(`makes ${summary.groups} groups, and without top a file has at most ${MAX_TOP}`)
  const names = columns.flatMap(({ name, inner }) => inner?.map((each) => `${name}.${each}`) ?? name)
  const cellsOf = (group: Group) =>
    columns.flatMap(({ valueIn, inner }) => {
      const value = valueIn(group)
      return inner === undefined ? value : inner.map((each) => (value as Record<string, unknown> | null)?.[each])
    }) as Cells
  return {
    ...answer,
    mediaType: `${mediaTypes.csv}; charset=utf-8`,
    fileName: fileNameOf('summary', 'csv'),
    format: csvTable(names, (group: Group) => [cellsOf(group)], query),
  } satisfies RowsAnswer<Group>
}

type Counted = Parameters<typeof summaryOf>[1]

/** Counts entries, with what both kinds of rows have in common. */
const countedFor = async (reader: Reader, query: Counted) => {
  const summary = await summaryOf(reader, query)
  const columns = await summaryColumns(reader, query, summary)
  const { hash, total, groups, sum, shown } = summary
  const size = shown.reduce((sum, { characters }) => sum + characters + ROW_BYTES, 0)
  // When they were counted does not matter.
  const tag = { values: [hash, total, groups, sum, ...columns.flatMap(({ known = [] }) => [...known])] }
  return { summary, columns, answer: { rows: shown, size, tag } }
}

interface Column {
  readonly name: string
  readonly valueIn: (group: Group) => unknown
  /** What its values have inside, if they are objects. */
  readonly inner?: readonly string[]
  /** The names that it shows. */
  readonly known?: Iterable<unknown>
}

const summaryColumns = async (reader: Reader, { names, measure }: Counted, summary: CountedEntries) => {
  const columns: Column[] = []
  for (const [i, { name }] of summary.dimensions.entries()) {
    const valueIn = ({ values }: Group) => values[i]
    columns.push({ name, valueIn, ...(name.startsWith('location:') && { inner: ['longitude', 'lattitude'] }) })
    const known = names === 'true' ? await namesOf(reader, name, summary.shown.map(valueIn)) : undefined
    if (known === undefined) continue
    columns.push({ name: `${name}Name`, valueIn: (group) => known.get(valueIn(group))?.name ?? null, known })
    const expected = (group: Group) => known.get(valueIn(group))?.totalExpectedEntries ?? null
    if (name === 'dispatch') columns.push({ name: 'totalExpectedEntries', valueIn: expected })
  }
  columns.push({ name: 'count', valueIn: ({ count }) => count })
  const inner = ['count', 'min', 'mean', 'max', 'median', 'p10', 'p90']
  const measured = ({ measured: count, min, mean, max, percentiles }: Group) => ({
    ...Object.fromEntries(inner.map((name) => [name, null])),
    count,
    ...(count > 0 && { min, mean, max, ...percentiles }),
  })
  if (measure) columns.push({ name: measure === 'duration' ? measure : 'answer', valueIn: measured, inner })
  return columns
}

const { entries, forms, projects } = resources

const QUESTIONS =
  'The questions that the entries of the form have, with their answers and how often these were given. It is what was observed: no form definitions are stored, so a choice that nobody took is not there.'

const getFormQuestions = async (
  reader: Reader,
  { params, query }: Pick<Asked<{ readonly missing?: readonly string[] }>, 'params' | 'query'>,
) => {
  const id = params.id as string
  const isVisible = isInScope('forms', reader.scope)
  if (isVisible) await reader.record(forms, id, projectionOf(forms, reader.scope.without, {}, 'record'))
  const { questions, entries, asOf, bytes, hash } = await formQuestions(reader, id, query.missing?.toSorted())
  if (!isVisible && entries === 0) throw notFound(forms)
  return {
    value: { success: true, data: questions, _metadata: { entries, asOf: asOf.toISOString() } },
    tag: { values: [hash, entries] },
    size: bytes,
  } satisfies ValueAnswer
}

const routes: readonly Route[] = [
  {
    path: '/summaries/entries',
    operationId: 'summarizeEntries',
    summary: 'Count entries',
    description: COUNTS,
    tag: 'Entries',
    query: SummaryQuery,
    response: Summary,
    problems: [...commonProblems, 'not_in_scope'],
    headers: tagged,
    operation: summarizeEntries,
  },
  {
    path: '/summaries/entries.csv',
    operationId: 'summarizeEntriesAsCsv',
    summary: 'Count entries, as a table',
    description: `${COUNTS} A cell of the map has two columns, and so on: the rows are those of the JSON.`,
    tag: 'Entries',
    query: SummaryFileQuery,
    response: FILE,
    responseDescription: 'The table.',
    problems: [...commonProblems, 'not_in_scope'],
    headers: { ...attached, ...tagged },
    types: [mediaTypes.csv],
    isTypeInPath: true,
    operation: summarizeEntriesAsCsv,
  },
  {
    path: '/forms/:id/questions',
    operationId: 'getFormQuestions',
    summary: 'Get the questions of a form by its id',
    description: QUESTIONS,
    tag: 'Forms',
    params: IdParams('form'),
    query: strict({ missing }, { explode: false }),
    response: Questions,
    problems: [...commonProblems, 'not_found', 'response_too_large'],
    headers: tagged,
    operation: getFormQuestions,
  },
]

const MOST_CHOICES = 50

/** The records of a resource by their names. Those that a scope does not list are the ones that its entries name. */
const namesIn = async (reader: Reader, resource: Resource) => {
  if (isInScope(resource.collection, reader.scope)) return listOf(reader, resource, { fields: ['name'] })
  const rows = await namesInEntries(reader, resource.name)
  return { total: rows.length, rows: rows.slice(0, MOST_RECORDS), unreadable: [] }
}

const tools: Capability['tools'] = {
  describe: {
    description:
      'What there is, and what the key sees: entries by status, from when to when, forms and projects. Begin here.',
    takes: {},
    gives: { organisation: object, entries: object, totals: object, forms: rows, projects: rows },
    async call({ reader, scope }) {
      const { organisation: id, organisationName: name, without = [], only } = scope
      const query = { by: ['status'], zone: 'UTC', top: MOST_RECORDS }
      const { rows: groups, rowOf, metadata } = await summarizeEntries(reader, { query })
      const { total, asOf } = metadata
      const isTime = { createdSince: YEAR_1, createdBefore: YEAR_9999 }
      const ends = { ...isTime, sortBy: 'createdAt', perPage: 1, fields: ['createdAt'], total: 'false' }
      const [first] = (await listOf(reader, entries, { ...ends, sortOrder: 'asc' })).rows
      const [last] = (await listOf(reader, entries, ends)).rows
      const [ofForms, ofProjects] = [await namesIn(reader, forms), await namesIn(reader, projects)]
      const totals = { forms: ofForms.total, projects: ofProjects.total }
      return {
        organisation: { id, name },
        without,
        only,
        entries: { total, asOf, from: first?.createdAt, to: last?.createdAt, status: groups.map(rowOf) },
        totals,
        forms: ofForms.rows,
        projects: ofProjects.rows,
        unreadable: [...ofForms.unreadable, ...ofProjects.unreadable],
        of: totals,
      }
    },
  },
  describe_form: {
    description: firstSentence(QUESTIONS),
    takes: { form, question: Type.Optional({ ...form, description: 'Words of its text, or its key.' }) },
    gives: { total, questions: rows },
    async call({ reader }, { form, question }) {
      const { data, _metadata } = (await getFormQuestions(reader, { params: { id: String(form) }, query: {} })).value
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
      const of = { rows: top === undefined ? metadata.groups : shown.length }
      return { ...metadata, zone, rows: shown.map(rowOf), of }
    },
  },
}

export const counts: Capability = { routes: () => routes, tools }
