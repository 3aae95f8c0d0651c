// How many entries there are, in groups: as rows of JSON or of a table.
import { mediaTypes } from '../../schemas/exports.js'
import { MAX_TOP, type SummaryFileQuery, type SummaryQuery } from '../../schemas/summaries.js'
import { type Asked, fileNameOf, type RowsAnswer } from '../core/door/answer.js'
import type { Reader } from '../core/read/reader.js'
import { type CountedEntries, type Group, namesOf, summaryOf, sumOf, tooManyGroups } from '../core/read/summaries.js'
import { type Cell, csvTable } from '../core/write/csv.js'
import { json, jsonArray } from '../core/write/json.js'
import type { Output } from '../core/write/output.js'

export const COUNTS =
  'Counts the entries that match every given filter, as they are stored, in groups. A large count may be some seconds old: `asOf` says when it was made.'

/** How many bytes a row takes, besides its texts, where it is written. */
const ROW_BYTES = 200

/** Counts entries. `rowOf` is a group as it is shown. */
export const summarizeEntries = async (reader: Reader, { query }: Pick<Asked<SummaryQuery>, 'query'>) => {
  const { summary, columns, answer } = await countedFor(reader, query)
  const { groups, sum, shown, total, asOf } = summary
  const others = { groups: groups - shown.length, count: sum - sumOf(shown) }
  const metadata = { total, groups, others, ...(sum !== total && { multiple: true }), asOf: asOf.toISOString() }
  const rowOf = (group: Group): Readonly<Record<string, unknown>> =>
    Object.fromEntries(columns.map(({ name, valueIn }) => [name, valueIn(group)]))
  const rows: RowsAnswer<Group> = {
    ...answer,
    format: jsonArray((group, out) => out.text(json(rowOf(group)))),
    envelope: { before: { success: true }, name: 'data', after: () => ({ _metadata: metadata }) },
  }
  return { ...rows, rowOf, metadata }
}

/** The same as a table: a cell of the map has two columns, and so on. */
export const summarizeEntriesAsCsv = async (
  reader: Reader,
  { query }: Asked<typeof SummaryFileQuery.static>,
): Promise<RowsAnswer<Group>> => {
  const { top, bom, formulas, ...filters } = query
  const { summary, columns, answer } = await countedFor(reader, { ...filters, top: top ?? MAX_TOP })
  if (top === undefined && summary.groups > MAX_TOP)
    throw tooManyGroups(`makes ${summary.groups} groups, and without top a file has at most ${MAX_TOP}`)
  const names = columns.flatMap(({ name, inner }) => inner?.map((each) => `${name}.${each}`) ?? name)
  const cellsOf = (group: Group) =>
    columns.flatMap(({ valueIn, inner }) => {
      const value = valueIn(group)
      return inner === undefined ? value : inner.map((each) => (value as Record<string, unknown> | null)?.[each])
    }) as Cell[]
  const options = { keepsFormulas: formulas === 'keep' }
  const begin = csvTable([names], { ...options, bom: bom === 'true' })
  const write = (group: Group, out: Output) => out.text(csvTable([cellsOf(group)], options))
  return {
    ...answer,
    mediaType: `${mediaTypes.csv}; charset=utf-8`,
    fileName: fileNameOf('summary', 'csv'),
    format: { begin, write },
  }
}

/** Counts entries, with what both kinds of rows have in common. */
const countedFor = async (reader: Reader, query: Parameters<typeof summaryOf>[1]) => {
  const summary = await summaryOf(reader, query)
  const columns = await columnsOf(reader, query, summary)
  const { hash, total, groups, sum, shown } = summary
  const size = shown.reduce((sum, { characters }) => sum + characters + ROW_BYTES, 0)
  // When they were counted does not matter.
  const tag = { besides: [hash, total, groups, sum, ...columns.flatMap(({ beside = [] }) => [...beside])] }
  return { summary, columns, answer: { rows: shown, size, tag } }
}

interface Column {
  readonly name: string
  readonly valueIn: (group: Group) => unknown
  /** What its values have inside, if they are objects. */
  readonly inner?: readonly string[]
  /** The names that it shows. */
  readonly beside?: Iterable<unknown>
}

const columnsOf = async (
  reader: Reader,
  { names, measure }: Parameters<typeof summaryOf>[1],
  summary: CountedEntries,
): Promise<Column[]> => {
  const columns: Column[] = []
  for (const [i, { name }] of summary.dimensions.entries()) {
    const valueIn = ({ values }: Group) => values[i]
    columns.push({ name, valueIn, ...(name.startsWith('location:') && { inner: ['longitude', 'lattitude'] }) })
    const beside = names === 'true' ? await namesOf(reader, name, summary.shown.map(valueIn)) : undefined
    if (beside === undefined) continue
    columns.push({ name: `${name}Name`, valueIn: (group) => beside.get(valueIn(group))?.name ?? null, beside })
    const expected = (group: Group) => beside.get(valueIn(group))?.totalExpectedEntries ?? null
    if (name === 'dispatch') columns.push({ name: 'totalExpectedEntries', valueIn: expected })
  }
  columns.push({ name: 'count', valueIn: ({ count }) => count })
  const inner = ['count', 'min', 'mean', 'max', 'median', 'p10', 'p90']
  const measured = ({ measured: count, min, mean, max, percentiles }: Group) => ({
    ...Object.fromEntries(inner.map((name) => [name, null])),
    count,
    ...(count > 0 && { min, mean, max, ...percentiles }),
  })
  if (measure) columns.push({ name: measure === 'duration' ? measure : 'answer', valueIn: measured, inner })
  return columns
}
