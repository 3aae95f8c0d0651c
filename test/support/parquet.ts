// Reads Parquet files back.
import { parquetReadObjects } from 'hyparquet'
import { tableOf } from '../../src/core/write/columns.js'
import { jsonLines } from '../../src/core/write/json.js'
import type { Shown } from '../../src/core/write/writer.js'
import { ParquetEncoder } from '../../src/exports/parquet.js'

/** The bytes of a file with these lines of JSON, of which `step` are written at a time. */
export const parquetOf = (shown: Shown, lines: readonly string[], step = lines.length || 1): ArrayBuffer => {
  const file = new ParquetEncoder(tableOf(shown, jsonLines).columns, shown.named)
  const parts: Buffer[] = []
  for (let at = 0; at < lines.length; at += step)
    parts.push(Buffer.from(file.write(Buffer.from(lines.slice(at, at + step).join('')))))
  return new Uint8Array(Buffer.concat([...parts, file.end()])).buffer
}

/** The rows of a file, as JSON has them. */
export const rowsOf = async (file: ArrayBuffer): Promise<Record<string, unknown>[]> =>
  JSON.parse(
    JSON.stringify(await parquetReadObjects({ file }), (_, value) =>
      typeof value === 'bigint' ? Number(value) : value,
    ),
  )
