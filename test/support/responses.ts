// What a response says, in any of its formats and compressions.
import { brotliDecompressSync, constants, gunzipSync } from 'node:zlib'
import type { LightMyRequestResponse } from 'fastify'
import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import { readCsv } from './csv.js'
import { sheetRows, unzip } from './xlsx.js'

const json = (value: unknown): string =>
  JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? String(inner) : inner))

/** Rows with columns of recipients, as JSON has them. */
const nested = (rows: readonly Record<string, unknown>[]): string =>
  json(
    rows.map(({ 'recipients.agents': agents, 'recipients.agentGroups': agentGroups, ...others }) => {
      const listOf = (cell: unknown) => (typeof cell === 'string' ? cell.split('; ').map((id) => ({ id })) : cell)
      return { ...others, agents: listOf(agents), agentGroups: listOf(agentGroups) }
    }),
  )

/** The field that a column shows, whose name may be in words. */
const fieldOf = (column: unknown): string =>
  `${column}`
    .replace(/^[A-Z]/, (letter) => letter.toLowerCase())
    .replace(/ ([a-z])/g, (_, letter) => letter.toUpperCase())
    .replace(/^recipientsA/, 'recipients.a')

/** All parts of a file, with the rows of its sheet as JSON. */
const sheetText = (file: Buffer): string => {
  const parts = unzip(file)
  const [header = [], ...rows] = sheetRows([...parts.values()].at(-1) as string)
  const records = rows.map((row) => Object.fromEntries(row.map((cell, i) => [fieldOf(header[i]), cell])))
  return json([...parts.values()].slice(0, -1)) + json(header) + nested(records)
}

/** The bytes of a response as they were before they were compressed, as far as it goes. */
export const unpacked = ({ headers, rawPayload }: LightMyRequestResponse): Buffer => {
  const coding = headers['content-encoding']
  if (rawPayload.length === 0) return rawPayload
  if (coding === 'gzip') return gunzipSync(rawPayload, { finishFlush: constants.Z_SYNC_FLUSH })
  if (coding === 'br') return brotliDecompressSync(rawPayload, { finishFlush: constants.BROTLI_OPERATION_FLUSH })
  return rawPayload
}

/** Nothing for an export that breaks off, as it does at a record that does not fit. Any other error is one of the test. */
export const ifBrokenOff = (err: NodeJS.ErrnoException): undefined => {
  if (err.code !== 'LIGHT_ECONNRESET') throw err
}

/** All that a response says, as text, with records as JSON. */
export const textOf = async (response: LightMyRequestResponse): Promise<string> => {
  const bytes = unpacked(response)
  const type = String(response.headers['content-type'])
  if (type.includes('parquet') && bytes.length > 8 && bytes.toString('latin1', bytes.length - 4) === 'PAR1') {
    const file = new Uint8Array(bytes).buffer
    const { key_value_metadata, row_groups } = parquetMetadata(file)
    const statistics = row_groups.flatMap(({ columns }) => columns.map(({ meta_data }) => meta_data?.statistics))
    return nested(await parquetReadObjects({ file })) + json([key_value_metadata, statistics])
  }
  if (type.endsWith('.sheet') && bytes.includes('PK\x05\x06')) return sheetText(bytes)
  const text = bytes.toString()
  if (!type.includes('text/csv')) return text
  const [header = [], ...rows] = readCsv(text.replace(/^\ufeff/, '').slice(0, text.lastIndexOf('\r\n') + 2))
  return json(header) + nested(rows.map((row) => Object.fromEntries(row.map((cell, i) => [fieldOf(header[i]), cell]))))
}
