// GET /v1/exports/<name>.<format>: a whole list as a file.
import type { Answered } from '../../schemas/entries.js'
import { type FormatName, FormatParams, mediaTypes } from '../../schemas/exports.js'
import { type Asked, fileNameOf } from '../core/door/answer.js'
import type { Capability, Route } from '../core/door/capability.js'
import { attached, FILE, problemsOn } from '../core/door/responses.js'
import { filters, text, total } from '../core/door/tools.js'
import { baseOf } from '../core/http/caller.js'
import { entries } from '../core/pipelines/entries.js'
import { problem } from '../core/problems/problems.js'
import { listOf } from '../core/read/list.js'
import { allExported, type Exported, type ExportListing, wrongFor } from './exported.js'
import { openFile } from './file.js'

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
    async operation(reader, { params, query: listing }: Asked<ExportListing>) {
      const format = params.format as FormatName
      const errors = wrongFor(format, listing).map((error) => ({ in: 'query', ...error }))
      const detail = errors.map(({ name, message }) => `${name} ${message}`).join('; ')
      if (errors.length > 0) throw problem('invalid_parameter', detail, { errors })
      return {
        ...(await openFile(reader, { exported, format, listing })),
        mediaType: format === 'csv' ? `${mediaTypes.csv}; charset=utf-8` : mediaTypes[format],
        fileName: fileNameOf(name, format),
      }
    },
  }
}

/** A checked argument as a URL has it. */
const textOf = (value: unknown): string => {
  if (value instanceof Date) return value.toISOString()
  if (typeof value !== 'object') return String(value)
  const { key, answer } = value as Answered
  return answer === undefined ? key : `${key}=${answer}`
}

const tools: Capability['tools'] = {
  export_link: {
    description: 'The address of a file with all entries that match, and a command that fetches it.',
    takes: { ...FormatParams(Object.keys(mediaTypes) as FormatName[]).properties, ...filters },
    gives: { total, url: text, curl: text },
    async call(request, { zone: _, ...query }, { format, zone: __, ...texts }) {
      const { total } = await listOf(request.reader, entries, { ...query, perPage: 1, fields: ['id'] })
      const all = Object.entries(texts).flatMap(([name, value]) =>
        [value].flat().map((each): [string, string] => [name, textOf(each)]),
      )
      const parameters = new URLSearchParams(all)
      const path = `/v1/exports/entries.${format}${parameters.size > 0 ? '?' : ''}${parameters}`
      const url = `${baseOf(request)}${path}`
      const curl = `curl --fail-with-body -H "Authorization: Bearer $API_KEY" -o entries.${format} '${url}'`
      return { total, url, curl }
    },
  },
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
