// Makes the bytes of a file of a whole list, part by part.
import type { FormatName } from '../../schemas/exports.js'
import type { BsonDocument } from '../bson/reader.js'
import { runInSlices } from '../limits/work.js'
import type { Scope } from '../pipelines/stages.js'
import { invalidParameter } from '../problems/problems.js'
import { sliceReader } from '../reading/listing.js'
import { withQuestions } from '../reading/questions.js'
import { type Doing, pagesOf, wholeList } from '../reading/whole-list.js'
import { json } from '../serializer/json.js'
import { Output } from '../serializer/output.js'
import { fail, rowsWriter } from '../serializer/rows.js'
import { Skipped, type Unreadable } from '../serializer/skipped.js'
import { QueryTimeout, type Reading, type Store } from '../store/store.js'
import { type Exported, type ExportListing, type FileRows, matchingQuery, rowsOf } from './index.js'
import { ParquetFile } from './parquet.js'
import { hasQuestions, questionsOf } from './questions.js'
import { MAX_RECORDS, XlsxFile } from './xlsx.js'

/** The most bytes of JSON that tell of records that are left out. */
const MAX_SKIPPED_BYTES = 1024 * 1024
/** A part ends with the record that brings it to this size. */
const PART_BYTES = 4 * 1024 * 1024

type Reads = Pick<Store, 'aggregate' | 'count' | 'knownIndexes'>

export interface Wanted {
  readonly exported: Exported
  readonly format: FormatName
  readonly scope: Scope
  readonly listing: ExportListing
}

/** Makes a file of its parts as they are written. After an error it is closed. */
export interface FileWriter {
  /** Returns the bytes that can be sent, which may be none. */
  write(part: Buffer): Promise<Buffer>
  /** Returns the rest of the file. */
  end(): Promise<Buffer>
  /** Drops what is held of the file. It may be called at any time, and twice. */
  close(): void
}

/** A file that is made when its parts are asked for. */
export interface OpenFile {
  readonly parts: AsyncGenerator<Buffer, void>
  /** The records that were left out so far. */
  readonly skipped: readonly Unreadable[]
}

/**
 * Opens the file of an export.
 * @throws the problem `invalid_parameter` if there are more questions than columns, or more records than rows of a sheet
 */
export const openFile = async (store: Reads, asked: Wanted, doing: Doing): Promise<OpenFile> => {
  const { exported, format, scope } = asked
  const listing = await withQuestions(store, scope, asked.listing, doing)
  const wanted = { ...asked, listing }
  const skipped = listing.unreadable === 'skip' ? new Skipped(MAX_SKIPPED_BYTES) : undefined
  if (format === 'xlsx') await doing(() => requireRows(store, wanted))
  const questions = hasQuestions(exported, format, listing)
    ? await questionsOf(store, scope, listing, doing)
    : undefined
  const rows = rowsOf(exported, format, scope.without, listing, questions)
  return { parts: partsOf(store, wanted, rows, skipped, doing), skipped: skipped?.records ?? [] }
}

async function* partsOf(
  store: Reads,
  wanted: Wanted,
  rows: FileRows,
  skipped: Skipped | undefined,
  doing: Doing,
): AsyncGenerator<Buffer, void> {
  let { begin } = rows.format
  const file = fileWriterOf(wanted, rows)
  const write = rowsWriter(rows.format, skipped?.add ?? fail)
  const { exported, scope, listing } = wanted
  const all = wholeList({ ...listing, ...rows.choice })
  const nextPage = pagesOf(all, listing.limit)
  /** The records that were read. They may become several parts. */
  let page: Iterator<BsonDocument> | undefined
  let isOver = false
  const partOf = async (reading: Reading): Promise<Buffer> => {
    const out = new Output()
    out.text(begin)
    begin = ''
    if (page === undefined) {
      const records = await nextPage(sliceReader(store, exported.resource, scope, all, reading))
      isOver = records.length === 0
      page = records.values()
    }
    if (isOver) out.text(rows.format.end + trailerOf(wanted.format, skipped))
    else if (!(await runInSlices(write(page, out, PART_BYTES), reading.signal))) page = undefined
    const part = out.take()
    if (file === undefined) return part
    const bytes = await file.write(part)
    return isOver ? Buffer.concat([bytes, await file.end()]) : bytes
  }
  try {
    while (!isOver) {
      const part = await doing(partOf)
      if (part.length > 0) yield part
    }
  } finally {
    file?.close()
  }
}

/** What makes a file of rows, if it is more than its rows. */
const fileWriterOf = ({ exported, format }: Wanted, { columns, named }: FileRows): FileWriter | undefined => {
  if (format === 'parquet') return new ParquetFile(columns, named)
  return format === 'xlsx' ? new XlsxFile(exported.name, columns.length) : undefined
}

/** Where counting takes too long, the sheet itself finds that its rows are too many. */
const requireRows = async (store: Reads, { exported, scope, listing }: Wanted): Promise<void> => {
  const matching = await store.count(matchingQuery(exported, scope, listing)).catch((error) => {
    if (error instanceof QueryTimeout) return 0
    throw error
  })
  if (Math.min(matching, listing.limit ?? matching) <= MAX_RECORDS) return
  const message = `must be one of ${exported.formats.filter((each) => each !== 'xlsx').join(', ')}, or there must be a limit: ${matching} records match, and a sheet has at most ${MAX_RECORDS}`
  throw invalidParameter('format', message, 'path')
}

/** The last line of NDJSON lists what was left out. */
const trailerOf = (format: FormatName, skipped: Skipped | undefined): string =>
  format === 'ndjson' && skipped !== undefined && skipped.records.length > 0
    ? `${json({ unreadable: skipped.records })}\n`
    : ''
