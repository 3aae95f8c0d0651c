// GET /v1/exports/<name>.<format>: a whole list as a file.
import { FormatParams, mediaTypes } from '../../schemas/exports.js'
import { attached, FILE, problemsOn } from '../core/door/responses.js'
import type { Route } from '../core/door/table.js'
import { exportRecords } from './export.js'
import type { Exported } from './index.js'

const EXPORT =
  'All records that match every given filter, as one file, in the order of their ids. It is sent while it is read, however large it is. If it cannot be completed, the connection breaks: a file whose transfer ended without an error is whole. Go on after a broken one with `idFrom`, the id of the last whole record.'

export const exportRoute = (exported: Exported): Route => {
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
