// Makes the bytes of a file of a whole list, part by part.
import type { FormatName } from '../../schemas/exports.js'
import { runInSlices } from '../core/limits/work.js'
import { invalidParameter } from '../core/problems/problems.js'
import { observe } from '../core/read/form-questions.js'
import { withQuestions } from '../core/read/question-keys.js'
import type { Reader } from '../core/read/reader.js'
import type { Selection } from '../core/read/selection.js'
import { QueryTimeout } from '../core/store/store.js'
import { oneLine } from '../core/write/json.js'
import { Output } from '../core/write/output.js'
import { fail, rowsWriter } from '../core/write/rows.js'
import { Skipped, type Unreadable } from '../core/write/unreadable.js'
import { type Exported, type ExportListing, type FileWriter, rowsOf } from './exported.js'
import { ParquetFile } from './parquet.js'
import { MAX_RECORDS, XlsxFile } from './workbook.js'

/** The most bytes of JSON that tell of records that are left out. */
const MAX_SKIPPED_BYTES = 1024 * 1024
/** A part ends with the record that brings it to this size. */
const PART_BYTES = 4 * 1024 * 1024

export interface Wanted {
  readonly exported: Exported
  readonly format: FormatName
  readonly listing: ExportListing
}

/**
 * Opens the file of an export: its parts, each of which is made as a large task when it is asked for, and the records that
 * were read so far, and left out.
 * @throws the problem `invalid_parameter` if there are more questions than columns, or more records than rows of a sheet
 */
export const openFile = async (
  reader: Reader,
  asked: Wanted,
): Promise<{ parts: AsyncGenerator<Buffer, void>; read: { rows: number }; left: readonly Unreadable[] }> => {
  const { exported, format } = asked
  const listing = await withQuestions(reader, asked.listing)
  const wanted = { ...asked, listing }
  const skipped = listing.unreadable === 'skip' ? new Skipped(MAX_SKIPPED_BYTES) : undefined
  if (format === 'xlsx') await requireRows(reader, wanted)
  const questions = hasQuestions(wanted) ? await questionsOf(reader, listing) : undefined
  const rows = rowsOf(exported, format, reader.scope.without, listing, questions)
  // A resource that the key does not see is refused before anything is sent, also for a HEAD.
  const selection = reader.select(exported.resource, { ...listing, ...rows.choice })
  const read = { rows: 0 }
  return { parts: partsOf(reader, wanted, selection, rows, read, skipped), read, left: skipped?.records ?? [] }
}

async function* partsOf(
  reader: Reader,
  { exported, format, listing }: Wanted,
  selection: Selection,
  { format: rows, columns, named }: ReturnType<typeof rowsOf>,
  read: { rows: number },
  skipped: Skipped | undefined,
): AsyncGenerator<Buffer, void> {
  let file: FileWriter | undefined
  if (format === 'parquet') file = new ParquetFile(columns, named)
  if (format === 'xlsx') file = new XlsxFile(exported.name, columns.length)
  const write = rowsWriter(rows, skipped?.add ?? fail)
  const nextPage = reader.pages(selection, listing.limit)
  try {
    let text = rows.begin ?? ''
    for (let isOver = false; !isOver; ) {
      const records = await nextPage()
      read.rows += records.length
      isOver = records.length === 0
      const page = records.values()
      for (let isLeft = true; isLeft; ) {
        const out = new Output()
        out.text(text)
        text = ''
        if (isOver) out.text((rows.end ?? '') + trailerOf(format, skipped))
        isLeft = await runInSlices(write(page, out, PART_BYTES), reader.ticket.signal)
        const part = out.take()
        if (file === undefined) yield part
        else {
          const bytes = await file.write(part)
          yield isOver ? Buffer.concat([bytes, await file.end()]) : bytes
        }
      }
    }
  } finally {
    file?.close()
  }
}

/** Whether each question gets a column: in a table or a layer of the entries of one form. */
const hasQuestions = ({ exported: { name }, format, listing: { form, fields } }: Wanted): boolean =>
  name === 'entries' && format !== 'ndjson' && form !== undefined && (fields?.includes('answers') ?? true)

/** The texts of all questions of the entries that a listing matches, in the order of their mean place in the entries. */
const questionsOf = async (reader: Reader, listing: ExportListing): Promise<string[]> => {
  const observed = await observe(reader, listing, false, listing.limit)
  if (typeof observed !== 'string') return observed.questions.map(({ question }) => question)
  throw invalidParameter('form', `has entries with ${observed}, too many for a column each; export the answers instead`)
}

/** Where counting takes too long, the sheet itself finds that its rows are too many. */
const requireRows = async (reader: Reader, { exported, listing }: Wanted): Promise<void> => {
  const { resource, formats } = exported
  const matching = await reader.count({ resource, conditions: resource.conditions(listing) }).catch((error) => {
    if (error instanceof QueryTimeout) return 0
    throw error
  })
  if (Math.min(matching, listing.limit ?? matching) <= MAX_RECORDS) return
  const message = `must be one of ${formats.filter((each) => each !== 'xlsx').join(', ')}, or there must be a limit: ${matching} records match, and a sheet has at most ${MAX_RECORDS}`
  throw invalidParameter('format', message, 'path')
}

/** The last line of NDJSON lists what was left out. */
const trailerOf = (format: FormatName, skipped: Skipped | undefined): string =>
  format === 'ndjson' && skipped !== undefined && skipped.records.length > 0
    ? `${oneLine(JSON.stringify({ unreadable: skipped.records }))}\n`
    : ''
