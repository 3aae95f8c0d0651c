// What can be exported: the records of each resource, and the answers of entries. Each becomes a file in a format.
import { type TObject, Type } from '@sinclair/typebox'
import type { Listing } from '../../schemas/common.js'
import { type ExportQuery, exportQuery, type FormatName, names } from '../../schemas/exports.js'
import { listedSchemas } from '../../schemas/index.js'
import type { Without } from '../../schemas/views.js'
import { resources } from '../core/pipelines/index.js'
import type { Resource } from '../core/pipelines/resource.js'
import { type Choice, type Projection, projectionOf } from '../core/read/projection.js'
import { type Column, type ColumnFormat, tableOf } from '../core/write/columns.js'
import { csvColumns } from '../core/write/csv.js'
import { geojson } from '../core/write/geojson.js'
import { asLines, jsonLines, ndjson } from '../core/write/json.js'
import { type QuestionColumn, questionColumns } from '../core/write/question-columns.js'
import { compileDocuments, type Shown } from '../core/write/writer.js'
import { answersTable } from './answers.js'
import { countingRows, type Rows, xlsxColumns } from './xlsx.js'

export type ExportListing = ExportQuery & Omit<Listing, 'sortBy' | 'page' | 'perPage'>

export interface Exported {
  readonly name: string
  readonly operationId: string
  readonly resource: Resource
  readonly formats: readonly FormatName[]
  readonly query: TObject
}

const TABLE_FORMATS = ['xlsx', 'csv', 'parquet', 'ndjson'] as const satisfies FormatName[]
type TableFormat = (typeof TABLE_FORMATS)[number]
/** The most records of a sheet of XLSX, beside the row of names. */
export const MAX_RECORDS = 1_048_575
/** The pages of a list matter to no export. */
const NO_PAGES = { page: 1, perPage: 1, maxPerPage: 1 }

const ofResource = (resource: Resource): Exported => ({
  name: resource.collection,
  operationId: resource.operationIds.export,
  resource,
  formats: resource.collection === 'entries' ? [...TABLE_FORMATS, 'geojson'] : TABLE_FORMATS,
  query: exportQuery(resource.query(NO_PAGES), [], resource.item.joined === undefined ? {} : { names }),
})

export const allExported: readonly Exported[] = [
  ...Object.values(resources).map(ofResource),
  {
    name: 'answers',
    operationId: 'exportAnswers',
    resource: resources.entries,
    formats: TABLE_FORMATS,
    query: exportQuery(resources.entries.query(NO_PAGES), ['fields', 'expand', 'embed', 'answers'], {}),
  },
]

/** The parameters that not all formats have, with those that have them. */
const OF_FORMATS: Readonly<Partial<Record<keyof ExportListing, readonly FormatName[]>>> = {
  bom: ['csv'],
  formulas: ['csv'],
  labels: ['csv', 'xlsx'],
  names: ['csv', 'xlsx'],
}

export const wrongFor = (format: FormatName, listing: ExportListing): { name: string; message: string }[] =>
  Object.entries(OF_FORMATS)
    .filter(([name, formats]) => listing[name as keyof ExportListing] !== undefined && !formats.includes(format))
    .map(([name, formats]) => {
      const have = formats.length > 1 ? 'have' : 'has'
      return { name, message: `must be left out: only ${formats.join(' and ')} ${have} it` }
    })

/** What a worker needs to know of a file. */
export interface FileOptions {
  readonly name: string
  readonly format: FormatName
  readonly without: Without
  readonly listing: ExportListing
  /** Those that get a column of their own. */
  readonly questions?: readonly string[] | undefined
}

/** The rows of formats with columns. Parquet is made of lines of JSON. */
const columnFormats: Readonly<Record<TableFormat, (listing: ExportListing, counted: Rows) => ColumnFormat>> = {
  xlsx: (_, counted) => xlsxColumns(counted),
  csv: csvColumns,
  parquet: () => jsonLines,
  ndjson: () => jsonLines,
}

/** What a column is called in words: `form.name` is Form name. */
const headingOf = (name: string): string => {
  const words = name.replace(/\.|(?=[A-Z])/g, ' ').toLowerCase()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** How a format writes rows. With `labels`, the header is in words. The names of questions are words already. */
const columnFormatOf = (
  format: TableFormat,
  listing: ExportListing,
  counted: Rows,
  questions: readonly QuestionColumn[] = [],
): ColumnFormat => {
  const made = columnFormats[format](listing, counted)
  if (listing.labels !== 'true') return made
  const asked = new Set(questions.map(({ name }) => name))
  return { ...made, header: (names) => made.header(names.map((name) => (asked.has(name) ? name : headingOf(name)))) }
}

/** What is read for a file. It may be more than what is shown: a feature has a place, also if that is no field of it. */
export const choiceOf = ({ name }: Exported, format: FormatName, listing: ExportListing): Choice => {
  if (name === 'answers') return { fields: ['answers'] }
  const { fields } = listing as Choice
  return format === 'geojson' && fields !== undefined ? { ...listing, fields: [...fields, 'location'] } : listing
}

/**
 * The rows of a file, without what the caller does not see. Columns, if the format has some, refer to the schemas in `named`.
 * @param counted counts the rows of a sheet
 */
export const rowFormatOf = ({ name, resource }: Exported, options: FileOptions, counted: Rows) => {
  const { format, without, listing, questions } = options
  if (name === 'answers') {
    const { columns, rows } = answersTable(columnFormatOf(format as TableFormat, listing, counted))
    const lines = format === 'ndjson' ? asLines(rows) : rows
    return { columns, named: listedSchemas, format: countingRows(counted, lines) }
  }
  const projection = projectionOf(resource, without, listing as Choice)
  const { named } = projection
  if (format === 'ndjson') return { columns: [], named, format: asLines(ndjson(projection.compiled(compileDocuments))) }
  const shown = questions === undefined ? projection : withAnswersLast(projection)
  const asked = questions && questionColumns(questions, namesBeside(resource, projection, listing.labels === 'true'))
  if (format === 'geojson') return { columns: [], named, format: geojson(shown, asked) }
  const { columns, rows } = tableOf(shown, columnFormatOf(format, listing, counted, asked), asked)
  return { columns, named, format: countingRows(counted, rows) }
}

/** What no question is called. It does not depend on which fields are shown, unless records are embedded. */
const namesBeside = (resource: Resource, projection: Projection, isLabelled: boolean): string[] =>
  [projectionOf(resource, undefined, { names: 'true' }), projection]
    .flatMap((each) => each.compiled(columnsIn))
    .flatMap(({ name }) => (isLabelled ? [name, headingOf(name)] : [name]))
const columnsIn = (shown: Shown): readonly Column[] => tableOf(shown, jsonLines).columns

/** The columns of questions stand behind all others. */
const withAnswersLast = ({ schema, named }: Projection): Shown => {
  const { answers, ...others } = schema.properties
  return { schema: Type.Object({ ...others, ...(answers && { answers }) }), named }
}
