// GET /v1/summaries/entries, also as CSV: how many entries there are. GET /v1/forms/:id/questions: what they answer.
import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { IdParams } from '../../schemas/common.js'
import { mediaTypes } from '../../schemas/exports.js'
import { strict } from '../../schemas/kit.js'
import { MAX_TOP, Questions, Summary, SummaryFileQuery, SummaryQuery } from '../../schemas/summaries.js'
import { isKnown } from '../http/caller.js'
import { forms } from '../pipelines/forms.js'
import { formQuestions } from '../reading/form-questions.js'
import { readOne } from '../reading/list.js'
import { type Summary as Counted, type Group, namesOf, summaryOf, sumOf, tooManyGroups } from '../reading/summaries.js'
import { type Cell, csvTable } from '../serializer/csv.js'
import { attached, commonProblems, FILE, responses, tagged } from './responses.js'

export const COUNTS =
  'Counts the entries that match every given filter, as they are stored, in groups. A large count may be some seconds old: `asOf` says when it was made.'
export const QUESTIONS =
  'The questions that the entries of the form have, with their answers and how often these were given. It is what was observed: no form definitions are stored, so a choice that nobody took is not there.'

export const summaryRoutes = (app: FastifyInstance): void => {
  app.get(
    '/summaries/entries',
    {
      schema: {
        operationId: 'summarizeEntries',
        summary: 'Count entries',
        description: COUNTS,
        tags: ['Entries'],
        querystring: SummaryQuery,
        response: responses(Summary, commonProblems, { headers: tagged }),
      },
    },
    async (request, reply) => {
      const { data, _metadata } = await countEntries(app, request)
      const { asOf, ...counted } = _metadata
      if (isSame(request, reply, { data, _metadata: counted })) return reply
      return { success: true, data, _metadata }
    },
  )

  app.get(
    '/summaries/entries.csv',
    {
      config: { isTypeInPath: true },
      schema: {
        operationId: 'summarizeEntriesAsCsv',
        summary: 'Count entries, as a table',
        description: `${COUNTS} A cell of the map has two columns, and so on: the rows are those of the JSON.`,
        tags: ['Entries'],
        querystring: SummaryFileQuery,
        response: responses(FILE, commonProblems, {
          description: 'The table.',
          headers: { ...attached, ...tagged },
          types: [mediaTypes.csv],
        }),
      },
    },
    async (request, reply) => {
      const { top, bom, formulas, ...query } = request.query as typeof SummaryFileQuery.static
      const listing = { ...query, top: top ?? MAX_TOP }
      const summary = await summaryOf(app.store, request.scope, listing, request.ticket)
      if (top === undefined && summary.groups > MAX_TOP)
        throw tooManyGroups(`makes ${summary.groups} groups, and without top a file has at most ${MAX_TOP}`)
      const columns = await columnsOf(app, request, summary)
      const names = columns.flatMap(({ name, inner }) => inner?.map((each) => `${name}.${each}`) ?? name)
      const rows = summary.shown.map((group) =>
        columns.flatMap(({ valueIn, inner }) => {
          const value = valueIn(group)
          return inner === undefined ? value : inner.map((each) => (value as Record<string, unknown> | null)?.[each])
        }),
      ) as Cell[][]
      const text = csvTable([names, ...rows], { bom: bom === 'true', keepsFormulas: formulas === 'keep' })
      const today = new Date().toISOString().slice(0, 10)
      reply.type(`${mediaTypes.csv}; charset=utf-8`)
      reply.header('content-disposition', `attachment; filename="summary-${today}.csv"`)
      return isSame(request, reply, text) ? reply : reply.send(Buffer.from(text))
    },
  )

  app.get(
    '/forms/:id/questions',
    {
      schema: {
        operationId: 'getFormQuestions',
        summary: 'Get the questions of a form by its id',
        description: QUESTIONS,
        tags: ['Forms'],
        params: IdParams('form'),
        querystring: strict({}),
        response: responses(Questions, [...commonProblems, 'not_found', 'response_too_large'], { headers: tagged }),
      },
    },
    async (request, reply) => {
      const { id } = request.params as { id: string }
      const { scope, ticket } = request
      await readOne(app.store, forms as never, scope, id, {}, ticket)
      const { questions, entries, asOf } = await formQuestions(app.store, scope, id, ticket)
      if (isSame(request, reply, [questions, entries])) return reply
      return { success: true, data: questions, _metadata: { entries, asOf: asOf.toISOString() } }
    },
  )
}

/** What a count needs of its request. */
type Asking = Pick<FastifyRequest, 'scope' | 'ticket' | 'query'>

type Row = Readonly<Record<string, unknown>> & { readonly count: number }

/** Counts entries, and shows the groups as rows. */
export const countEntries = async (app: FastifyInstance, asking: Asking) => {
  const summary = await summaryOf(app.store, asking.scope, asking.query as SummaryQuery, asking.ticket)
  const { groups, sum, shown, total, asOf } = summary
  const columns = await columnsOf(app, asking, summary)
  const rowOf = (group: Group) => Object.fromEntries(columns.map(({ name, valueIn }) => [name, valueIn(group)]))
  const data = shown.map(rowOf) as Row[]
  const others = { groups: groups - shown.length, count: sum - sumOf(shown) }
  const multiple = sum !== total && { multiple: true }
  return { data, _metadata: { total, groups, others, ...multiple, asOf: asOf.toISOString() } }
}

/** Whether the caller has these contents already. When they were counted does not matter. */
const isSame = (request: FastifyRequest, reply: FastifyReply, contents: unknown): boolean =>
  isKnown(request, reply, `W/"${hash('sha1', JSON.stringify(contents), 'base64url')}"`)

interface Column {
  readonly name: string
  readonly valueIn: (group: Group) => unknown
  /** What its values have inside, if they are objects. */
  readonly inner?: readonly string[]
}

/** What a summary shows of its groups. */
const columnsOf = async (app: FastifyInstance, { scope, ticket, query }: Asking, summary: Counted) => {
  const { names, measure } = query as SummaryQuery
  const columns: Column[] = []
  for (const [i, { name }] of summary.dimensions.entries()) {
    const valueIn = ({ values }: Group) => values[i]
    columns.push({ name, valueIn, ...(name.startsWith('location:') && { inner: ['longitude', 'lattitude'] }) })
    const beside = names === 'true' ? await namesOf(app.store, scope, summary, i, ticket) : undefined
    if (beside === undefined) continue
    columns.push({ name: `${name}Name`, valueIn: (group) => beside.get(valueIn(group))?.name ?? null })
    const expected = (group: Group) => beside.get(valueIn(group))?.totalExpectedEntries ?? null
    if (name === 'dispatch') columns.push({ name: 'totalExpectedEntries', valueIn: expected })
  }
  columns.push({ name: 'count', valueIn: ({ count }) => count })
  const durations = ({ measured: count, sum, min, max }: Group) =>
    count > 0 ? { count, min, mean: sum / count, max } : { count, min: null, mean: null, max: null }
  if (measure) columns.push({ name: 'duration', valueIn: durations, inner: ['count', 'min', 'mean', 'max'] })
  return columns
}
