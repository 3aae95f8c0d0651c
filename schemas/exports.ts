// Exports: whole lists as files. Their filters are those of the lists.
import { type Static, type TObject, Type } from '@sinclair/typebox'
import { exampleIds, Id, Text, unreadable } from './common.js'
import { defaulted, filter, literals, strict, word } from './kit.js'

/** The formats of files, each with its media type. */
export const mediaTypes = {
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  csv: 'text/csv',
  parquet: 'application/vnd.apache.parquet',
  geojson: 'application/geo+json',
  ndjson: 'application/x-ndjson',
} as const
export type FormatName = keyof typeof mediaTypes

/** A row of the export of answers. */
export const AnswerRow = Type.Object(
  {
    entry: Id('Id of the entry.', exampleIds.entry),
    position: Type.Integer({ description: 'Place of the question in the entry, from 1.', examples: [1] }),
    type: word(['singleChoice', 'multiChoice'], { title: 'AnswerType', description: 'Type of the question.' }),
    question: Text('Text of the question.', 'What is your main source of drinking water?'),
    answer: Type.Optional(Text('The answer, or one of several choices. Left out where there is none.', 'Borehole')),
  },
  { $id: 'AnswerRow', description: 'An answer of an entry, or one of the choices of an answer.' },
)

const trueOrFalse = (description: string) => filter(literals(['true', 'false'], { title: 'TrueOrFalse', description }))

/** The parameters that only CSV has. */
export const csvParameters = {
  bom: trueOrFalse('CSV only. With `true`, the file begins with a byte order mark, by which Excel knows UTF-8.'),
  formulas: filter(
    literals(['keep'], {
      title: 'Formulas',
      description:
        'CSV only. By default a text that a spreadsheet would run as a formula gets an apostrophe before it. With `keep` all texts stay as they are, for programs.',
    }),
  ),
}

/** The parameters of files for people. */
export const tableParameters = {
  ...csvParameters,
  labels: trueOrFalse(
    'CSV and XLSX only. With `true`, the header is in words, as in *Created at*, and names stand before ids.',
  ),
}

/** A parameter of spreadsheets whose list refers to other records. */
export const names = trueOrFalse(
  'CSV and XLSX only. With `true`, the names of the form, the dispatch, the project and the agent stand beside their ids.',
)

/** The most records of an export that has a limit. */
const MAX_LIMIT = 1_000_000_000

/** The parameters of an export, without its filters. */
const own = {
  sortOrder: defaulted(
    literals(['asc', 'desc'], {
      title: 'SortDirection',
      description: 'Direction of the order, which is always that of the ids. They sort by the time of creation.',
    }),
    'asc',
  ),
  limit: filter(
    Type.Integer({
      minimum: 1,
      maximum: MAX_LIMIT,
      description: 'The most records, by default all. With `sortOrder=desc` it is the newest so many.',
    }),
  ),
  unreadable: unreadable(
    'By default one of them breaks the connection. The last line of NDJSON lists those that are left out, and the log names them.',
  ),
}

/** What selects a page of a list, which an export does not have. */
const ofPages = ['sortBy', 'sortOrder', 'page', 'perPage', 'total', 'cursor', 'after', 'unreadable']

export interface ExportQuery extends Static<TObject<typeof own & typeof tableParameters>> {
  readonly names?: 'true' | 'false'
  readonly form?: string
}

/**
 * The parameters of an export.
 * @param list those of the list of the resource
 * @param without the names of parameters that the export does not have
 * @param more parameters besides those of every export
 */
export const exportQuery = (list: TObject, without: readonly string[], more: TObject['properties']): TObject =>
  strict(
    {
      ...own,
      ...Object.fromEntries(
        Object.entries(list.properties).filter(([name]) => ![...ofPages, ...without].includes(name)),
      ),
      ...tableParameters,
      ...more,
    },
    { explode: false },
  )

/** The path parameter of an export. */
export const FormatParams = (formats: readonly FormatName[]) =>
  Type.Object({
    format: literals(formats, {
      title: formats.includes('geojson') ? 'LayerFormat' : 'TableFormat',
      description: 'Format of the file.',
    }),
  })
