// Records become values, for what a tool makes of them.
import type { BsonDocument } from '../bson/reader.js'
import type { Ticket } from '../limits/scheduler.js'
import { runInSlices } from '../limits/work.js'
import type { Resource } from '../pipelines/resource.js'
import { problem } from '../problems/problems.js'
import { jsonArray } from '../write/json.js'
import { Output } from '../write/output.js'
import { type OnFailure, writeAll } from '../write/rows.js'
import { Skipped } from '../write/unreadable.js'
import { compileDocuments } from '../write/writer.js'
import { readList } from './list.js'
import type { Projection } from './projection.js'
import type { Reader } from './reader.js'

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
