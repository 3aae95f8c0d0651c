// The time line: how many entries were made in each day, week or longer, and a brush that selects some of it.
import { byId, dayOf, digits, entriesIn, inputById, setText } from './dom.js'

/** @typedef {import('./entries.js').Entries} Entries */
/** @typedef {import('./selection.js').Selection} Selection */

const MOST_BINS = 200
const HEIGHT = 180
const MARGIN = { top: 8, right: 10, bottom: 22, left: 44 }

/** @type {[string, d3.CountableTimeInterval | d3.TimeInterval][]} */
const intervals = [
  ['day', d3.utcDay],
  ['week', d3.utcMonday],
  ['month', d3.utcMonth],
  ['year', d3.utcYear],
  ['decade', /** @type {d3.TimeInterval} */ (d3.utcYear.every(10))],
  ['century', /** @type {d3.TimeInterval} */ (d3.utcYear.every(100))],
]
/** How long one of each is at least, in days. */
const DAYS = [1, 7, 28, 365, 3650, 36500]
const DAY = 86_400_000
/**
 * The part of the entries on each side that may be wrong dates, and how far from the others these are at least: twice the
 * time of the others, and a year.
 */
const OUTLIERS = 0.05
const SPANS = 2

/** The bin of an entry without a time, or with one that is far from the others: counts by it go nowhere. */
const NO_BIN = 2 ** 32 - 1

/**
 * @typedef {object} Bins
 * @property {string} name of what a bin covers, such as `week`
 * @property {d3.TimeInterval} interval
 * @property {number[]} starts the beginning of each bin, in milliseconds
 * @property {number} end of the last
 * @property {Uint32Array} of the bin of each row
 */

/** @param {Pick<Entries, 'size' | 'times'>} entries @returns {Bins} */
export const binsOf = ({ size, times }) => {
  const sorted = times
    .slice(0, size)
    .filter((time) => !Number.isNaN(time))
    .sort()
  const of = new Uint32Array(size)
  if (sorted.length === 0) return { name: 'day', interval: d3.utcDay, starts: [], end: 0, of: of.fill(NO_BIN) }
  const cut = Math.floor(sorted.length * OUTLIERS)
  const [low, high] = [sorted[cut], sorted[sorted.length - 1 - cut]]
  const far = SPANS * (high - low) + 365 * DAY
  const first = sorted[d3.bisectLeft(sorted, low - far)]
  const last = sorted[d3.bisectRight(sorted, high + far) - 1]
  const days = (last - first) / DAY
  const index = DAYS.findIndex((length) => days / length < MOST_BINS)
  const [name, interval] = intervals[index === -1 ? intervals.length - 1 : index]
  const starts = interval.range(interval.floor(new Date(first)), new Date(last + 1)).map(Number)
  for (let row = 0; row < size; row++)
    of[row] = times[row] >= first && times[row] <= last ? d3.bisectRight(starts, times[row]) - 1 : NO_BIN
  return { name, interval, starts, end: Number(interval.ceil(new Date(last + 1))), of }
}

/** @param {(since: number | undefined, before: number | undefined) => void} onChange times in milliseconds */
export const timeline = (onChange) => {
  const view = byId('time-view')
  const from = inputById('time-from')
  const to = inputById('time-to')
  const svg = d3.select(view).append('svg').attr('height', HEIGHT).attr('aria-hidden', 'true')
  const all = svg.append('path').attr('class', 'all')
  const chosen = svg.append('path').attr('class', 'chosen')
  const xAxis = svg.append('g').attr('class', 'axis')
  const yAxis = svg.append('g').attr('class', 'axis')
  const brushed = svg.append('g').attr('class', 'brush')
  const x = d3.scaleUtc()
  const y = d3.scaleLinear()
  const bottom = HEIGHT - MARGIN.bottom
  /** @type {Bins | undefined} */
  let shown
  let width = 0
  /** @type {[since: number | undefined, before: number | undefined]} */
  let current = [undefined, undefined]
  const isFiltered = () => current.some((time) => time !== undefined)
  /** Where a touch has begun, and whether it scrolls the page. */
  let begun = [0, 0]
  /** @type {boolean | undefined} */
  let isScrolling

  const brush = d3.brushX().on('brush end', ({ sourceEvent, selection, type }) => {
    if (!sourceEvent || !shown) return
    if (isScrolling && sourceEvent.type.startsWith('touch')) return onChange(...current)
    // A click takes the filter away, or else selects where it is: a finger is too wide to draw over few bars.
    if (selection === null && isFiltered()) return onChange(undefined, undefined)
    const at = d3.pointer(sourceEvent.changedTouches?.[0] ?? sourceEvent, svg.node())[0]
    const [begin, end] = (selection ?? [at, at]).map((/** @type {number} */ place) => x.invert(place))
    const { interval } = shown
    const since = interval.round(begin)
    const before = interval.round(end)
    // What is shorter than a bin selects the one that it is in.
    if (since < before) onChange(Number(since), Number(before))
    else if (type === 'end') onChange(Number(interval.floor(begin)), Number(interval.offset(interval.floor(begin), 1)))
  })

  // A finger that moves up or down scrolls the page, so the brush does not hear of its moves.
  view.addEventListener(
    'touchstart',
    ({ touches: [{ clientX, clientY }] }) => {
      begun = [clientX, clientY]
      isScrolling = undefined
    },
    { capture: true, passive: true },
  )
  view.addEventListener(
    'touchmove',
    (event) => {
      const [{ clientX, clientY }] = event.touches
      isScrolling ??= Math.abs(clientY - begun[1]) > Math.abs(clientX - begun[0])
      if (isScrolling) event.stopPropagation()
    },
    { capture: true, passive: true },
  )

  for (const input of [from, to]) {
    input.addEventListener('change', () => {
      // The last day that a field takes is no limit.
      const before = ['', to.max].includes(to.value) ? undefined : Date.parse(to.value) + DAY
      onChange(from.value === '' ? undefined : Date.parse(from.value), before)
    })
  }
  byId('time-clear').addEventListener('click', () => {
    onChange(undefined, undefined)
    from.focus()
  })

  /** @param {Bins} bins @param {Uint32Array} counts */
  const bars = ({ starts, end }, counts) => {
    const path = d3.path()
    counts.forEach((count, index) => {
      if (count === 0) return
      const left = x(starts[index])
      const right = x(starts[index + 1] ?? end)
      path.rect(left, y(count), Math.max(right - left - 1, 0.5), bottom - y(count))
    })
    return path.toString()
  }

  return {
    /** @param {Bins} bins @param {Selection} selection @param {import('./filters.js').Filters} filters */
    draw(bins, selection, { createdSince, createdBefore }) {
      const isOther = shown !== bins || width !== view.clientWidth
      shown = bins
      width = view.clientWidth
      if (isOther) {
        svg.attr('width', width).attr('viewBox', `0 0 ${width} ${HEIGHT}`)
        x.domain([bins.starts[0] ?? 0, bins.end || 1]).range([MARGIN.left, width - MARGIN.right])
        xAxis.attr('transform', `translate(0,${bottom})`).call(d3.axisBottom(x).ticks(Math.max(width / 110, 2)))
        brush.extent([
          [MARGIN.left, MARGIN.top],
          [width - MARGIN.right, bottom],
        ])
        brushed.call(brush).style('touch-action', 'pan-y').selectAll('*').style('touch-action', 'pan-y')
      }
      y.domain([0, Math.max(d3.max(selection.bins) ?? 0, 1)]).range([bottom, MARGIN.top])
      yAxis.attr('transform', `translate(${MARGIN.left},0)`).call(d3.axisLeft(y).ticks(3, '~s'))
      all.attr('d', bars(bins, selection.bins))
      chosen.attr('d', bars(bins, selection.selectedBins))

      current = [createdSince, createdBefore]
      const [low, high] = /** @type {[Date, Date]} */ (x.domain())
      const since = Math.max(createdSince ?? Number(low), Number(low))
      const before = Math.min(createdBefore ?? Number(high), Number(high))
      brushed.call(brush.move, isFiltered() && since < before ? [x(since), x(before)] : null)
      const values = [createdSince, createdBefore === undefined ? undefined : createdBefore - 1]
      for (const [index, input] of [from, to].entries()) {
        const time = values[index]
        const value = time === undefined ? '' : dayOf(time)
        if (input.value !== value && document.activeElement !== input) input.value = value
      }
      byId('time-clear').hidden = !isFiltered()
      setText(byId('time-words'), wordsOf(bins, selection))
    },
  }
}

/** @param {Bins} bins @param {Selection} selection */
const wordsOf = ({ name, starts }, { size, selectedBins }) => {
  const counts = [...selectedBins]
  const first = counts.findIndex((count) => count > 0)
  const outside = size - d3.sum(counts)
  const rest = outside === 0 ? '' : ` ${entriesIn(outside)} far before or after; type dates to select them.`
  if (first === -1) return `No entries in this time.${rest}`
  const last = counts.findLastIndex((count) => count > 0)
  const most = d3.maxIndex(counts)
  const span = `from ${dayOf(starts[first])} to ${dayOf(starts[last])} (UTC)`
  return `${entriesIn(size)}, by ${name}, ${span}. The ${name} of ${dayOf(starts[most])} has the most: ${digits(counts[most])}.${rest}`
}
