// Writes entries as features of GeoJSON (RFC 7946).
import { Type } from '@sinclair/typebox'
import { EntryListItem } from '../../schemas/entries.js'
import { refTo } from '../../schemas/kit.js'
import type { BsonList } from '../bson/reader.js'
import { compileResponse } from './compiler.js'

const write = compileResponse(Type.Object({ data: Type.Array(refTo(EntryListItem)) }))

/** A JSON array of features. */
export const features = (data: BsonList): Buffer => {
  const entries = JSON.parse(write({ data }).toString()).data as EntryListItem[]
  return Buffer.from(JSON.stringify(entries.map(featureOf)))
}

const featureOf = ({ id, location: { coordinates, ...place } = {}, ...fields }: EntryListItem): object => ({
  type: 'Feature',
  id,
  geometry: coordinates ? { type: 'Point', coordinates: [coordinates.longitude, coordinates.lattitude] } : null,
  properties: {
    ...fields,
    ...Object.fromEntries(Object.entries(place).map(([name, value]) => [`location.${name}`, value])),
  },
})
