// What can be exported: the records of each resource, and the answers of entries. Each becomes a file in a format.
import { type TObject, Type } from '@sinclair/typebox'
import {
  AnswerRow,
  csvParameters,
  type ExportQuery,
  exportQuery,
  type FormatName,
  names,
} from '../../schemas/exports.js'
import { listedSchemas } from '../../schemas/index.js'
import type { Without } from '../../schemas/views.js'
import { resources } from '../pipelines/index.js'
import type { Resource } from '../pipelines/resource.js'
import type { Listing } from '../pipelines/stages.js'
import { type Choice, type Projection, projectionOf } from '../reading/projection.js'
import { answerColumns, answersWriter } from '../serializer/answers.js'
import { csv, csvColumns, csvHeader } from '../serializer/csv.js'
import { geojson } from '../serializer/geojson.js'
import { jsonColumns, ndjson } from '../serializer/json.js'
import type { RowFormat } from '../serializer/rows.js'
import { compileDocuments, type Shown } from '../serializer/writer.js'

/** The parameters of an export, checked. */
export type ExportListing = ExportQuery & Omit<Listing, 'sortBy' | 'page' | 'perPage'>

export interface Exported {
  readonly name: string
  readonly operationId: string
  readonly resource: Resource<Listing>
  readonly formats: readonly FormatName[]
  readonly query: TObject
}

const TABLE_FORMATS = ['ndjson', 'csv', 'parquet'] as const satisfies FormatName[]
/** The pages of a list matter to no export. */
const NO_PAGES = { page: 1, perPage: 1, maxPerPage: 1 }

const ofResource = (resource: Resource<Listing>): Exported => ({
  name: resource.collection,
  operationId: resource.operationIds.export,
  resource,
  formats: resource.collection === 'entries' ? [...TABLE_FORMATS, 'geojson'] : TABLE_FORMATS,
  query: exportQuery(resource.query(NO_PAGES), [], resource.item.beside === undefined ? {} : { names }),
})

/** The resources as an export sees them: it passes only those parameters that all of them take. */
const exportable = resources as unknown as Record<keyof typeof resources, Resource<Listing>>

export const allExported: readonly Exported[] = [
  ...Object.values(exportable).map(ofResource),
  {
    name: 'answers',
    operationId: 'exportAnswers',
    resource: exportable.entries,
    formats: TABLE_FORMATS,
    query: exportQuery(resources.entries.query(NO_PAGES), ['fields', 'expand', 'embed', 'answers'], {}),
  },
]

/** What is wrong with parameters that the format does not have. */
export const wrongFor = (format: FormatName, listing: ExportListing): { name: string; message: string }[] =>
  [...Object.keys(csvParameters), 'names']
    .filter((name) => format !== 'csv' && listing[name as keyof ExportListing] !== undefined)
    .map((name) => ({ name, message: 'must be left out: only csv has it' }))

/** What a file shows of each record, and how. */
export interface FileRows {
  /** What is read. It may be more than what is shown. */
  readonly choice: Choice
  readonly shown: Shown
  readonly format: RowFormat
}

/**
 * The rows of a file. Parquet is made of lines of JSON.
 * @param without what the caller does not see
 * @param questions the questions that get a column of their own in CSV
 */
export const rowsOf = (
  exported: Exported,
  format: FormatName,
  without: Without,
  listing: ExportListing,
  questions?: readonly string[],
): FileRows => {
  const { resource } = exported
  const { bom, formulas, fields } = listing
  const ofCsv = { bom: bom === 'true', keepsFormulas: formulas === 'keep' }
  if (exported.name === 'answers') {
    const isCsv = format === 'csv'
    const begin = isCsv ? csvHeader(answerColumns, ofCsv) : ''
    const write = answersWriter(isCsv ? csvColumns(ofCsv) : { ...jsonColumns, end: `${jsonColumns.end}\n` })
    const shown = { schema: AnswerRow, named: listedSchemas }
    return { choice: { fields: ['answers'] }, shown, format: { begin, between: '', end: '', write } }
  }
  const choice = listing as Choice
  const projection = projectionOf(resource, without, choice)
  switch (format) {
    case 'csv': {
      const shown = questions === undefined ? projection : withAnswersLast(projection)
      return { choice, shown, format: csv(shown, ofCsv, questions) }
    }
    case 'geojson': {
      // A feature has a place, also if that is no field of it.
      const read = fields === undefined ? choice : { ...choice, fields: [...fields, 'location'] }
      return { choice: read, shown: projection, format: geojson(projection) }
    }
    default:
      return { choice, shown: projection, format: ndjson(projection.compiled(compileDocuments)) }
  }
}

/** The columns of questions stand behind all others. */
const withAnswersLast = ({ schema, named }: Projection): FileRows['shown'] => {
  const properties = Object.entries(schema.properties).sort(
    ([a], [b]) => Number(a === 'answers') - Number(b === 'answers'),
  )
  return { schema: Type.Object(Object.fromEntries(properties)), named }
}
