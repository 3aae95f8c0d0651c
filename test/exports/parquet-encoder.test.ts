// How a file is cut into groups of rows, and how its end describes it.
import { Type } from '@sinclair/typebox'
import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import { BSON } from 'mongodb'
import t from 'tap'
import { EntryListItem } from '../../schemas/entries.js'
import { namedSchemas } from '../../schemas/index.js'
import { fieldsOf } from '../../src/exports/parquet-columns.js'
import { ParquetEncoder } from '../../src/exports/parquet-encoder.js'
import { a } from '../support/tenants.js'

const bson = (...documents: object[]): ArrayBuffer =>
  new Uint8Array(Buffer.concat(documents.map((document) => BSON.serialize(document)))).buffer

const whole = (...parts: ArrayBuffer[]): ArrayBuffer =>
  new Uint8Array(Buffer.concat(parts.map((part) => Buffer.from(part)))).buffer

const row = Type.Object({ id: Type.String(), name: Type.String() })
const fields = fieldsOf(row, namedSchemas)
const things = (count: number, name: string) => Array.from({ length: count }, (_, i) => ({ _id: String(i), name }))

t.test('a group ends after 2000 rows', async (t) => {
  const encoder = new ParquetEncoder({ fields, geometry: false })
  const first = encoder.write(bson(...things(1999, 'a')))
  t.equal(first.byteLength, 4, 'only the first bytes of a file')
  const second = encoder.write(bson(...things(4001, 'b')))
  t.ok(second.byteLength > 1000)
  const file = whole(first, second, encoder.end())
  const sizes = parquetMetadata(file).row_groups.map(({ num_rows }) => num_rows)
  t.strictSame(sizes, [2000n, 2000n, 2000n])
  t.strictSame(
    await parquetReadObjects({ file }),
    [...things(1999, 'a'), ...things(4001, 'b')].map(({ _id, name }) => ({ id: _id, name })),
  )
})

t.test('a group ends after 8 MiB of documents', async (t) => {
  const encoder = new ParquetEncoder({ fields, geometry: false })
  const file = whole(encoder.write(bson(...things(10, 'x'.repeat(3 * 1024 * 1024)))), encoder.end())
  const sizes = parquetMetadata(file).row_groups.map(({ num_rows }) => num_rows)
  t.strictSame(sizes, [3n, 3n, 3n, 1n])
})

t.test('a file without rows has its columns', async (t) => {
  const { num_rows, schema, row_groups } = parquetMetadata(new ParquetEncoder({ fields, geometry: false }).end())
  t.equal(num_rows, 0n)
  t.strictSame(row_groups, [])
  t.strictSame(
    schema.map(({ name }) => name),
    ['root', 'id', 'name'],
  )
})

t.test('numbers and times have their least and largest values in each group, and nothing else has', async (t) => {
  const encoder = new ParquetEncoder({ fields: fieldsOf(EntryListItem, namedSchemas), geometry: true })
  const [group] = parquetMetadata(whole(encoder.write(bson(a.entry(1), a.entry(2))), encoder.end())).row_groups
  const bounded = group?.columns.filter(({ meta_data }) => meta_data?.statistics?.min_value !== undefined)
  t.strictSame(
    bounded?.map(({ meta_data }) => meta_data?.path_in_schema.join('/')),
    ['location.coordinates.longitude', 'location.coordinates.lattitude', 'duration', 'createdAt', 'updatedAt'],
  )
})

t.test('a file with points is a map layer', async (t) => {
  const encoder = new ParquetEncoder({ fields: fieldsOf(EntryListItem, namedSchemas), geometry: true })
  const { location, ...nowhere } = a.entry(2)
  const file = whole(encoder.write(bson(a.entry(1), nowhere)), encoder.end())
  const { key_value_metadata = [] } = parquetMetadata(file)
  t.equal(key_value_metadata[0]?.key, 'geo')
  t.match(JSON.parse(key_value_metadata[0]?.value as string), {
    primary_column: 'geometry',
    columns: { geometry: { bbox: [8.5387, 11.9805, 8.5387, 11.9805] } },
  })
  t.strictSame(await parquetReadObjects({ file, columns: ['geometry'] }), [
    { geometry: { type: 'Point', coordinates: [8.5387, 11.9805] } },
    { geometry: null },
  ])
})
