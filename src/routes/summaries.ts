// GET /v1/summaries/entries, also as CSV: how many entries there are. GET /v1/forms/:id/questions: what they answer.
import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { IdParams } from '../../schemas/common.js'
import { mediaTypes } from '../../schemas/exports.js'
import { strict } from '../../schemas/kit.js'
import { MAX_TOP, Questions, Summary, SummaryFileQuery, SummaryQuery } from '../../schemas/summaries.js'
import { isKnown } from '../http/caller.js'
import { forms } from '../pipelines/forms.js'
import { problem } from '../problems/problems.js'
import { formQuestions } from '../reading/form-questions.js'
import { readRecord, recordQuery } from '../reading/listing.js'
import { type Summary as Counted, type Group, type Named, namesOf, summaryOf, tooMany } from '../reading/summaries.js'
import { csvTable } from '../serializer/csv.js'
import { attached, commonProblems, FILE, responses, tagged } from './responses.js'

const SUMMARY =
  'Counts the entries that match every given filter, as they are stored, in groups. A large count may be some seconds old: `asOf` says when it was made.'

export const summaryRoutes = (app: FastifyInstance): void => {
  app.get(
    '/summaries/entries',
    {
      schema: {
        operationId: 'summarizeEntries',
        summary: 'Count entries',
        description: SUMMARY,
        tags: ['Entries'],
        querystring: SummaryQuery,
        response: responses(Summary, commonProblems, { headers: tagged }),
      },
    },
    async (request, reply) => {
      const query = request.query as SummaryQuery
      const summary = await summaryOf(app.store, request.scope, query, request.ticket)
      const { groups, total, found, left, isMultiple, asOf } = summary
      const rowOf = await rowsOf(app, request, summary)
      const data = groups.map((group) => Object.fromEntries(rowOf(group)))
      const others = { groups: found - groups.length, count: left }
      const _metadata = { total, groups: found, others, ...(isMultiple && { multiple: true }) }
      if (isSame(request, reply, { data, _metadata })) return reply
      return { success: true, data, _metadata: { ..._metadata, asOf: asOf.toISOString() } }
    },
  )

  app.get(
    '/summaries/entries.csv',
    {
      config: { isTypeInPath: true },
      schema: {
        operationId: 'summarizeEntriesAsCsv',
        summary: 'Count entries, as a table',
        description: `${SUMMARY} A cell of the map has two columns, and so on: the rows are those of the JSON.`,
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
      const most = top ?? MAX_TOP
      const summary = await summaryOf(app.store, request.scope, { ...query, top: most }, request.ticket)
      if (top === undefined && summary.found > MAX_TOP)
        throw tooMany(`makes ${summary.found} groups, and a file has at most ${MAX_TOP} rows unless there is a top`)
      const rowOf = await rowsOf(app, request, summary)
      const rows = summary.groups.map((group) => flat(rowOf(group)))
      // Without a row, nothing tells the names.
      const names = (rows[0] ?? flat(rowOf(EMPTY))).map(([name]) => name)
      const table = [names, ...rows.map((row) => row.map(([, value]) => value))]
      const text = csvTable(table, { bom: bom === 'true', keepsFormulas: formulas === 'keep' })
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
        description:
          'The questions that the entries of the form have, with their answers and how often these were given. It is what was observed: no form definitions are stored, so a choice that nobody took is not there.',
        tags: ['Forms'],
        params: IdParams('form'),
        querystring: strict({}),
        response: responses(Questions, [...commonProblems, 'not_found', 'response_too_large'], { headers: tagged }),
      },
    },
    async (request, reply) => {
      const { id } = request.params as { id: string }
      const { scope, ticket } = request
      const form = await readRecord(app.store, recordQuery(forms as never, scope, id), ticket)
      if (form === undefined) throw problem('not_found', 'No form has this id')
      const { questions, entries, asOf } = await formQuestions(app.store, scope, id, ticket)
      if (isSame(request, reply, [questions, entries])) return reply
      return { success: true, data: questions, _metadata: { entries, asOf: asOf.toISOString() } }
    },
  )
}

/** Whether the caller has these contents already. When they were counted does not matter. */
const isSame = (request: FastifyRequest, reply: FastifyReply, contents: unknown): boolean =>
  isKnown(request, reply, `W/"${hash('sha1', JSON.stringify(contents), 'base64url')}"`)

type Value = string | number | null | object

const EMPTY: Group = { values: [null, null], count: 0, durations: 0, sum: 0, min: null, max: null }

/** Makes the rows of a summary: each value under its name. */
const rowsOf = async (app: FastifyInstance, request: FastifyRequest, summary: Counted) => {
  const { names: isNamed, measure } = request.query as SummaryQuery
  const names: ReadonlyMap<string, ReadonlyMap<string, Named>> = isNamed === 'true'
    ? await namesOf(app.store, request.scope, summary, request.ticket)
    : new Map()
  return ({ values, count, durations, sum, min, max }: Group): [string, Value][] => [
    ...summary.dimensions.flatMap(({ name }, i): [string, Value][] => {
      const value = values[i] ?? null
      const all = names.get(name)
      if (all === undefined) return [[name, value]]
      const { name: own = null, totalExpectedEntries = null } = all.get(value as string) ?? {}
      const expected: [string, Value][] = name === 'dispatch' ? [['totalExpectedEntries', totalExpectedEntries]] : []
      return [[name, value], [`${name}Name`, own], ...expected]
    }),
    ['count', count],
    ...(measure
      ? [['duration', { count: durations, min, mean: durations > 0 ? sum / durations : null, max }] as [string, Value]]
      : []),
  ]
}

/** A row in which what is inside of objects stands beside the other values. */
const flat = (row: readonly [string, Value][]): [string, string | number | null][] =>
  row.flatMap(([name, value]): [string, string | number | null][] => {
    const inner = value === null && name.startsWith('location:') ? NO_CELL : value
    if (typeof inner !== 'object' || inner === null) return [[name, inner]]
    return Object.entries(inner).map(([inside, each]) => [`${name}.${inside}`, each])
  })
const NO_CELL = { longitude: null, lattitude: null }
