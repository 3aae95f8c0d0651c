// One pass over all entries: which filters each of them fails, and what is counted of those that are left. A view shows what
// passes the filters of all other views, so that it can be chosen again.
import { dimensions } from './entries.js'
import { choices } from './filters.js'
import { toneOf, tones } from './statuses.js'

/** @typedef {import('./entries.js').Entries} Entries */
/** @typedef {import('./filters.js').Filters} Filters */
/** @typedef {import('./timeline.js').Bins} Bins */

/** The bit of each filter. An entry that passes all of them has none. */
export const bits = { status: 1, form: 2, project: 4, dispatch: 8, agent: 16, state: 32, lga: 64, time: 128, box: 256 }
/** What stands beside the mean duration of its entries. */
export const measured = /** @type {const} */ (['form', 'agent'])
/** The bit of each answer that is asked for. @param {number} index */
export const answerBit = (index) => 512 << index
const answerBits = 0xfe00

/**
 * @typedef {object} Selection
 * @property {Uint16Array} fails the bits of the filters that each entry fails
 * @property {number} size how many entries pass all filters
 * @property {number} placed how many of them have a place on the map
 * @property {{ [D in import('./entries.js').Dimension]?: ArrayLike<number> }} counts of each value, by the other filters
 * @property {{ [D in import('./entries.js').Dimension]?: ArrayLike<number> }} means of the durations of each value, by the other filters
 * @property {Uint32Array} bins of each bin of the time line, by the other filters
 * @property {Uint32Array} selectedBins of each bin, by all filters
 * @property {Uint32Array[]} tonedBins of each bin, by all filters and the colour of the status
 */

/** @param {Entries} entries @param {Filters} filters @param {Bins} bins @param {Uint16Array} fails is written @param {(answer: string) => ReadonlySet<number>} rowsWith the rows that have an answer @returns {Selection} */
export const select = (entries, filters, bins, fails, rowsWith) => {
  const { size, times, longitudes, latitudes, columns, durations } = entries
  fails.fill(0, 0, size)
  for (const name of choices) {
    const value = filters[name]
    if (value === undefined) continue
    const { codes } = columns[name]
    const code = columns[name].codeOf(value) ?? -1
    for (let row = 0; row < size; row++) if (codes[row] !== code) fails[row] |= bits[name]
  }
  const { createdSince = -Infinity, createdBefore = Infinity, bbox } = filters
  if (createdSince > -Infinity || createdBefore < Infinity) {
    for (let row = 0; row < size; row++) {
      if (!(times[row] >= createdSince && times[row] < createdBefore)) fails[row] |= bits.time
    }
  }
  if (bbox !== undefined) {
    const [west, south, east, north] = bbox
    for (let row = 0; row < size; row++) {
      const x = longitudes[row]
      const isBetween = west <= east ? x >= west && x <= east : x >= west || x <= east
      if (!(isBetween && latitudes[row] >= south && latitudes[row] <= north)) fails[row] |= bits.box
    }
  }
  for (const [index, answer] of (filters.answered ?? []).entries()) {
    const rows = rowsWith(answer)
    for (let row = 0; row < size; row++) if (!rows.has(row)) fails[row] |= answerBit(index)
  }

  /** @type {Pick<Selection, 'counts' | 'means'>} */
  const { counts, means } = { counts: {}, means: {} }
  for (const name of dimensions) {
    const { codes, values } = columns[name]
    // Another form has no such answers.
    const others = name === 'form' ? ~(bits.form | answerBits) : ~bits[name]
    const isMeasured = measured.some((each) => each === name)
    const count = new Uint32Array(values.length)
    const [sums, timed] = [new Float64Array(values.length), new Uint32Array(values.length)]
    for (let row = 0; row < size; row++) {
      if ((fails[row] & others) !== 0) continue
      count[codes[row]] += 1
      if (!isMeasured || Number.isNaN(durations[row])) continue
      sums[codes[row]] += durations[row]
      timed[codes[row]] += 1
    }
    counts[name] = count
    if (isMeasured) means[name] = sums.map((sum, code) => sum / timed[code])
  }
  const tonedBins = tones.map(() => new Uint32Array(bins.starts.length))
  const toneOfCode = columns.status.values.map(toneOf)
  const selectedBins = new Uint32Array(bins.starts.length)
  const allBins = new Uint32Array(bins.starts.length)
  let selected = 0
  let placed = 0
  for (let row = 0; row < size; row++) {
    if ((fails[row] & ~bits.time) !== 0) continue
    allBins[bins.of[row]] += 1
    if (fails[row] !== 0) continue
    selectedBins[bins.of[row]] += 1
    tonedBins[toneOfCode[columns.status.codes[row]]][bins.of[row]] += 1
    if (longitudes[row] >= -180) placed += 1
    selected += 1
  }
  return { fails, size: selected, placed, counts, means, bins: allBins, selectedBins, tonedBins }
}

/** Some rows of a selection, from a position on. @param {Selection} selection @param {number} size of all entries @param {number} from @param {number} count */
export const rowsOf = ({ fails }, size, from, count) => {
  const rows = []
  for (let row = 0, position = 0; row < size && rows.length < count; row++) {
    if (fails[row] !== 0) continue
    if (position >= from) rows.push(row)
    position += 1
  }
  return rows
}
