// GET /v1/exports/<name>.<format>: a whole list as a file.
import { type FormatName, FormatParams, mediaTypes } from '../../schemas/exports.js'
import { type Asked, type FileAnswer, fileNameOf } from '../core/door/answer.js'
import type { Capability } from '../core/door/capability.js'
import { attached, FILE, problemsOn } from '../core/door/responses.js'
import type { Route } from '../core/door/table.js'
import { problem } from '../core/problems/problems.js'
import type { Reader } from '../core/read/reader.js'
import { allExported, type Exported, type ExportListing, wrongFor } from './exported.js'
import { openFile } from './file.js'
import { tools } from './tools.js'

const EXPORT =
  'All records that match every given filter, as one file, in the order of their ids. It is sent while it is read, however large it is. If it cannot be completed, the connection breaks: a file whose transfer ended without an error is whole. Go on after a broken one with `idFrom`, the id of the last whole record.'

const exportRoute = (exported: Exported): Route => {
  const { name, formats, query, operationId } = exported
  return {
    path: `/exports/${name}.:format`,
    operationId,
    summary: `Export ${name}`,
    description: EXPORT,
    tag: 'Exports',
    params: FormatParams(formats),
    query,
    response: FILE,
    responseDescription: 'The file.',
    problems: problemsOn(exported.resource.collection).filter((code) => code !== 'not_acceptable'),
    headers: attached,
    types: formats.map((format) => mediaTypes[format]),
    isTypeInPath: true,
    operation: (reader, asked) => exportRecords(reader, exported, asked),
  }
}

/** @throws the problem `invalid_parameter` if a parameter is not one of the format, and what openFile() throws */
const exportRecords = async (
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

export const exported: Capability = {
  tags: [
    {
      name: 'Exports',
      description: 'Whole lists as files: XLSX, CSV, Parquet, GeoJSON and NDJSON',
      hasFiltersOfLists: true,
    },
  ],
  routes: () => allExported.map(exportRoute),
  tools,
}
