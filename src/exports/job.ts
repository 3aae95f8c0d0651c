// Makes the bytes of a file from records, in a worker.
import { BsonDocument } from '../core/bson/reader.js'
import type { Job, Made } from '../core/workers/job.js'
import { oneLine } from '../core/write/json.js'
import { giveBack, Output } from '../core/write/output.js'
import { fail, rowsWriter } from '../core/write/rows.js'
import { Skipped, type Unreadable } from '../core/write/unreadable.js'
import { allExported, type Exported, type FileOptions, rowFormatOf } from './exported.js'
import { ParquetEncoder } from './parquet.js'
import { Workbook } from './workbook.js'

/** The most bytes of JSON that tell of records that are left out. */
const MAX_SKIPPED_BYTES = 1024 * 1024
/** A part ends with the record that brings it to this size. */
const PART_BYTES = 4 * 1024 * 1024

export interface FileEncoder {
  /** Returns the bytes that can be sent, which may be none. */
  write(rows: Buffer): Uint8Array
  end(): Uint8Array
}

export interface Told {
  /** Whether some of the records have no row yet: the next part has them. */
  readonly hasMore: boolean
  /** The records that were left out since the last part. */
  readonly left: readonly Unreadable[]
}

export const open = (options: FileOptions): Job => {
  const { name, format, listing } = options
  const exported = allExported.find((each) => each.name === name) as Exported
  const counted = { count: 0 }
  const { format: rows, columns, named } = rowFormatOf(exported, options, counted)
  const skipped = listing.unreadable === 'skip' ? new Skipped(MAX_SKIPPED_BYTES) : undefined
  let file: FileEncoder | undefined
  if (format === 'parquet') file = new ParquetEncoder(columns, named)
  if (format === 'xlsx') file = new Workbook(name, columns.length, counted)
  const write = rowsWriter(rows, skipped?.add ?? fail)
  let [text, told] = [rows.begin ?? '', 0]
  let records: Iterator<BsonDocument> = [].values()
  let held = 0
  const part = (out: Output, hasMore: boolean): Made => {
    const left = skipped?.records.slice(told) ?? []
    told += left.length
    const rows = out.take()
    const bytes = file?.write(rows) ?? rows
    if (file !== undefined) giveBack(rows)
    return { bytes, told: { hasMore, left } satisfies Told }
  }
  const begun = (): Output => {
    const out = new Output()
    out.text(text)
    text = ''
    return out
  }
  return {
    get held() {
      return held
    },
    add(documents) {
      const { collection } = exported.resource
      if (documents.length > 0) records = documents.map((bytes) => new BsonDocument(collection, bytes)).values()
      const out = begun()
      held = documents.reduce((sum, { length }) => sum + length, 0)
      while (write(records, out, PART_BYTES)) if (out.length >= PART_BYTES) return part(out, true)
      return part(out, false)
    },
    end() {
      const out = begun()
      const isTold = format === 'ndjson' && skipped !== undefined && skipped.records.length > 0
      // The last line of NDJSON lists what was left out.
      out.text((rows.end ?? '') + (isTold ? `${oneLine(JSON.stringify({ unreadable: skipped.records }))}\n` : ''))
      const { bytes, ...made } = part(out, false)
      return { ...made, bytes: file === undefined ? bytes : Buffer.concat([bytes as Uint8Array, file.end()]) }
    },
  }
}
