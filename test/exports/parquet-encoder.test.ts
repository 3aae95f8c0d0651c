// What the values of columns are, how a file is cut into groups of rows, and how its end describes it.
import { type TSchema, Type } from '@sinclair/typebox'
import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import t from 'tap'
import { EntryListItem } from '../../schemas/entries.js'
import { namedSchemas } from '../../schemas/index.js'
import { listed } from '../../schemas/kit.js'
import { tableOf } from '../../src/core/write/columns.js'
import { jsonLines } from '../../src/core/write/json.js'
import { ParquetEncoder } from '../../src/exports/parquet.js'
import { rowsOf } from '../support/parquet.js'
import { leftToGate } from '../support/thorough.js'

/** The file of some rows, which are written in several steps, and the bytes that each step has made. */
const encoded = (schema: TSchema, ...steps: (readonly object[])[]) => {
  const shown = { schema, named: namedSchemas }
  const encoder = new ParquetEncoder(tableOf(shown, jsonLines).columns, namedSchemas)
  const parts = steps.map((rows) =>
    Buffer.from(encoder.write(Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join('')))),
  )
  const whole = Buffer.concat([...parts, encoder.end()])
  return { file: new Uint8Array(whole).buffer, sizes: parts.map(({ byteLength }) => byteLength) }
}

const Thing = Type.Object({ id: Type.String(), name: Type.String() })
const things = (count: number, name: string) => Array.from({ length: count }, (_, i) => ({ id: String(i), name }))

const groupsOf = (file: ArrayBuffer) => parquetMetadata(file).row_groups.map(({ num_rows }) => Number(num_rows))

t.test('a group ends after 2000 rows or 8 MiB of lines, and with each step', { skip: leftToGate }, async (t) => {
  const steps = [things(10, 'a'), [], things(4001, 'b'), things(4, 'x'.repeat(3 * 1024 * 1024))]
  const { file, sizes } = encoded(Thing, ...steps)
  t.same(groupsOf(file), [10, 2000, 2000, 1, 3, 1])
  t.equal(sizes[1], 0, 'a step without rows has no bytes')
  t.strictSame(await parquetReadObjects({ file }), steps.flat())
})

t.test('a file without rows has its columns', async (t) => {
  const { file } = encoded(Thing)
  t.same(groupsOf(file), [])
  t.strictSame(
    parquetMetadata(file).schema.map(({ name }) => name),
    ['root', 'id', 'name'],
  )
})

t.test('each kind of value is read as JSON has it, and is null where it is missing', async (t) => {
  const Inner = Type.Object({ id: Type.String(), at: Type.String({ format: 'date-time' }), tags: listed({}) })
  const kinds: Record<string, [TSchema, ...values: unknown[]]> = {
    text: [Type.String(), '', '\u{1f600}\0"\u202e\r\n', 'a\ufffd'],
    number: [Type.Number(), 1.5, -3, 2 ** 53],
    integer: [Type.Integer(), 0, -3, 2 ** 53 - 1],
    boolean: [Type.Boolean(), true, false],
    time: [Type.String({ format: 'date-time' }), '0001-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'],
    any: [Type.Unknown(), { b: 2, 1: [null] }, 'text', []],
    list: [Type.Array(Type.Number()), [], [1, 2.5]],
    either: [Type.Union([Type.String(), Type.Array(Type.String())]), ['x', 'y']],
    things: [Type.Array(Inner), [{ id: 'x', at: '1970-01-01T00:00:00.000Z', tags: ['a', 'b'] }], []],
  }
  for (const [kind, [schema, ...values]] of Object.entries(kinds)) {
    const rows = [{}, ...values.map((value) => ({ value }))]
    const read = await rowsOf(encoded(Type.Object({ value: schema }), rows).file)
    const shown = kind === 'any' ? values.map((value) => JSON.stringify(value)) : values
    t.strictSame(
      read.map(({ value = null }) => value),
      [null, ...shown],
      kind,
    )
  }
  const single = encoded(Type.Object({ value: kinds.either?.[0] as TSchema }), [{ value: 'x' }])
  t.strictSame(await rowsOf(single.file), [{ value: ['x'] }], 'a single value is a list of one')
  const partly = encoded(Type.Object({ value: kinds.things?.[0] as TSchema }), [{ value: [{ id: 'x' }] }])
  t.strictSame(await rowsOf(partly.file), [{ value: [{ id: 'x', at: null }] }])
})

t.test('objects become columns, also where one is missing', async (t) => {
  const place = Type.Object({ state: Type.String(), point: Type.Object({ x: Type.Number() }) })
  const rows = [{ 'place.state': 'Kano', 'place.point.x': 1 }, { 'place.state': 'Kano' }, {}]
  t.strictSame(await rowsOf(encoded(Type.Object({ place }), rows).file), [
    { 'place.state': 'Kano', 'place.point.x': 1 },
    { 'place.state': 'Kano', 'place.point.x': null },
    { 'place.state': null, 'place.point.x': null },
  ])
})

const place = { 'location.coordinates.longitude': 8.5387, 'location.coordinates.lattitude': 11.9805 }

t.test('numbers and times have their least and largest values in each group, and nothing else has', async (t) => {
  const dated = { createdAt: '2025-01-01T08:30:15.250Z', updatedAt: '2025-01-02T08:30:15.250Z' }
  const { file } = encoded(EntryListItem, [{ ...place, id: 'x', status: 'new', duration: 5, answers: [], ...dated }])
  const [group] = parquetMetadata(file).row_groups
  const bounded = group?.columns.filter(({ meta_data }) => meta_data?.statistics?.min_value !== undefined)
  t.strictSame(
    bounded?.map(({ meta_data }) => meta_data?.path_in_schema.join('/')),
    ['location.coordinates.longitude', 'location.coordinates.lattitude', 'duration', 'createdAt', 'updatedAt'],
  )
})

t.test('a whole number that is none, or has more digits than a number keeps, ends the file', async (t) => {
  for (const value of [1.5, 2 ** 53])
    t.throws(() => encoded(Type.Object({ value: Type.Integer() }), [{ value }]), {
      message: /is no whole number up to/,
    })
})

const placeAt = (longitude: unknown, latitude: unknown) => ({
  'location.coordinates.longitude': longitude,
  'location.coordinates.lattitude': latitude,
})
const geo = (bounds: object) => ({
  version: '1.1.0',
  primary_column: 'geometry',
  columns: { geometry: { encoding: 'WKB', geometry_types: ['Point'], ...bounds } },
})

t.test('a file with places is a map layer, with the bounds of all points on the earth', async (t) => {
  const offEarth = [placeAt(14.6, 121), placeAt(-999, -999)]
  const others = [placeAt(-3, 12), { 'location.coordinates.longitude': 1 }, ...offEarth]
  const { file } = encoded(EntryListItem, [place, {}], others)
  const { key_value_metadata } = parquetMetadata(file)
  t.strictSame(key_value_metadata, [{ key: 'geo', value: JSON.stringify(geo({ bbox: [-3, 11.9805, 8.5387, 12] })) }])
  t.strictSame(await parquetReadObjects({ file, columns: ['geometry'] }), [
    { geometry: { type: 'Point', coordinates: [8.5387, 11.9805] } },
    { geometry: null },
    { geometry: { type: 'Point', coordinates: [-3, 12] } },
    { geometry: null },
    { geometry: null },
    { geometry: null },
  ])
  const [point] = (await parquetReadObjects({ file, columns: ['geometry'], geoparquet: false, utf8: false })) as {
    geometry: Uint8Array
  }[]
  const wkb = Buffer.from('0101000000', 'hex')
  t.ok(
    Buffer.from(point?.geometry ?? [])
      .subarray(0, 5)
      .equals(wkb),
    'WKB: little endian, a point',
  )
  t.equal(point?.geometry.length, 21)
})

t.test('a file in which no record has a place is a map layer without bounds', async (t) => {
  const { key_value_metadata } = parquetMetadata(encoded(EntryListItem, [placeAt(null, 1), placeAt(1, null)]).file)
  t.strictSame(key_value_metadata, [{ key: 'geo', value: JSON.stringify(geo({})) }])
})

t.test('a file without both coordinates is no map layer', async (t) => {
  const { file } = encoded(Type.Object({ 'location.coordinates.longitude': Type.Number() }), [placeAt(1, 1)])
  t.notOk(parquetMetadata(file).key_value_metadata?.length)
})
