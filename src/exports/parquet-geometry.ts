// The geometry of a Parquet file: a column of points, and the metadata of GeoParquet 1.1 that makes the file a map layer.
import type { Column } from './parquet-encoder.js'

export const GEOMETRY = 'geometry'

/** The columns of a place. The spelling is that of the contract. */
const LONGITUDE = 'location.coordinates.longitude'
const LATITUDE = 'location.coordinates.lattitude'

const columnOf = (columns: readonly Column[], name: string) => columns.find((column) => column.name === name)

/** Whether rows with these columns have places. */
export const hasPlaces = (columns: readonly Column[]): boolean => columnOf(columns, LONGITUDE) !== undefined

/** The points of the rows that were added to these columns. */
export class Points {
  readonly #longitudes: Column
  readonly #latitudes: Column
  #box = [
    Number.POSITIVE_INFINITY,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
  ] as const

  /** @param columns those of rows that have places */
  constructor(columns: readonly Column[]) {
    this.#longitudes = columnOf(columns, LONGITUDE) as Column
    this.#latitudes = columnOf(columns, LATITUDE) as Column
  }

  /** A point for each row that the columns hold, or null for one without a place. */
  take(): (Buffer | null)[] {
    return this.#longitudes.values.map((longitude, row) => this.#point(longitude, this.#latitudes.values[row]))
  }

  #point(longitude: unknown, latitude: unknown): Buffer | null {
    if (typeof longitude !== 'number' || typeof latitude !== 'number') return null
    const [west, south, east, north] = this.#box
    this.#box = [
      Math.min(west, longitude),
      Math.min(south, latitude),
      Math.max(east, longitude),
      Math.max(north, latitude),
    ]
    return pointOf(longitude, latitude)
  }

  /** The metadata, with the bounds of all points so far. Without a coordinate system it is longitude and latitude, CRS84. */
  metadata(): { key: string; value: string } {
    const bounds = this.#box.every(Number.isFinite) ? { bbox: this.#box } : {}
    const column = { encoding: 'WKB', geometry_types: ['Point'], ...bounds }
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
