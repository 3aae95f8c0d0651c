// The entries that were loaded, as columns: texts are numbers into a list, so that a filter is one pass over arrays of
// numbers.

/** The most entries that are loaded: the newest ones. */
export const LIMIT = 100_000

/** What an entry is counted by. */
export const dimensions = /** @type {const} */ (['status', 'form', 'project', 'dispatch', 'agent', 'state', 'lga'])
/** @typedef {typeof dimensions[number]} Dimension */

/** Whether it is a part of the location of an entry. @param {Dimension} name */
export const isPlace = (name) => name === 'state' || name === 'lga'

/** The texts of a field. Code 0 is for entries without one. */
class Column {
  codes = new Uint32Array(LIMIT)
  values = ['']
  /** How many entries have each value. @type {number[]} */
  totals = [0]
  #codeOf = new Map([['', 0]])

  /** @param {string} value */
  codeOf(value) {
    return this.#codeOf.get(value)
  }

  /** @param {number} row @param {unknown} given */
  set(row, given) {
    const value = typeof given === 'string' ? given : ''
    let code = this.#codeOf.get(value)
    if (code === undefined) {
      code = this.values.push(value) - 1
      this.totals.push(0)
      this.#codeOf.set(value, code)
    }
    this.codes[row] = code
    this.totals[code] += 1
  }

  /** Takes values with their counts in the place of entries. @param {[value: unknown, count: number][]} counted */
  fill(counted) {
    for (const [given, count] of counted) {
      const value = typeof given === 'string' ? given : ''
      const code = this.#codeOf.get(value) ?? this.values.push(value) - 1
      this.#codeOf.set(value, code)
      this.totals[code] = count
    }
  }
}

const columns = () =>
  /** @type {Record<Dimension, Column>} */ (Object.fromEntries(dimensions.map((name) => [name, new Column()])))

/** Beyond this latitude the map ends. */
const MAX_LATITUDE = 85.05

/** The place of a longitude on the map, from 0 in the west to 1. @param {number} degrees */
export const toX = (degrees) => degrees / 360 + 0.5

/** The place of a latitude on the map, from 0 in the north to 1 (Mercator). @param {number} degrees */
export const toY = (degrees) => {
  const sine = Math.sin((Math.min(Math.max(degrees, -MAX_LATITUDE), MAX_LATITUDE) * Math.PI) / 180)
  return 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)
}

/** The latitude of a place on the map. Its edges are the poles. @param {number} y */
export const toLatitude = (y) =>
  y <= 0 ? 90 : y >= 1 ? -90 : (Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180) / Math.PI

export class Entries {
  size = 0
  /** @type {string[]} */
  ids = []
  columns = columns()
  /** Milliseconds, or NaN. */
  times = new Float64Array(LIMIT)
  /** Degrees, or NaN for an entry without a place on the map. */
  longitudes = new Float64Array(LIMIT)
  latitudes = new Float64Array(LIMIT)
  xs = new Float64Array(LIMIT)
  ys = new Float64Array(LIMIT)
  /** The durations as they were recorded, or NaN. */
  durations = new Float64Array(LIMIT)
  /** How many entries each row stands for, and how many of these are selected of each colour, if it does not stand for one. @type {Uint32Array | undefined} */
  weights
  /** @type {readonly (readonly number[])[] | undefined} */
  toned
  /** How many entries there are, if rows do not stand for one each. */
  total = 0
  placed = 0
  /** How many records the service could not show. */
  unreadable = 0
  /** The ids of the records that there are, also without entries, as far as they are known. @type {{ [D in Dimension]?: Set<string> }} */
  listed = {}
  /** The dimensions whose names may still come. @type {Set<Dimension>} */
  unnamed = new Set(['form', 'project', 'dispatch', 'agent'])
  /** How many entries each dispatch expects, as far as it says. @type {Map<string, number>} */
  expected = new Map()
  /** The names of records by their ids, which may be the same in two lists. */
  names = /** @type {Record<Dimension, Map<string, string>>} */ (
    Object.fromEntries(dimensions.map((name) => [name, new Map()]))
  )

  /** @param {any} record a line of the export */
  add(record) {
    if (record.unreadable !== undefined) {
      this.unreadable += record.unreadable.length
      return
    }
    if (this.size === LIMIT) return
    const row = this.size
    this.size += 1
    this.ids.push(record.id)
    const { coordinates, ...location } = record.location ?? {}
    for (const name of dimensions) this.columns[name].set(row, isPlace(name) ? location[name] : record[name])
    this.times[row] = Date.parse(record.createdAt)
    this.durations[row] = record.duration ?? Number.NaN
    const { longitude, lattitude } = coordinates ?? {}
    const isPlaced = Math.abs(longitude) <= 180 && Math.abs(lattitude) <= 90
    this.longitudes[row] = isPlaced ? longitude : Number.NaN
    this.latitudes[row] = isPlaced ? lattitude : Number.NaN
    this.xs[row] = toX(this.longitudes[row])
    this.ys[row] = toY(this.latitudes[row])
    if (isPlaced) this.placed += 1
  }

  /** Takes cells of the map with their counts in the place of entries. @param {readonly { longitude: number, lattitude: number, count: number, toned: readonly number[] }[]} cells */
  setCells(cells) {
    this.size = cells.length
    this.xs = Float64Array.from(cells, ({ longitude }) => toX(longitude))
    this.ys = Float64Array.from(cells, ({ lattitude }) => toY(lattitude))
    this.weights = Uint32Array.from(cells, ({ count }) => count)
    this.toned = cells.map(({ toned }) => toned)
  }

  /** Whether its values have the names that people call them by. @param {Dimension} dimension */
  isNamed(dimension) {
    return !this.unnamed.has(dimension)
  }

  /** A value as people call it. @param {Dimension} dimension @param {string} value */
  labelOf(dimension, value) {
    if (value === '') return '(none)'
    if (!this.isNamed(dimension)) return '…'
    const label = this.names[dimension].get(value) ?? value
    return label.trim() === '' ? `“${label}”` : label
  }

  /** @param {Dimension} dimension @param {number} row */
  valueAt(dimension, row) {
    const { codes, values } = this.columns[dimension]
    return values[codes[row]]
  }

  /** @param {Dimension} dimension @param {number} row */
  labelAt(dimension, row) {
    return this.labelOf(dimension, this.valueAt(dimension, row))
  }
}
