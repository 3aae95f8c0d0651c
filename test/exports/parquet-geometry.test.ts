// Points, and the metadata of GeoParquet.
import t from 'tap'
import { Points } from '../../src/exports/parquet-geometry.js'

const column = (name: string, values: unknown[]) => ({
  name,
  shape: { kind: 'number' } as const,
  convert: undefined,
  values,
})
const pointsOf = (longitudes: unknown[], latitudes: unknown[]) =>
  Points.of([
    column('location.coordinates.longitude', longitudes),
    column('location.coordinates.lattitude', latitudes),
  ]) as Points

t.test('a point is WKB: little endian, a point, longitude and latitude', async (t) => {
  const [point] = pointsOf([8.5], [-11.25]).take()
  t.equal(point?.toString('hex'), '0101000000000000000000214000000000008026c0')
})

t.test('a row without a place has no point', async (t) => {
  t.strictSame(pointsOf([null, 1, null], [null, null, 1]).take(), [null, null, null])
})

t.test('the metadata has the bounds of all points, if there are any', async (t) => {
  const points = pointsOf([8, null, -3], [11, null, 12])
  const geo = (bounds: object) => ({
    key: 'geo',
    value: JSON.stringify({
      version: '1.1.0',
      primary_column: 'geometry',
      columns: { geometry: { encoding: 'WKB', geometry_types: ['Point'], ...bounds } },
    }),
  })
  t.strictSame(points.metadata(), geo({}))
  points.take()
  t.strictSame(points.metadata(), geo({ bbox: [-3, 11, 8, 12] }))
})

t.test('rows without both coordinates have no points', async (t) => {
  t.equal(Points.of([column('location.coordinates.longitude', [])]), undefined)
})
