// Records whose texts break a careless format or a careless reader, and what the rows of their exports must say.
import type { TSchema } from '@sinclair/typebox'
import { AnswerRow } from '../../schemas/exports.js'
import { resources } from '../../src/core/pipelines/index.js'
import { projectionOf } from '../../src/core/read/projection.js'
import type { Store } from '../../src/core/store/store.js'
import { flattened, type Item } from '../../test/support/formats.js'
import { a, b } from '../../test/support/tenants.js'

const TEXTS = [
  ...['', '\0', 'a\0b', ' ', '"', '""', ',', ';', "'", '\\', '\\N', '\n', '\r', '\r\n', 'a\r\nb', 'a\tb'],
  ...['"a","b"', '#', '-- x', '%', '=1+1', '+1', '-1', '@a', 'null', 'NULL', 'NA', 'NaN', 'true', '007'],
  ...['1e5', '2025-03-14', '{"a":1}', '[]', 'ọ̀kọ́', 'שלום', '\u202eabc', '😀', '\u2028\u2029', '\ufeff'],
  ...['\x01\x1f\x7f', '\ufffd', 'x'.repeat(5000)],
]

/** Writes entries, agents and dispatches with these texts. As many have no field that may be missing. */
export const fillHostile = async (store: Store): Promise<void> => {
  const asked = { type: 'text', question: 'Why, “you”?\n' }
  const { location, duration, dispatch, form, project, agent, ...entry } = a.entry(0)
  const { email, phone, lastLogin, ...person } = a.agent(0)
  const { form: _, project: __, createdBy, modifiedBy, totalExpectedEntries, ...task } = a.dispatch(0)
  const nobody = { agents: [], agentGroups: [] }
  const records = {
    entries: TEXTS.flatMap((text, i) => [
      {
        ...a.entry(i),
        ...{ _id: `${i} ${text}`, status: text, duration: i % 2 === 0 ? i : -1.5e-7 * i },
        location: { address: text, city: text, coordinates: { longitude: i / 3, lattitude: (1 - i) / 7 } },
        answers: [
          { ...asked, answer: text },
          { ...asked, answer: [text, 'b', text] },
          { type: text, question: text },
          { ...asked, answer: [] },
        ],
      },
      { ...entry, _id: `bare ${i}`, answers: [], ...(i % 2 === 0 && { location: { state: text } }) },
    ]),
    agents: TEXTS.flatMap((text, i) => [
      { ...a.agent(i), firstName: text, phone: text, location: [{ city: text }, {}] },
      { ...person, _id: `bare ${i}`, location: [] },
    ]),
    dispatches: TEXTS.flatMap((text, i) => [
      { ...a.dispatch(i), name: text, recipients: { agents: [`${i}`], agentGroups: [text, 'b'] } },
      { ...task, _id: `bare ${i}`, recipients: nobody },
    ]),
    users: [a.user],
  }
  for (const [name, documents] of Object.entries(records)) await store.insert(name as 'users', documents as never)
}

/** Forms whose ids look like numbers. */
export const [ASKED, MANY] = ['0651430440', '12345e67']

/** A question whose answers are days, which are texts. */
const DAY = 'When?'
/** Questions that are called like columns or like each other, and their columns. */
const QUESTIONS: readonly (readonly [question: string, column: string])[] = [
  ...([
    ['id', 'id (a56145270ce6)'],
    ['ID ', 'ID (efb046db8c83)'],
    ['Status', 'Status (920e413c7d41)'],
    ['', 'question (e3b0c44298fc)'],
    ['\u2028', 'question (9302ba54172c)'],
  ] as const),
  ...([
    ['a\r\nb', 'a b'],
    ['Geom', 'Geom (e4681d6ee4db)'],
    ['1;\t2', '1; 2'],
    ['\x85"é", 1,5', '"é", 1,5'],
  ] as const),
  [DAY, DAY],
  ['x'.repeat(300), `${'x'.repeat(255)} (0d4e2ca9e9cb)`],
]
/** Texts in which a reader may end a row, or a cell. */
const ROW_ENDS = ['\u2028', 'a\u0085b', '\r\n', ';', '1;2\t3', 'a"b', '-1', '007', '1e5', '1.50']
const MANY_ROWS = 25_000

/** Writes records whose ids and telephones are numbers for who guesses, and a form whose last entry differs from all before. */
export const fillGuessed = async (store: Store): Promise<void> => {
  const looks = (i: number) => [`${651_430_440 + i}0000030000`, `0${i}`, `${i}e${i}`][i % 3] as string
  const { location, ...even } = b.entry(0)
  const many = Array.from({ length: MANY_ROWS }, (_, i) => ({ ...even, _id: `many ${i}`, form: MANY, duration: i }))
  const last = { ...even, _id: 'many last', form: MANY, location, duration: 0.5, status: 'a, "b"\r\n;' }
  const asked = ROW_ENDS.map((rowEnd, i) => ({
    ...b.entry(i),
    ...{ _id: looks(i), form: ASKED, agent: looks(i), status: rowEnd, duration: i },
    answers: QUESTIONS.flatMap(([question], j) =>
      // Some have no answer, some no words, and some several.
      (i + j) % 4 === 0
        ? []
        : Array.from({ length: question === DAY ? 1 : ((i + j) % 4) - 1 || 1 }, () => ({
            type: 't',
            question,
            answer: question === DAY ? `2025-01-${10 + i}` : j % 2 ? rowEnd : [rowEnd, '', 'b'].slice(i % 4),
          })),
    ),
  }))
  await store.insert('entries', asked as never)
  for (let i = 0; i < MANY_ROWS; i += 1000) await store.insert('entries', many.slice(i, i + 1000) as never)
  await store.insert('entries', [last] as never)
  const agents = ROW_ENDS.map((_, i) => ({ ...b.agent(i), _id: looks(i), phone: `${i % 2 ? '0' : '+234'}80${i}` }))
  await store.insert('agents', agents as never)
}

/** The rows of an export of answers, made of the items of a list with `answers=list`. */
export const answerRows = (entries: readonly Item[]): Item[] =>
  entries.flatMap(({ id, answers }) =>
    (answers as Item[]).flatMap(({ answer = [], ...others }, i) => {
      const row = { entry: id, position: i + 1, ...others }
      const words = answer as unknown[]
      return words.length === 0 ? [row] : words.map((answer) => ({ ...row, answer }))
    }),
  )

const schemaOf = (name: string): TSchema =>
  name === 'answers' ? AnswerRow : projectionOf(resources[name as keyof typeof resources], undefined).schema

/** What a cell of a spreadsheet says. */
const cellOf = (value: unknown, path: string): unknown => {
  if (!Array.isArray(value)) return value
  return path.startsWith('recipients.') ? value.map(({ id }) => id).join('; ') : JSON.stringify(value)
}

const without = (row: Item, missing: readonly unknown[]): Item =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => !missing.includes(value)))
const mapped = (row: Item, change: (value: unknown, path: string) => unknown): Item =>
  Object.fromEntries(Object.entries(row).map(([path, value]) => [path, change(value, path)]))

/** The answers of an item, each question in its column. */
const asColumns = ({ answers, ...row }: Item): Item => {
  for (const [question, column] of QUESTIONS) {
    const same = (answers as Item[]).filter((each) => each.question === question)
    if (same.length > 0) row[column] = same.flatMap(({ answer }) => answer).join('; ')
  }
  return row
}

export interface ReadTable {
  /** What the list is called. */
  readonly list: string
  /** Whether each question has a column. */
  readonly hasQuestions: boolean
  readonly format: string
  readonly reader: string
}

/** Readers that do not tell an empty text from a missing value. */
const isEmptyMissing = ({ format, reader }: ReadTable): boolean =>
  (format === 'csv' && ['csv', 'geopandas', 'pandas'].includes(reader)) ||
  (format === 'xlsx' && !['openpyxl', 'openxlsx', 'poi', 'polars', 'sheetjs'].includes(reader))

/** Whether the reader has a geometry, made of the place. */
const isLayer = ({ format, reader }: ReadTable): boolean =>
  reader === 'geopandas' && ['geojson', 'parquet'].includes(format)

/** Readers whose numbers are written with 15 digits. */
const IN_15_DIGITS = ['libreoffice', 'openxlsx', 'readxl']

/** What programs make of some texts, by the format and the reader. */
const CHANGES: Readonly<Record<string, (text: string) => string>> = {
  'csv geopandas': (text) => text.replace(/\r\n?/g, '\n'),
  'geojson geopandas': (text) => text.replace(/\0.*/s, ''),
  'xlsx exceljs': (text) => asInXml(text),
  'xlsx geopandas': (text) => toSeconds(asInXml(text)),
  'xlsx gnumeric': (text) => asInXml(text.replace('\ufeff', '')),
  'xlsx libreoffice': (text) => text.replace(/\r\n/g, '\n'),
  'xlsx openpyxl': (text) => asInXml(text),
  'xlsx openxlsx': (text) => asInXml(text.replace(/^xml:space="preserve">/, '').replaceAll('&#13;', '\r')),
  'xlsx pandas': (text) => asInXml(text),
  'xlsx readxl': (text) => text.replaceAll('\0', '').replace(/^[ \t\n]+$/, ''),
}
/** Control characters as XLSX has them. */
const asInXml = (text: string): string =>
  text.replace(/(?![\t\n\r\x7f-\x9f])\p{Cc}/gu, (control) => {
    const code = control.charCodeAt(0).toString(16).toUpperCase()
    return `_x${code.padStart(4, '0')}_`
  })
/** A time that is a millisecond from a whole second is that second. */
const toSeconds = (text: string): string =>
  text.replace(/^\d{4}-.*\.(999|00[01])Z$/, (time) => new Date(Math.round(Date.parse(time) / 1e3) * 1e3).toISOString())

/** What a program tells of a row. */
const told = (table: ReadTable, row: Item): Item => {
  const change = CHANGES[`${table.format} ${table.reader}`] ?? ((text) => text)
  const cells = mapped(row, (value) => {
    if (typeof value === 'number' && IN_15_DIGITS.includes(table.reader)) return Number(value.toPrecision(15))
    return typeof value === 'string' ? change(value) : value
  })
  return without(cells, isEmptyMissing(table) ? [undefined, null, ''] : [undefined, null])
}

/** A row of an export as a program must read it, in columns, given the item of the list. */
export const wantedRow = (table: ReadTable, item: Item): Item => {
  const { list, hasQuestions, format } = table
  const flat = without(Object.fromEntries(flattened(schemaOf(list), item)), [undefined, null])
  const row = hasQuestions ? asColumns(flat) : flat
  const { 'location.coordinates.longitude': longitude, 'location.coordinates.lattitude': latitude } = row
  if (isLayer(table) && longitude !== undefined) row.geometry = [longitude, latitude]
  const cells = format === 'csv' || format === 'xlsx' ? mapped(row, cellOf) : row
  return told(table, format === 'csv' ? mapped(cells, String) : cells)
}

/** A row as a program has read it, in columns. */
export const foundRow = (table: ReadTable, row: Item): Item => {
  const { list, format } = table
  const { geometry, ...others } = format === 'ndjson' ? Object.fromEntries(flattened(schemaOf(list), row)) : row
  return told(table, isLayer(table) ? { ...others, geometry } : others)
}
