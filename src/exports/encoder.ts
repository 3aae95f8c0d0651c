// Turns the records of an export into the bytes of a file.
import type { TObject, TSchema } from '@sinclair/typebox'
import type { BsonDocument, BsonList, UnwritableDocument } from '../bson/reader.js'
import { inTurns } from '../limits/work.js'
import { described, type Skipped } from '../serializer/items.js'
import { giveBack, Output } from '../serializer/output.js'
import { compileCheck, type RowFormat, writeRows } from '../serializer/rows.js'
import { ParquetFile } from './parquet.js'

/** Room for the output of a page, as a part of its BSON. More is taken where it is needed. */
const OUTPUT_RATIO = 2.5

/** A file while it is written. */
export interface Encoder {
  /** Writes records. Returns bytes of the file, maybe none. */
  readonly write: (list: BsonList, signal?: AbortSignal) => Promise<Buffer>
  /** The end of the file. */
  readonly end: () => Promise<Buffer>
  /** Frees what the file holds, also when it is not complete. */
  readonly close: () => void
}

/**
 * What happens to a record that does not fit its schema: it is left out if there is a list of those, otherwise it ends the
 * export.
 */
const onFailure =
  (skipped: Skipped | undefined) =>
  (document: BsonDocument, error: UnwritableDocument): void => {
    if (skipped === undefined) throw error
    skipped.add(described(document, error))
  }

/**
 * A file of text.
 * @param trailer what stands behind the end of the format
 */
export const textEncoder = (format: RowFormat, skipped: Skipped | undefined, trailer: () => string): Encoder => {
  let isFirst = true
  let begin = format.begin
  return {
    async write(list, signal) {
      const out = new Output(Math.ceil(OUTPUT_RATIO * list.size))
      out.text(begin)
      begin = ''
      isFirst = await inTurns(writeRows(list, format, out, isFirst, onFailure(skipped)), signal)
      return out.take()
    },
    end: async () => Buffer.from(begin + format.end + trailer()),
    close() {},
  }
}

interface ParquetOptions {
  /** Whether rows have places, and the file is a layer of a map as well. */
  readonly geometry: boolean
  /** The rows of a record, if they are not the record itself. */
  readonly rowsOf?: ((document: BsonDocument) => readonly BsonDocument[]) | undefined
  readonly skipped?: Skipped | undefined
}

/** A Parquet file. Its records are checked first, as those of every format. */
export const parquetEncoder = (
  schema: TObject,
  named: ReadonlyMap<string, TSchema>,
  { geometry, rowsOf, skipped }: ParquetOptions,
): Encoder => {
  const file = new ParquetFile(schema, named, { geometry })
  const check = compileCheck(schema, named)
  return {
    async write(list, signal) {
      const fitting: Buffer[] = []
      const write: RowFormat['write'] = (document, out) => {
        const rows = rowsOf === undefined ? [document] : rowsOf(document)
        for (const row of rows) check.write(row, out)
        fitting.push(...rows.map(({ bytes }) => bytes))
      }
      const out = new Output()
      await inTurns(writeRows(list, { ...check, write }, out, true, onFailure(skipped)), signal)
      giveBack(out.take())
      return file.write(fitting)
    },
    end: () => file.end(),
    close: () => file.close(),
  }
}
