// What the formats of exports have in common: a beginning, rows and an end.
import type { TSchema } from '@sinclair/typebox'
import { BsonDocument, type BsonList, type UnwritableDocument } from '../bson/reader.js'
import { failureOf } from './items.js'
import type { Output } from './output.js'
import { compileDocuments } from './writer.js'

/** How a table is written as text. */
export interface RowFormat {
  readonly begin: string
  /** What stands between two rows. */
  readonly between: string
  readonly end: string
  /** Writes what stands for a document: a row, or several. Nothing counts as written if it throws. */
  readonly write: (document: BsonDocument, out: Output) => void
}

/** How many bytes of BSON are written before other work gets its turn. */
const STEP_BYTES = 64 * 1024

/**
 * Writes rows behind others, in steps.
 * @param isFirst whether no row is written yet
 * @param onFailure is called for a document that does not fit its schema, which is left out; it may throw
 * @returns whether there is still no row
 */
export function* writeRows(
  { collection, documents }: BsonList,
  { between, write }: RowFormat,
  out: Output,
  isFirst: boolean,
  onFailure: (document: BsonDocument, error: UnwritableDocument) => void,
): Generator<void, boolean> {
  let rest = STEP_BYTES
  let isStillFirst = isFirst
  for (const bytes of documents) {
    const document = new BsonDocument(collection, bytes)
    const before = out.length
    if (!isStillFirst) out.text(between)
    const begin = out.length
    const error = failureOf(document, () => write(document, out))
    if (error !== undefined) onFailure(document, error)
    // A document without rows leaves nothing behind.
    if (error !== undefined || out.length === begin) out.length = before
    else isStillFirst = false
    rest -= bytes.length
    if (rest > 0) continue
    rest = STEP_BYTES
    yield
  }
  return isStillFirst
}

/** A format that writes nothing of use, only to find the documents that do not fit. Every text fits, so none is copied. */
export const compileCheck = (schema: TSchema, named: ReadonlyMap<string, TSchema>): RowFormat => {
  const documents = compileDocuments(schema, named, { writeString: (_input, _type, _at, _output, to) => to })
  return {
    ...{ begin: '', between: '', end: '' },
    write(document, out) {
      const { length } = out
      documents.document(document, out)
      out.length = length
    },
  }
}
