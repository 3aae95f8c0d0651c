// Reads Parquet files back.
import type { TObject } from '@sinclair/typebox'
import { parquetReadObjects } from 'hyparquet'
import { namedSchemas } from '../../schemas/index.js'
import { ParquetFile } from '../../src/exports/parquet.js'

/** The bytes of a file with these documents, which are written so many at a time. */
export const parquetOf = async (
  row: TObject,
  documents: readonly Buffer[],
  { step = documents.length || 1, ...options }: { step?: number; geometry?: boolean } = {},
): Promise<ArrayBuffer> => {
  const file = new ParquetFile(row, namedSchemas, options)
  const parts: Buffer[] = []
  for (let at = 0; at < documents.length; at += step) parts.push(await file.write(documents.slice(at, at + step)))
  parts.push(await file.end())
  return new Uint8Array(Buffer.concat(parts)).buffer
}

/** The rows of a file, as JSON has them. */
export const rowsOf = async (file: ArrayBuffer): Promise<Record<string, unknown>[]> =>
  JSON.parse(JSON.stringify(await parquetReadObjects({ file })))
