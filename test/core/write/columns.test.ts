// Rows in columns have room for whatever they hold: an output that has no byte more than what was asked for ends up with
// the same bytes as a roomy one.
import { type TSchema, Type } from '@sinclair/typebox'
import fc from 'fast-check'
import t from 'tap'
import { EntryListItem } from '../../../schemas/entries.js'
import { listedSchemas, namedSchemas } from '../../../schemas/index.js'
import { BsonDocument } from '../../../src/core/bson/reader.js'
import { type ColumnFormat, tableOf } from '../../../src/core/write/columns.js'
import { csvColumns } from '../../../src/core/write/csv.js'
import { geojson, mapFeatureWriter } from '../../../src/core/write/geojson.js'
import { jsonColumns, jsonLines } from '../../../src/core/write/json.js'
import { Output } from '../../../src/core/write/output.js'
import type { RowFormat } from '../../../src/core/write/rows.js'
import { xlsxColumns } from '../../../src/exports/xlsx.js'
import { asColumns, hostileDocuments, TightOutput } from '../../support/formats.js'
import { documentOf, type Elements, plain, stored } from '../../support/stored.js'
import { leftToGate } from '../../support/thorough.js'

/** Its last row has the longest number. */
const sheet = { count: 0 }

/** What a format writes of a document, alone in a roomy output. */
const written = ({ write }: RowFormat, document: BsonDocument, out = new Output()): string => {
  sheet.count = 1_048_575
  write(document, out)
  return out.take().toString()
}

/** Throws unless a document is written in the same way where room is tight, and where other bytes stand around it. */
const requireRoom = (format: RowFormat, elements: Elements): string => {
  const document = documentOf(elements)
  const wanted = written(format, document)
  const pool = Buffer.concat([Buffer.alloc(7, 0xff), document.bytes, Buffer.alloc(7, 0xff)])
  const among = new BsonDocument('things', pool.subarray(7, -7))
  const behind = new TightOutput()
  behind.text('behind')
  for (const found of [
    written(format, document, new TightOutput()),
    written(format, among, new TightOutput()),
    written(format, document, behind).slice('behind'.length),
  ]) {
    if (found !== wanted) throw new Error(`Wrote ${found}\nfor ${wanted}`)
  }
  return wanted
}

const label = 'é"'.repeat(100)
const many = Array.from({ length: 2000 }, (_, i) => `question ${i}`)
/** The paths of its columns are far longer than its documents. */
const Labelled = Type.Object({
  id: Type.String(),
  [label]: Type.Object(Object.fromEntries([...'abcdefghijklmnopqrst'].map((name) => [name, Type.Null()]))),
})
/** Everything that a cell may be, without a name. */
const Small = Type.Object({ id: Type.String(), '': Type.Optional(Type.Unknown()) })

const formats = [EntryListItem, Labelled, Small].flatMap((schema): [string, TSchema, RowFormat][] => {
  const shown = { schema, named: namedSchemas }
  return [
    ['CSV', schema, tableOf(shown, csvColumns({})).rows],
    ['XLSX', schema, tableOf(shown, xlsxColumns(sheet)).rows],
    ['GeoJSON', schema, geojson(shown)],
    ['Features for map programs', schema, { ...geojson(shown), write: mapFeatureWriter(shown) }],
  ]
})

for (const [name, schema, format] of formats) {
  t.test(`${name} of ${schema.$id ?? Object.keys(schema.properties).join().slice(0, 9)} always has room`, async (t) => {
    fc.assert(
      fc.property(hostileDocuments(schema), (elements) => {
        requireRoom(format, elements)
      }),
      { numRuns: 50 },
    )
    t.pass()
  })
}

t.test('2000 columns of questions have room in a row of a tiny document', { skip: leftToGate }, async (t) => {
  const schema = Type.Object({ id: Type.String(), answers: Type.Array(Type.Ref('Answer')) })
  const formatOf = (columns: ColumnFormat, schema: TSchema) =>
    tableOf({ schema, named: listedSchemas }, columns, asColumns(many)).rows
  const format = formatOf(csvColumns({}), schema)
  t.equal(requireRoom(format, plain({ _id: '', answers: [] })), `""${','.repeat(2000)}\r\n`)
  const answered = Type.Object({ ...schema.properties, answers: Type.Optional(schema.properties.answers) })
  t.equal(requireRoom(formatOf(csvColumns({}), answered), plain({ _id: 'x' })), `x${','.repeat(2000)}\r\n`)
  const answers = many.map((question) => ({ type: '', question, answer: ['"', '""', 5, ''] }))
  t.equal(requireRoom(format, plain({ _id: '"', answers })), `""""${`,"""; """"; 5; "`.repeat(2000)}\r\n`)
  for (const columns of [xlsxColumns(sheet), jsonLines]) {
    requireRoom(formatOf(columns, schema), plain({ _id: '', answers: [] }))
    requireRoom(formatOf(columns, schema), plain({ _id: '', answers }))
  }
})

t.test('values that grow most have room', async (t) => {
  const values: unknown[] = [
    ...['"'.repeat(999), '\0'.repeat(999), '\\"'.repeat(999), `=${'"'.repeat(99)}`, '=', ''],
    ...[-1.7976931348623157e308, stored.int64(-(2n ** 63n)), true, false, null, new Date(0), [], {}],
    stored.document(Array.from({ length: 99 }, () => ['', null])),
    stored.document(Array.from({ length: 99 }, (_, i) => ['"'.repeat(i), false])),
    stored.array(Array.from({ length: 99 }, () => '"')),
    stored.array(Array.from({ length: 99 }, () => '\x01')),
    stored.string(Buffer.alloc(99, 0xff)),
  ]
  const id = ['_id', ''] as const
  for (const [, , format] of formats.filter(([, schema]) => schema === Small)) {
    for (const value of values) {
      t.doesNotThrow(() => requireRoom(format, [id, ['', value]]))
      t.doesNotThrow(() => requireRoom(format, [['', value], id]))
    }
  }
})

t.test('the columns are those of all nested objects', async (t) => {
  const shown = {
    schema: Type.Object({ id: Type.String(), a: Type.Object({ b: Type.Ref('B') }), c: Type.Number() }),
    named: new Map([['B', Type.Object({ d: Type.String() })]]),
  }
  const label = (path: string, column: number) => (column === 0 ? '' : ` ${path}=`)
  const { columns, rows } = tableOf(shown, { ...jsonColumns, label, missing: '?', end: () => '.' })
  t.strictSame(
    columns.map(({ name }) => name),
    ['id', 'a.b.d', 'c'],
  )
  t.equal(written(rows, documentOf(plain({ _id: 'x', a: { b: { d: 'y' } }, c: 5 }))), '"x" a.b.d="y" c=5.')
})

t.test('damaged bytes are an error of the record', async (t) => {
  const { bytes } = documentOf(plain({ _id: 'x', status: 'y' }))
  const longer = Buffer.from(bytes)
  longer.writeInt32LE(bytes.length + 1)
  for (const damaged of [longer, bytes.subarray(0, -1), bytes.subarray(0, 3), Buffer.alloc(0)]) {
    for (const [name, , { write }] of formats) {
      const out = new Output()
      t.throws(
        () => write(new BsonDocument('things', damaged), out),
        { name: 'UnreadableDocument', collection: 'things', id: '?', field: '' },
        name,
      )
    }
  }
})
