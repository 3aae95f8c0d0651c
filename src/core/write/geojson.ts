// GeoJSON (RFC 7946): each entry is a feature, a point with flat properties, which map programs show as columns.
import { isOnEarth } from '../../../schemas/earth.js'
import { Bson, Bytes, type Element } from '../bson/reader.js'
import { lastFieldOf, numberOf, present } from '../bson/values.js'
import { wrongType } from './any.js'
import { type ColumnFormat, tableOf } from './columns.js'
import { jsonColumns } from './json.js'
import type { Output } from './output.js'
import type { QuestionColumn } from './question-columns.js'
import type { RowFormat } from './rows.js'
import { type ScalarWriter, scalars, type Write } from './scalars.js'
import { type DocumentWriter, locatingErrors, type Shown, writeValue } from './writer.js'

/** Turns JSON that was written into a JSON string of it. */
const writeQuoted = ({ bytes }: Bytes, from: number, to: number): number =>
  from + bytes.write(JSON.stringify(bytes.toString('utf8', from, to)), from)

/** Writes a time with a small `t`, which RFC 3339 allows. */
const writeTimeText: Write = (input, type, at, output, to) => {
  const end = scalars.instant.write(input, type, at, output, to)
  output.bytes[to + '"YYYY-MM-DD'.length] = 0x74
  return end
}

/** The columns of map programs: `answers` and `updatedAt` are texts, as their schema says. */
const mapColumns: ColumnFormat = {
  ...jsonColumns,
  writerOf(schema, generator, name) {
    const { writer, kind } = jsonColumns.writerOf(schema, generator, name)
    if (name === 'updatedAt') return { kind, writer: { ...writer, name: 'writeTimeText' } }
    if (name !== 'answers') return { kind, writer }
    const json = `${writer.name}(input, type, at, output, to)`
    return { kind, writer: { ...writer, name: generator.function(`return writeQuoted(output, to, ${json})`) } }
  },
  functions: { writeQuoted, writeTimeText },
}

const featuresOf = (shown: Shown, columns: ColumnFormat, questions?: readonly QuestionColumn[]): DocumentWriter => {
  const { write } = tableOf(shown, columns, questions).rows
  return (document, out) => {
    // The properties come first, because writing them finds what does not fit.
    out.text('{"type":"Feature","properties":')
    write(document, out)
    locatingErrors(document, () => writePlace(document.bytes, out))
  }
}

export const mapFeatureWriter = (shown: Shown): DocumentWriter => featuresOf(shown, mapColumns)

export const geojson = (shown: Shown, questions?: readonly QuestionColumn[]): RowFormat => ({
  begin: '{"type":"FeatureCollection","features":[\n',
  between: ',\n',
  end: '\n]}\n',
  write: featuresOf(shown, jsonColumns, questions),
})

/** Writes what follows the properties of a feature. */
const writePlace = (bytes: Buffer, out: Output): void => {
  const input = new Bytes(bytes)
  const write = ({ write, bsonTypes, expected }: ScalarWriter, value: Element) => {
    if (!bsonTypes.includes(value.type)) wrongType(value.type, value.at, expected)
    writeValue(write, input, value, out)
  }
  out.text(',"id":')
  write(scalars.string, lastFieldOf(bytes, 0, '_id') as Element)
  const coordinates = inner(bytes, inner(bytes, { at: 0, type: Bson.document }, 'location'), 'coordinates')
  const [longitude, lattitude] = ['longitude', 'lattitude'].map((name) => present(inner(bytes, coordinates, name)))
  // What is no number of JSON fails where it is written.
  const degreesOf = (value: Element): number => numberOf(bytes, value) ?? 0
  if (!longitude || !lattitude || !isOnEarth(degreesOf(longitude), degreesOf(lattitude))) out.text(',"geometry":null}')
  else {
    out.text(',"geometry":{"type":"Point","coordinates":[')
    write(scalars.number, longitude)
    out.text(',')
    write(scalars.number, lattitude)
    out.text(']}}')
  }
}

const inner = (bytes: Buffer, outer: Pick<Element, 'at' | 'type'> | undefined, name: string): Element | undefined =>
  outer?.type === Bson.document ? lastFieldOf(bytes, outer.at, name) : undefined
