// GeoJSON of any entries, read back and compared with JSON of the same entries.
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { EntryListItem } from '../../../schemas/entries.js'
import { namedSchemas } from '../../../schemas/index.js'
import { select } from '../../../schemas/kit.js'
import { geojson } from '../../../src/core/write/geojson.js'
import { fileOf, flattened, type Item, itemsOf, mixedLists } from '../../support/formats.js'
import { listOf, plain, stored } from '../../support/stored.js'
import { a } from '../../support/tenants.js'

/** The place of an item as a geometry. */
const geometryOf = ({ location }: Item) => {
  const { coordinates } = (location ?? {}) as { coordinates?: { longitude: number; lattitude: number } }
  const { longitude = Number.NaN, lattitude = Number.NaN } = coordinates ?? {}
  const isOnEarth = longitude >= -180 && longitude <= 180 && lattitude >= -90 && lattitude <= 90
  return isOnEarth ? { type: 'Point', coordinates: [longitude, lattitude] } : null
}

t.test('a feature has the fields of the entry, and its place', async (t) => {
  fc.assert(
    fc.property(mixedLists(EntryListItem, 'entries'), (list) => {
      const { items, failures } = itemsOf(EntryListItem, list)
      const found = fileOf(geojson({ schema: EntryListItem, named: namedSchemas }), list)
      const features = items.map((item) => ({
        type: 'Feature',
        properties: Object.fromEntries(flattened(EntryListItem, item).filter(([, value]) => value !== undefined)),
        id: item.id,
        geometry: geometryOf(item),
      }))
      assert.deepEqual(JSON.parse(found.text), { type: 'FeatureCollection', features })
      assert.deepEqual(found.failures, failures)
    }),
    { numRuns: 50 },
  )
  t.pass()
})

const places = { schema: select(EntryListItem, ['id', 'status']), named: namedSchemas }
const fileWith = (location: unknown) =>
  fileOf(geojson(places), listOf([plain({ _id: 'x', status: '', location })], 'entries'))
const geometry = (location: unknown) => JSON.parse(fileWith(location).text).features[0].geometry

t.test('a place is written also where no property shows it', async (t) => {
  t.strictSame(geometry({ coordinates: { longitude: 8.5, lattitude: -1 } }), { type: 'Point', coordinates: [8.5, -1] })
  for (const location of [
    ...[undefined, null, 'Kano', [], {}, { coordinates: null }, { coordinates: [8, 9] }],
    ...[{ coordinates: {} }, { coordinates: { longitude: 8.5 } }, { coordinates: { longitude: 8.5, lattitude: null } }],
    {
      coordinates: stored.document([
        ['longitude', 1],
        ['lattitude', stored.undefined],
      ]),
    },
  ])
    t.equal(geometry(location instanceof Object && 'coordinates' in location ? asStored(location) : location), null)
  const twice = stored.document([
    ['longitude', 'east'],
    ['longitude', 5],
    ['lattitude', 6],
  ])
  t.strictSame(geometry(stored.document([['coordinates', twice]])).coordinates, [5, 6], 'of two values the last counts')
})

t.test('a place off the earth is no geometry, and its numbers are properties as they are', async (t) => {
  const found = [
    [180, -90],
    [-180, 90],
    [14.6, 121],
    [-999, -999],
    [180.001, 0],
    [0, -90.001],
  ].map(([longitude, lattitude]) => {
    const entry = { ...a.entry(1), location: { coordinates: { longitude, lattitude } } }
    const { text } = fileOf(geojson({ schema: EntryListItem, named: namedSchemas }), listOf([plain(entry)], 'entries'))
    const [{ geometry, properties }] = JSON.parse(text).features
    const numbers = ['longitude', 'lattitude'].map((name) => properties[`location.coordinates.${name}`])
    return [...numbers, geometry?.coordinates ?? null]
  })
  t.strictSame(found, [
    [180, -90, [180, -90]],
    [-180, 90, [-180, 90]],
    [14.6, 121, null],
    [-999, -999, null],
    [180.001, 0, null],
    [0, -90.001, null],
  ])
})

/** An object whose values may be made element by element. */
const asStored = (object: object) => stored.document(plain(object))

t.test('a place that is no number leaves the record out', async (t) => {
  for (const [longitude, reason] of [
    ['8', 'is BSON string, not a number'],
    [Number.NaN, 'is NaN, which JSON cannot represent'],
  ]) {
    const { text, failures } = fileWith({ coordinates: { longitude, lattitude: 1 } })
    t.strictSame(JSON.parse(text).features, [])
    const field = 'location.coordinates.longitude'
    t.strictSame(failures, [{ collection: 'entries', id: 'x', field, message: `entries x: ${field} ${reason}` }])
  }
})

t.test('each feature stands on a line of its own', async (t) => {
  const { text } = fileOf(geojson(places), listOf([a.entry(1), a.entry(2)].map(plain), 'entries'))
  t.equal(
    text,
    `{"type":"FeatureCollection","features":[
{"type":"Feature","properties":{"id":"entry1-a","status":"accepted"},"id":"entry1-a","geometry":{"type":"Point","coordinates":[8.5387,11.9805]}},
{"type":"Feature","properties":{"id":"entry2-a","status":"accepted"},"id":"entry2-a","geometry":{"type":"Point","coordinates":[8.5387,11.9805]}}
]}
`,
  )
})
