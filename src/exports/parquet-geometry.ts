// The geometry of a Parquet file: a column of points, and the metadata of GeoParquet 1.1 that makes the file a map layer.
import type { FilledColumn } from './parquet-encoder.js'

export const GEOMETRY = 'geometry'

/** The columns of a place, as the contract spells them. */
const PLACE = ['location.coordinates.longitude', 'location.coordinates.lattitude']

/** The points of the rows that were added to some columns. */
export class Points {
  readonly #longitudes: FilledColumn
  readonly #latitudes: FilledColumn
  /** West, south, east and north. */
  #bounds: [number, number, number, number] | undefined

  private constructor(longitudes: FilledColumn, latitudes: FilledColumn) {
    this.#longitudes = longitudes
    this.#latitudes = latitudes
  }

  /** Undefined if rows with these columns have no places. */
  static of(columns: readonly FilledColumn[]): Points | undefined {
    const [longitudes, latitudes] = PLACE.map((place) => columns.find(({ name }) => name === place))
    return longitudes && latitudes && new Points(longitudes, latitudes)
  }

  /** A point for each row that the columns hold, or null for one without a place. */
  take(): (Buffer | null)[] {
    return this.#longitudes.values.map((longitude, row) => this.#point(longitude, this.#latitudes.values[row]))
  }

  #point(longitude: unknown, latitude: unknown): Buffer | null {
    if (typeof longitude !== 'number' || typeof latitude !== 'number') return null
    const [west, south, east, north] = this.#bounds ?? [longitude, latitude, longitude, latitude]
    this.#bounds = [
      Math.min(west, longitude),
      Math.min(south, latitude),
      Math.max(east, longitude),
      Math.max(north, latitude),
    ]
    return pointOf(longitude, latitude)
  }

  /** The metadata, with the bounds of all points so far. Without a coordinate system it is longitude and latitude, CRS84. */
  metadata(): { key: string; value: string } {
    const column = { encoding: 'WKB', geometry_types: ['Point'], bbox: this.#bounds }
    const value = { version: '1.1.0', primary_column: GEOMETRY, columns: { [GEOMETRY]: column } }
    return { key: 'geo', value: JSON.stringify(value) }
  }
}

/** A point as WKB: the byte order (little endian), the type (1), x and y. */
const pointOf = (x: number, y: number): Buffer => {
  const bytes = Buffer.alloc(21)
  bytes.writeUInt8(1)
  bytes.writeUInt32LE(1, 1)
  bytes.writeDoubleLE(x, 5)
  bytes.writeDoubleLE(y, 13)
  return bytes
}
