// A page of a list by its parameters, its records as values, its total, and what its filters do not match.
import type { Listing } from '../../../schemas/common.js'
import type { BsonDocument } from '../bson/reader.js'
import type { Ticket } from '../limits/scheduler.js'
import { runInSlices } from '../limits/work.js'
import type { Resource } from '../pipelines/resource.js'
import { problem, tookTooLong, unlessProblem } from '../problems/problems.js'
import { jsonArray } from '../write/json.js'
import { Output } from '../write/output.js'
import { type OnFailure, writeAll } from '../write/rows.js'
import { Skipped } from '../write/unreadable.js'
import { compileDocuments } from '../write/writer.js'
import { onTimeout } from './cost.js'
import { totalOf } from './page.js'
import type { Projection } from './projection.js'
import { withQuestions } from './question-keys.js'
import type { Counted, Reader } from './reader.js'
import type { Selection } from './selection.js'
import { tokensOf } from './token.js'

/** The page that a list asks for, and its total, which is undefined where it does not ask for one. */
export const readList = async (reader: Reader, resource: Resource, parameters: Listing) => {
  const filters = await withQuestions(reader, parameters)
  const tokens = tokensOf(reader.scope, resource.operationIds.list, filters)
  const selection = reader.select(resource, filters)
  const page = await reader.page(selection, parameters, tokens.start)
  const isCounted = (parameters.total ?? (parameters.cursor === undefined ? 'true' : 'false')) === 'true'
  const tooLong = onTimeout(() => tookTooLong(' to count the records: total=false leaves the total out'))
  const total = isCounted ? totalOf(parameters, page, await reader.count(selection).catch(tooLong)) : undefined
  return { page, total, selection, tokens }
}

export const hasAny = async (reader: Reader, resource: Resource, conditions: Selection['conditions']) => {
  const selection = { ...reader.select(resource, { fields: ['id'] }), conditions }
  return (await reader.page(selection, { page: 1, perPage: 1 })).rows.length > 0
}

/** The filters whose value may be a mistake: no record at all may have it. */
const CHECKED = ['status', 'dispatch', 'form', 'project', 'agent']

/** The names of the filters that match no record, whatever else is asked for. One that takes too long is not among them. */
export const unmatchedIn = async (reader: Reader, { resource, conditions }: Counted): Promise<string[]> => {
  const unmatched: string[] = []
  for (const name of CHECKED) {
    const condition = conditions[name]
    if (condition === undefined) continue
    const isMatched = await unlessProblem(hasAny(reader, resource, { [name]: condition }))
    if (isMatched === false) unmatched.push(name)
  }
  return unmatched
}

/** Records become values until there are this many bytes of JSON. */
const ENOUGH_BYTES = 48 * 1024
/** More bytes of JSON are not parsed, because that would hold up other requests. */
const MOST_BYTES = 4 * 1024 * 1024

/** The first of some records as values. One that is too large throws the problem `response_too_large`. */
export const valuesOf = async (
  records: readonly BsonDocument[],
  projection: Projection,
  { signal }: Ticket,
  onFailure?: OnFailure,
): Promise<Readonly<Record<string, unknown>>[]> => {
  const format = jsonArray(projection.compiled(compileDocuments))
  const out = new Output()
  await runInSlices(writeAll(records, format, out, onFailure, ENOUGH_BYTES), signal)
  if (out.length <= MOST_BYTES) return JSON.parse(String(out.take()))
  const message = 'must leave out what is long'
  const detail = `A record has more than ${MOST_BYTES} bytes: fields ${message}`
  throw problem('response_too_large', detail, { errors: [{ in: 'query', name: 'fields', message }] })
}

export const MOST_RECORDS = 100

/** Records of a list, how many there are, which of them cannot be shown, and how many rows were asked for. */
export const listOf = async (reader: Reader, resource: Resource, asked: object) => {
  const usual = { page: 1, perPage: MOST_RECORDS, sortBy: 'id', sortOrder: 'desc', total: 'true' } as const
  const { page, total, selection } = await readList(reader, resource, { ...usual, ...asked })
  const skipped = new Skipped()
  const rows = await valuesOf(page.rows, selection.projection, reader.ticket, skipped.add)
  const of = page.rows.length - skipped.records.length
  return { total: total as number, rows, unreadable: skipped.records, of }
}
