// What an assistant may ask: each tool calls what its operation calls, with the names and the checks of its parameters.
import { type TProperties, Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { commonFilters, IdParams } from '../../schemas/common.js'
import { EntryListQuery, entryFilters } from '../../schemas/entries.js'
import { type FormatName, FormatParams, mediaTypes } from '../../schemas/exports.js'
import { defaulted } from '../../schemas/kit.js'
import { SummaryQuery } from '../../schemas/summaries.js'
import { LARGE } from '../limits/scheduler.js'
import { runInSlices } from '../limits/work.js'
import { resources } from '../pipelines/index.js'
import type { Resource } from '../pipelines/resource.js'
import type { Listing } from '../pipelines/stages.js'
import { problem } from '../problems/problems.js'
import { isLargeListing } from '../reading/cost.js'
import { formQuestions } from '../reading/form-questions.js'
import { readList, readOne } from '../reading/list.js'
import { sumOf } from '../reading/summaries.js'
import { COUNTS, countEntries, QUESTIONS } from '../routes/summaries.js'
import { jsonArray } from '../serializer/json.js'
import { Output } from '../serializer/output.js'
import { writeAll } from '../serializer/rows.js'
import { Skipped } from '../serializer/skipped.js'
import { compileDocuments } from '../serializer/writer.js'
import { firstSentence, type Given, parametersOf } from './arguments.js'

const { entries, forms, projects } = resources

/** Who asks for what, and in whose turn. */
export interface Asking extends Pick<FastifyRequest, 'scope' | 'ticket'> {
  readonly app: FastifyInstance
  /** What addresses of the service begin with. */
  readonly base: string
  readonly query: Given
  /** The same as texts. */
  readonly texts: Given
}

export interface Tool {
  readonly description: string
  readonly takes: TProperties
  readonly gives: TProperties
  readonly call: (asking: Asking) => Promise<object>
}

/** The most records of a list, the most bytes that they may have before they are cut, and the most choices of a question. */
const [MOST_RECORDS, MOST_BYTES, MOST_CHOICES] = [100, 1024 * 1024, 50]

/** The newest records of a list, how many there are, and which of them cannot be shown. */
const listOf = async <L extends Listing>({ app, scope, ticket }: Asking, resource: Resource<L>, asked: object) => {
  const first = { page: 1, perPage: MOST_RECORDS, sortBy: 'id', sortOrder: 'desc', total: 'true' }
  const listing = { ...first, ...asked } as never as L
  if (ticket.size === 'small' && isLargeListing(app.store, resource, listing)) {
    ticket.release()
    await ticket.enter(LARGE)
  }
  const { page, total, projection } = await readList(app.store, resource, scope, listing, ticket)
  const [out, skipped] = [new Output(), new Skipped()]
  const format = jsonArray(projection.compiled(compileDocuments))
  await runInSlices(writeAll(page.rows, format, out, skipped.add), ticket.signal)
  return { total, rows: parsed(out) as readonly Given[], unreadable: skipped.records }
}

const parsed = (out: Output): unknown => {
  if (out.length <= MOST_BYTES) return JSON.parse(String(out.take()))
  const detail = `A tool reads at most ${MOST_BYTES} bytes of records, and these have ${out.length}`
  throw problem('response_too_large', `${detail}: fewer of them, or fewer of their fields, may fit`)
}

/** The same with the id of the form, which may be given by its name. */
export const withForm = async (asking: Asking): Promise<Asking> => {
  const { query, texts } = asking
  if (query.form === undefined) return asking
  const found = async (more: object) => (await listOf(asking, forms, { fields: ['name'], ...more })).rows
  const same = [...(await found({ ids: [query.form] })), ...(await found({ name: query.form }))]
  const form = same[0]?.id
  if (same.length === 1) return { ...asking, query: { ...query, form }, texts: { ...texts, form } }
  const all = same.length > 0 ? same : await found({})
  const allowed = all.map(({ id, name }) => String(same.length > 0 ? id : (name ?? id)))
  const message = `is the id or the name of ${same.length} forms, but must be that of one`
  throw problem('invalid_parameter', `form ${message}`, { errors: [{ in: 'query', name: 'form', message, allowed }] })
}

const list = EntryListQuery({ page: 1, perPage: 1, maxPerPage: MOST_RECORDS })
const times = Object.keys(commonFilters).filter((name) => /Since|Before/.test(name))
const form = Type.String({ minLength: 1, description: 'Id or exact name of the form.' })
const filters = {
  ...parametersOf(list, [...Object.keys(entryFilters), 'answered', ...times]),
  form: Type.Optional(form),
}
const few = Type.Integer({ minimum: 1, maximum: MOST_RECORDS, description: `How many, at most ${MOST_RECORDS}.` })

const [total, object] = [Type.Integer(), Type.Unsafe({ type: 'object' })]
const [text, rows] = [Type.String(), Type.Unsafe({ type: 'array' })]

export const tools: Readonly<Record<string, Tool>> = {
  describe: {
    description:
      'What there is, and what the key does not see: entries by status, from when to when, forms and projects. Begin here.',
    takes: {},
    gives: { organisation: object, entries: object, forms: object, projects: object },
    async call(asking) {
      const { organisation: id, organisationName: name, without = [] } = asking.scope
      const { data: status, _metadata, asOf } = await countEntries(asking.app, { ...asking, query: { by: ['status'] } })
      const ends = { sortBy: 'createdAt', perPage: 1, fields: ['createdAt'], total: 'false' }
      const [first] = (await listOf(asking, entries, { ...ends, sortOrder: 'asc' })).rows
      const [last] = (await listOf(asking, entries, ends)).rows
      return {
        organisation: { id, name },
        without,
        entries: { total: _metadata.total, asOf, from: first?.createdAt, to: last?.createdAt, status },
        forms: await listOf(asking, forms, { fields: ['name'] }),
        projects: await listOf(asking, projects, { fields: ['name'] }),
      }
    },
  },
  describe_form: {
    description: firstSentence(QUESTIONS),
    takes: { form },
    gives: { total, questions: rows },
    async call({ app, scope, ticket, query: { form } }) {
      const { questions, entries, asOf } = await formQuestions(app.store, scope, String(form), ticket)
      const shown = questions.map(({ choices, others, ...question }) => {
        const left = sumOf(choices.slice(MOST_CHOICES))
        return { ...question, choices: choices.slice(0, MOST_CHOICES), others: others + left }
      })
      return { form, entries, asOf, total: questions.length, questions: shown }
    },
  },
  count_entries: {
    description: `${firstSentence(COUNTS)} Use it for each question of how many.`,
    takes: { ...parametersOf(SummaryQuery, ['by', 'zone', 'names', 'measure', 'top']), ...filters },
    gives: { total, groups: total, rows },
    async call(asking) {
      const { data, _metadata, asOf } = await countEntries(asking.app, asking)
      return { ..._metadata, zone: asking.query.zone, asOf, rows: data }
    },
  },
  find_entries: {
    description: `${firstSentence(entries.descriptions.list)} Newest first.`,
    takes: { ...filters, ...parametersOf(list, ['fields']), limit: defaulted(few, 20) },
    gives: { total, columns: rows, rows },
    async call(asking) {
      const { limit: perPage, ...query } = asking.query
      const { rows, ...found } = await listOf(asking, entries, { ...query, perPage })
      const columns = [...new Set(rows.flatMap(Object.keys))]
      return { ...found, columns, rows: rows.map((row) => columns.map((name) => row[name] ?? null)) }
    },
  },
  get_entry: {
    description: firstSentence(entries.descriptions.get),
    takes: IdParams('entry').properties,
    gives: { entry: object },
    async call({ app, scope, ticket, query: { id } }) {
      const { document, projection } = await readOne(app.store, entries, scope, String(id), {}, ticket)
      const out = new Output()
      projection.compiled(compileDocuments)(document, out)
      return { entry: parsed(out) }
    },
  },
  export_link: {
    description: 'The address of a file with all entries that match, and a command that fetches it.',
    takes: { ...FormatParams(Object.keys(mediaTypes) as FormatName[]).properties, ...filters },
    gives: { total, url: text, curl: text },
    async call(asking) {
      const { format, ...texts } = asking.texts
      const { total } = await listOf(asking, entries, { ...asking.query, perPage: 1, fields: ['id'] })
      const all = Object.entries(texts).flatMap(([name, value]) => [value].flat().map((text) => [name, text]))
      const url = `${asking.base}/v1/exports/entries.${format}?${new URLSearchParams(all as [string, string][])}`
      const curl = `curl --fail-with-body -H "Authorization: Bearer $API_KEY" -o entries.${format} '${url}'`
      return { total, url, curl }
    },
  },
}
