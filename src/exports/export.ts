// A whole list as a file.
import { type FormatName, mediaTypes } from '../../schemas/exports.js'
import type { Asked, FileAnswer } from '../core/door/answer.js'
import { problem } from '../core/problems/problems.js'
import type { Reader } from '../core/read/reader.js'
import { openFile } from './file.js'
import { type Exported, type ExportListing, wrongFor } from './index.js'

/** @throws the problem `invalid_parameter` if a parameter is not one of the format, and what openFile() throws */
export const exportRecords = async (
  reader: Reader,
  exported: Exported,
  { params, query: listing }: Asked<ExportListing>,
): Promise<FileAnswer> => {
  const format = params.format as FormatName
  const errors = wrongFor(format, listing).map((error) => ({ in: 'query', ...error }))
  if (errors.length > 0)
    throw problem('invalid_parameter', errors.map(({ name, message }) => `${name} ${message}`).join('; '), { errors })
  return {
    ...(await openFile(reader, { exported, format, listing })),
    mediaType: format === 'csv' ? `${mediaTypes.csv}; charset=utf-8` : mediaTypes[format],
    fileName: fileNameOf(exported.name, format),
  }
}

/** The name of a file of today. */
export const fileNameOf = (name: string, format: string): string =>
  `${name}-${new Date().toISOString().slice(0, 10)}.${format}`
