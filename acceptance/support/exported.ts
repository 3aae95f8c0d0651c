// Records whose texts break a careless format or a careless reader, and what the rows of their exports must say.
import { type TSchema, Type } from '@sinclair/typebox'
import { AnswerRow } from '../../schemas/exports.js'
import type { Store } from '../../src/store/store.js'
import { flattened, type Item } from '../../test/support/formats.js'
import { type ResourceName, resources } from '../../test/support/resources.js'
import { a } from '../../test/support/tenants.js'

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
  name === 'answers' ? AnswerRow : Type.Object(resources[name as ResourceName].item.schema.properties)

/** What a cell of CSV says. */
const cellOf = (path: string, value: unknown): string => {
  if (!Array.isArray(value)) return String(value)
  return path.startsWith('recipients.') ? value.map(({ id }) => id).join('; ') : JSON.stringify(value)
}

const withValues = (pairs: readonly [string, unknown][]): Item =>
  Object.fromEntries(pairs.filter(([, value]) => value !== undefined && value !== null))

/** In GDAL a text of GeoJSON ends at a zero byte. */
const cutAtZero = (row: Item): Item =>
  Object.fromEntries(
    Object.entries(row).map(([path, value]) => [path, typeof value === 'string' ? value.split('\0')[0] : value]),
  )

/** A row of an export as a program must read it, in columns, given the item of the list. */
export const wantedRow = (name: string, format: string, reader: string, item: Item): Item => {
  const row = withValues(flattened(schemaOf(name), item))
  if (reader === 'geopandas') {
    const { 'location.coordinates.longitude': longitude, 'location.coordinates.lattitude': latitude } = row
    const geometry = longitude === undefined ? undefined : [longitude, latitude]
    return withValues(Object.entries({ ...(format === 'geojson' ? cutAtZero(row) : row), geometry }))
  }
  if (format !== 'csv') return row
  const cells = Object.entries(row).map(([path, value]): [string, string] => [path, cellOf(path, value)])
  // pandas does not tell an empty text from a missing one.
  return Object.fromEntries(cells.filter(([, cell]) => reader !== 'pandas' || cell !== ''))
}

/** A row as a program has read it, in columns. */
export const foundRow = (name: string, format: string, reader: string, row: Item): Item => {
  const { geometry, ...others } = format === 'ndjson' ? Object.fromEntries(flattened(schemaOf(name), row)) : row
  const isShown = reader === 'geopandas' ? { geometry } : {}
  const cells = Object.entries({ ...others, ...isShown })
  return withValues(cells.filter(([, cell]) => format !== 'csv' || reader !== 'pandas' || cell !== ''))
}
