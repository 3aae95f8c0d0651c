// What can be exported: the records of each resource, and the answers of entries. Each becomes a file in a format.
import { type TObject, type TSchema, Type } from '@sinclair/typebox'
import {
  AnswerRow,
  csvParameters,
  type ExportQuery,
  exportQuery,
  type FormatName,
  names,
} from '../../schemas/exports.js'
import { joined } from '../../schemas/kit.js'
import { viewOf, type Without } from '../../schemas/views.js'
import type { BsonDocument } from '../bson/reader.js'
import { resources } from '../pipelines/index.js'
import { namedBy, type Resource, type Shape } from '../pipelines/resource.js'
import type { Listing } from '../pipelines/stages.js'
import { csv } from '../serializer/csv.js'
import { geojson } from '../serializer/geojson.js'
import type { Skipped } from '../serializer/items.js'
import { ndjson } from '../serializer/ndjson.js'
import type { RowFormat } from '../serializer/rows.js'
import { type Choice, selectedItem } from '../serializer/selections.js'
import { answersOf } from './answers.js'
import { type Encoder, parquetEncoder, textEncoder } from './encoder.js'

/** The parameters of an export, checked. */
export type ExportListing = ExportQuery & Omit<Listing, 'sortBy' | 'page' | 'perPage'>

/** What can be exported. */
export interface Exported {
  readonly name: string
  readonly operationId: string
  /** What is read for it. */
  readonly resource: Resource<Listing>
  readonly formats: readonly FormatName[]
  /** The parameters. */
  readonly query: TObject
  /** The rows of a record, if they are not the record itself. */
  readonly rowsOf?: (document: BsonDocument) => readonly BsonDocument[]
}

const TABLE_FORMATS = ['ndjson', 'csv', 'parquet'] as const satisfies FormatName[]
/** The pages of a list matter to no export. */
const NO_PAGES = { page: 1, perPage: 1, maxPerPage: 1 }

const ofResource = (resource: Resource<Listing>): Exported => ({
  name: resource.collection,
  operationId: resource.operationIds.export,
  resource,
  formats: resource.collection === 'entries' ? [...TABLE_FORMATS, 'geojson'] : TABLE_FORMATS,
  query: exportQuery(resource.query(NO_PAGES), [], resource.item.named === undefined ? {} : { names }),
})

/** The resources as an export sees them: it passes only those parameters that all of them take. */
const exportable = resources as unknown as Record<keyof typeof resources, Resource<Listing>>

/** Everything that can be exported. */
export const allExported: readonly Exported[] = [
  ...Object.values(exportable).map(ofResource),
  {
    name: 'answers',
    operationId: 'exportAnswers',
    resource: exportable.entries,
    formats: TABLE_FORMATS,
    query: exportQuery(resources.entries.query(NO_PAGES), ['fields', 'expand', 'embed', 'answers'], {}),
    rowsOf: answersOf,
  },
]

/** What is wrong with parameters that the format does not have. */
export const wrongFor = (format: FormatName, listing: ExportListing): { name: string; message: string }[] =>
  [...Object.keys(csvParameters), 'names']
    .filter((name) => format !== 'csv' && listing[name as keyof ExportListing] !== undefined)
    .map((name) => ({ name, message: 'must be left out: only csv has it' }))

/** What is read of each record for an export. */
export const selectionOf = ({ rowsOf }: Exported, format: FormatName, listing: ExportListing): ExportListing => {
  if (rowsOf !== undefined) return { ...listing, fields: ['answers'] }
  const { fields } = listing
  return format === 'geojson' && fields !== undefined ? { ...listing, fields: [...fields, 'location'] } : listing
}

interface EncoderOptions {
  /** The questions that get a column of their own. */
  readonly questions?: readonly string[] | undefined
  readonly skipped?: Skipped | undefined
  /** What the caller does not see. */
  readonly without?: Without
}

/** The file of an export. */
export const encoderOf = (
  exported: Exported,
  format: FormatName,
  listing: ExportListing,
  { questions, skipped, without }: EncoderOptions,
): Encoder => {
  const { rowsOf, resource } = exported
  const item = resource.itemSeen(without)
  const schema = rowsOf === undefined ? shownBy(item, listing, questions !== undefined) : AnswerRow
  const named = viewOf(without).named(listing.answers)
  if (format === 'parquet') {
    const geometry = resource.collection === 'entries' && 'location' in schema.properties
    return parquetEncoder(schema, named, { geometry, rowsOf, skipped })
  }
  const { bom, formulas } = listing
  const rows = {
    ndjson: () => ndjson(schema, named),
    geojson: () => geojson(schema, named),
    csv: () => csv(schema, named, { bom: bom === 'true', keepsFormulas: formulas === 'keep', questions }),
  }[format]()
  const trailer = () =>
    format === 'ndjson' && skipped !== undefined && skipped.records.length > 0
      ? `${JSON.stringify({ unreadable: skipped.records })}\n`
      : ''
  return textEncoder(rowsOf === undefined ? rows : { ...rows, write: writeAll(rows, rowsOf) }, skipped, trailer)
}

/** Writes all rows of a record. */
const writeAll =
  ({ write }: RowFormat, rowsOf: NonNullable<Exported['rowsOf']>): RowFormat['write'] =>
  (document, out) => {
    for (const row of rowsOf(document)) write(row, out)
  }

/** The schema of a row, with the names that stand beside ids. Columns of questions stand behind all others. */
const shownBy = ({ schema, named }: Shape, listing: ExportListing, hasQuestions: boolean): TObject => {
  const { properties } = selectedItem(schema, listing as Choice)
  const beside = new Map(namedBy(listing, named).map(({ id, field, to }) => [id, { field, to }]))
  const all = Object.entries(properties).flatMap(([name, property]): [string, TSchema][] => {
    const found = beside.get(name)
    if (found === undefined) return [[name, property]]
    return [
      [name, property],
      [found.field, Type.Optional(joined(found.to.shown))],
    ]
  })
  const isLast = ([name]: [string, TSchema]) => hasQuestions && name === 'answers'
  return Type.Object(Object.fromEntries([...all.filter((each) => !isLast(each)), ...all.filter(isLast)]))
}
