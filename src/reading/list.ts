// What an operation reads: a page of a list and how many records that has, or a record by its id; and how they are shown.
import type { BsonDocument } from '../bson/reader.js'
import type { Ticket } from '../limits/scheduler.js'
import { runInSlices } from '../limits/work.js'
import type { Resource } from '../pipelines/resource.js'
import type { Listing, Scope } from '../pipelines/stages.js'
import { problem } from '../problems/problems.js'
import { jsonArray } from '../serializer/json.js'
import { Output } from '../serializer/output.js'
import { type OnFailure, writeAll } from '../serializer/rows.js'
import { compileDocuments } from '../serializer/writer.js'
import type { KeptTotals, Store } from '../store/store.js'
import { tokensOf } from './list-tokens.js'
import { countOf, inLargePieces, readRecord, recordQuery, sliceReader } from './listing.js'
import { type Choice, type Projection, projectionOf } from './projection.js'
import { withQuestions } from './questions.js'
import { FIRST_CURSOR } from './token.js'
import { type Page, readPage } from './walk.js'

/**
 * Reads the page that a request asks for. The total is undefined where it does not ask for one.
 * @throws the problems `invalid_cursor`, `query_timeout`, and `invalid_parameter` for a question that the form does not have
 */
export const readList = async <L extends Listing>(
  store: Store & KeptTotals,
  resource: Resource<L>,
  scope: Scope,
  asked: L,
  ticket: Ticket,
) => {
  const listing = await withQuestions(store, scope, asked, inLargePieces(ticket))
  const tokens = tokensOf(scope, resource.operationIds.list, listing)
  const projection = projectionOf(resource, scope.without, listing)
  const page = await readPage(listing, tokens.start, sliceReader(store, resource, scope, listing, ticket))
  const isCounted = (listing.total ?? (listing.cursor === undefined ? 'true' : 'false')) === 'true'
  const counted = isCounted ? await countOf(store, resource, scope, listing, ticket) : undefined
  const total = counted === undefined ? undefined : totalOf(listing, page, counted)
  return { listing, tokens, projection, page, total }
}

/**
 * The total of a list. The count may be older than the page, and where they disagree the page is right. A page with a number
 * shows where the list ends: before an empty page, with a page that has no next one, and behind any other page. The first
 * page of a cursor is page 1. For a page that begins at a position, the number of records before it is not known, so it
 * shows only that the list has at least the records of the page.
 * @param counted how many records match, as of some time ago
 */
export const totalOf = (
  { page, perPage, cursor, after }: Pick<Listing, 'page' | 'perPage' | 'cursor' | 'after'>,
  { rows, next }: Page,
  counted: number,
): number => {
  const isNumbered = after === undefined && (cursor === undefined || cursor === FIRST_CURSOR)
  const before = isNumbered ? (page - 1) * perPage : 0
  if (isNumbered && rows.length === 0) return Math.min(counted, before)
  if (isNumbered && next === undefined) return before + rows.length
  return Math.max(counted, before + rows.length + (next === undefined ? 0 : 1))
}

/**
 * Reads a record by its id. One of another organisation is not found either.
 * @throws the problem `not_found`
 */
export const readOne = async (
  store: Store,
  resource: Resource,
  scope: Scope,
  id: string,
  choice: Choice,
  ticket: Ticket,
) => {
  const document = await readRecord(store, recordQuery(resource, scope, id), ticket)
  if (document === undefined) throw problem('not_found', `No ${resource.name} has this id`)
  return { document, projection: projectionOf(resource, scope.without, choice, 'record') }
}

/** Records become values until there are this many bytes of JSON. */
const ENOUGH_BYTES = 48 * 1024
/** More bytes of JSON are not parsed, because that would hold up other requests. */
const MOST_BYTES = 4 * 1024 * 1024

/**
 * The first of some records as values, for what is made of them in the process.
 * @throws the problem `response_too_large` for a record that is too large
 */
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
