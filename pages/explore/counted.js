// Beyond the most entries that the page loads, the service counts all of them. What it counted takes the place of the
// entries: the cells of the map are rows with weights, and so are the days of the time line.
import { without } from './active-filters.js'
import { Refused, request } from './api.js'
import { say } from './dom.js'
import { dimensions, isPlace } from './entries.js'
import { parametersOf } from './filters.js'
import { measured } from './selection.js'
import { toneOf, tones } from './statuses.js'
import { binsOf } from './timeline.js'

/** @typedef {import('./entries.js').Entries} Entries */
/** @typedef {import('./filters.js').Filters} Filters */
/** @typedef {{ count: number, [by: string]: any }} Row */

/** The most groups of a summary. */
const MOST = '10000'
/** The widths of cells that the service has, in degrees. */
const STEPS = [5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01]
/** How long the page waits after the service was busy, in milliseconds, and how often. */
const AGAIN_MS = 2000
const TRIES = 10
/** How long the filters stay the same before the service counts by them, in milliseconds. */
const QUIET_MS = 200

/** What the service calls a dimension. @param {import('./entries.js').Dimension} name */
const byOf = (name) => (isPlace(name) ? `location.${name}` : name)

/** The counts of groups by one dimension. @param {Record<string, string>} by with other parameters @param {Filters} filters */
const summaryOf = async (by, filters) => {
  const parameters = parametersOf(filters)
  for (const [name, value] of Object.entries({ ...by, top: MOST })) parameters.set(name, value)
  for (let tries = 1; ; tries++) {
    try {
      const { data, _metadata } = await (await request('summaries/entries', parameters)).json()
      return { rows: /** @type {Row[]} */ (data), ..._metadata }
    } catch (error) {
      if (!(error instanceof Refused && error.isBusy) || tries === TRIES) throw error
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
    }
  }
}

/** @typedef {{ rows: Row[], total: number, others: { groups: number } }} Found */
/** What is asked, and what is done with what was found. @param {Record<string, string>} by @param {Filters} filters @param {(found: Found) => void} use */
const question = (by, filters, use) => ({ by, filters, use })

/** @param {Entries} entries without any, but with names @param {{ hidden: readonly string[], onChange: () => void, onError: (error: unknown) => void, showPage: () => Promise<void> }} handlers with what the key does not see */
export const countedEntries = (entries, { hidden, onChange, onError, showPage }) => {
  entries.setCells([])
  const seesPlaces = !hidden.includes('places')
  const shown = dimensions.filter((name) => seesPlaces || !isPlace(name))
  let bins = binsOf(entries)
  /** @type {import('./selection.js').Selection} */
  const selection = {
    ...{ fails: new Uint16Array(0), size: 0, placed: 0, counts: {}, means: {} },
    ...{ bins: new Uint32Array(0), selectedBins: new Uint32Array(0), tonedBins: [] },
  }
  /** What is not counted yet by the filters that apply. */
  const missing = { size: true, cells: true, any: true }
  /** The width of cells that is wanted, and the least of which there are not too many. */
  let step = STEPS[0]
  let least = 0
  /** The last filters that were asked for. What was counted for others is dropped. @type {Filters | undefined} */
  let wanted
  let isFirst = true
  let timer = 0

  /** A number of each value. @param {import('./entries.js').Dimension} name @param {Row[]} rows @param {(row: Row) => number} numberOf @param {number} otherwise */
  const numbersOf = (name, rows, numberOf, otherwise) => {
    const column = entries.columns[name]
    const numbers = column.values.map(() => otherwise)
    for (const row of rows) {
      const code = column.codeOf(row[byOf(name)] ?? '')
      if (code !== undefined) numbers[code] = numberOf(row)
    }
    return numbers
  }

  /** @param {Row[]} rows of days */
  const binned = (rows) => {
    const counts = new Uint32Array(bins.starts.length)
    for (const { 'createdAt:day': day, count } of rows) {
      const bin = d3.bisectRight(bins.starts, Date.parse(day)) - 1
      if (bin >= 0 && Date.parse(day) < bins.end) counts[bin] += count
    }
    return counts
  }

  /** @param {Filters} filters @returns {Generator<ReturnType<typeof question>>} */
  function* questions(filters) {
    const days = 'createdAt:day'
    const noTime = { ...filters, createdSince: undefined, createdBefore: undefined }
    const isWhole = parametersOf(filters).size === 0
    if (isFirst) {
      yield question({ by: days }, {}, ({ rows, total }) => {
        const times = Float64Array.from(rows, (row) => Date.parse(row[days]))
        bins = binsOf({ times, size: times.length })
        entries.total = total
      })
    }
    yield question({ by: days }, filters, ({ rows, total }) => {
      selection.selectedBins = binned(rows)
      selection.tonedBins = []
      selection.tonedBins[toneOf(filters.status ?? '')] = selection.selectedBins
      selection.size = total
      missing.size = false
    })
    yield question({ by: days }, noTime, ({ rows }) => Object.assign(selection, { bins: binned(rows) }))
    for (const name of isFirst ? shown : []) {
      yield question({ by: byOf(name) }, {}, ({ rows }) => {
        entries.columns[name].fill(rows.map((row) => [row[byOf(name)], row.count]))
        if (isWhole) selection.counts[name] = entries.columns[name].totals
      })
    }
    isFirst = false
    for (const name of shown) {
      yield question({ by: byOf(name) }, { ...filters, ...without(name) }, ({ rows }) => {
        selection.counts[name] = numbersOf(name, rows, ({ count }) => count, 0)
        delete selection.means[name]
      })
    }
    if (seesPlaces) yield* cells(filters)
    // Two fields and durations are in no index, so they come last.
    if (filters.status === undefined) {
      yield question({ by: `${days},status` }, filters, ({ rows, others }) => {
        const toned = d3.rollup(rows, binned, ({ status }) => toneOf(status))
        if (others.groups === 0) selection.tonedBins = tones.map((_, tone) => toned.get(tone) ?? binned([]))
      })
    }
    for (const name of measured) {
      yield question({ by: name, measure: 'duration' }, { ...filters, ...without(name) }, ({ rows }) => {
        selection.means[name] = numbersOf(name, rows, ({ duration }) => duration.mean ?? Number.NaN, Number.NaN)
      })
    }
  }

  /** @param {Filters} filters @param {boolean} [isByStatus] whether the cells are divided by the colours of their statuses @returns {ReturnType<typeof questions>} */
  function* cells(filters, isByStatus = filters.status === undefined) {
    const width = Math.max(step, least)
    const cell = `location:${width}`
    const by = isByStatus ? `${cell},status` : cell
    /** @type {Row[]} */
    let all = []
    let isTooMany = false
    yield question({ by }, { ...filters, bbox: undefined }, ({ rows, others }) => {
      all = rows.filter((row) => row[cell] !== null)
      isTooMany = others.groups > 0 && (isByStatus || width < STEPS[0])
    })
    if (isTooMany) {
      if (!isByStatus) least = STEPS[STEPS.indexOf(width) - 1]
      return yield* cells(filters, isByStatus ? false : undefined)
    }
    /** @param {Row} row */
    const keyOf = (row) => JSON.stringify(row[cell])
    /** @param {Row[]} rows */
    const sumOf = (rows) => d3.sum(rows, ({ count }) => count)
    /** @param {Row[]} rows */
    const tonesIn = (rows) =>
      tones.map((_, tone) => sumOf(rows.filter(({ status = filters.status }) => toneOf(status) === tone)))
    /** @param {Row[]} chosen */
    const use = (chosen) => {
      const toned = d3.rollup(chosen, tonesIn, keyOf)
      const found = d3.rollups(all, (rows) => ({ ...rows[0][cell], count: sumOf(rows) }), keyOf)
      entries.setCells(found.map(([key, each]) => ({ ...each, toned: toned.get(key) ?? [] })))
      selection.fails = new Uint16Array(found.length)
      missing.cells = false
      selection.placed = sumOf(chosen.filter((row) => row[cell] !== null))
    }
    if (filters.bbox === undefined) use(all)
    else yield question({ by }, filters, ({ rows }) => use(rows))
  }

  /** Asks one question after the other, because a key has one large request at a time. @param {ReturnType<typeof questions>} asked @param {() => boolean} isWanted */
  const ask = async (asked, isWanted) => {
    for (const { by, filters, use } of asked) {
      const found = await summaryOf(by, filters)
      if (!isWanted()) return
      use(found)
      onChange()
    }
    onChange()
  }

  return {
    selection,
    missing,
    get bins() {
      return bins
    },
    /** Counts by filters, as soon as they stay the same. @param {Filters} filters */
    count(filters) {
      wanted = filters
      Object.assign(missing, { size: true, cells: true, any: true })
      clearTimeout(timer)
      timer = setTimeout(() => {
        say('')
        const isWanted = () => wanted === filters
        Promise.all([ask(questions(filters), isWanted), showPage()])
          .then(() => {
            if (!isWanted()) return
            missing.any = false
            onChange()
            performance.mark('explore:counted')
          })
          .catch(onError)
      }, QUIET_MS)
    },
    /** Counts in cells of another width, if the map needs it. @param {number} degrees the width of a cluster */
    async zoomTo(degrees) {
      const fitting = STEPS.find((each) => each <= degrees) ?? /** @type {number} */ (STEPS.at(-1))
      const filters = wanted
      if (filters === undefined || isFirst || Math.max(fitting, least) === Math.max(step, least)) return
      step = fitting
      await ask(cells(filters), () => wanted === filters && step === fitting).catch(onError)
    },
  }
}
