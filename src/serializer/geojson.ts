// GeoJSON (RFC 7946): each entry is a feature, with its place as a point and its fields as flat properties, because
// programs for maps show them as the columns of a table.
import type { TSchema } from '@sinclair/typebox'
import { Bson, Bytes, type Element } from '../bson/reader.js'
import { lastFieldOf } from '../bson/values.js'
import { wrong } from './any.js'
import { type ColumnFormat, compileRows } from './columns.js'
import type { Output } from './output.js'
import type { RowFormat } from './rows.js'
import { OVERHANG, ROOM, type ScalarWriter, scalars } from './scalars.js'
import { writing } from './writer.js'

const properties: ColumnFormat = {
  label: (path, isFirst) => `${isFirst ? '{' : ','}${JSON.stringify(path)}:`,
  missing: '',
  writerOf: (schema, generator) => generator.writerOf(schema),
  functions: {},
}

/** Compiles a writer of features. */
export const compileFeatures = (schema: TSchema, named: ReadonlyMap<string, TSchema>): RowFormat['write'] => {
  const rows = compileRows(schema, named, properties)
  return (document, out) => {
    const { collection, bytes } = document
    // The properties come first, because writing them finds what does not fit.
    out.text('{"type":"Feature","properties":')
    rows.write(document, out)
    writing(collection, bytes, false, () => writePlace(bytes, out))
  }
}

export const geojson = (schema: TSchema, named: ReadonlyMap<string, TSchema>): RowFormat => ({
  begin: '{"type":"FeatureCollection","features":[\n',
  between: ',\n',
  end: '\n]}\n',
  write: compileFeatures(schema, named),
})

/** Writes what follows the properties of a feature. */
const writePlace = (bytes: Buffer, out: Output): void => {
  const input = new Bytes(bytes)
  const write = ({ write, bsonTypes, expected }: ScalarWriter, { type, at, next }: Element) => {
    if (!bsonTypes.includes(type)) wrong(type, at, expected)
    out.reserve(ROOM * (next - at) + OVERHANG)
    out.length = write(input, type, at, out.target, out.length)
  }
  out.text('},"id":')
  write(scalars.string, lastFieldOf(bytes, 0, '_id') as Element)
  const [longitude, lattitude] = coordinatesOf(bytes)
  if (longitude === undefined || lattitude === undefined) out.text(',"geometry":null}')
  else {
    out.text(',"geometry":{"type":"Point","coordinates":[')
    write(scalars.number, longitude)
    out.text(',')
    write(scalars.number, lattitude)
    out.text(']}}')
  }
}

/** Where the coordinates of an entry are, as far as it has them. */
const coordinatesOf = (bytes: Buffer): (Element | undefined)[] => {
  const coordinates = inner(bytes, inner(bytes, { at: 0, type: Bson.document }, 'location'), 'coordinates')
  return ['longitude', 'lattitude'].map((name) => {
    const found = inner(bytes, coordinates, name)
    return found?.type === Bson.null || found?.type === Bson.undefined ? undefined : found
  })
}

const inner = (bytes: Buffer, outer: Pick<Element, 'at' | 'type'> | undefined, name: string): Element | undefined =>
  outer?.type === Bson.document ? lastFieldOf(bytes, outer.at, name) : undefined
