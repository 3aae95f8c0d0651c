// The time line: how many entries were made in each day, week or longer, and a brush that selects some of it.
import { byId, dayOf, digits, entriesIn, inputById, setText } from './dom.js'
import { tones } from './statuses.js'

/** @typedef {import('./entries.js').Entries} Entries */
/** @typedef {import('./selection.js').Selection} Selection */

const MOST_BINS = 200
const MARGIN = { top: 18, right: 26, bottom: 22, left: 48 }

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

/** A bin that is so many times as high as almost all others is cut, and the others have so much of the height. */
const CUT = 3
const USUAL = 0.95
const CUT_AT = 1.5

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
  const svg = d3.select(view).append('svg').attr('aria-hidden', 'true')
  const brushed = svg.append('g').attr('class', 'brush')
  const drawn = svg.append('g').attr('pointer-events', 'none')
  const all = drawn.append('path').attr('class', 'all')
  const chosen = tones.map((tone) => drawn.append('path').style('fill', `var(--${tone})`))
  const cuts = svg.append('g').attr('text-anchor', 'middle').attr('font-size', 11)
  const xAxis = svg.append('g').attr('class', 'axis')
  const yAxis = svg.append('g').attr('class', 'axis')
  const x = d3.scaleUtc()
  const y = d3.scaleLinear().clamp(true)
  let bottom = 0
  /** @type {Bins | undefined} */
  let shown
  let [width, height] = [0, 0]
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
  /** @param {TouchEvent} event */
  const onTouch = (event) => {
    const [{ clientX, clientY }] = event.touches
    if (event.type === 'touchstart') begun = [clientX, clientY]
    if (event.type === 'touchstart') isScrolling = undefined
    else isScrolling ??= Math.abs(clientY - begun[1]) > Math.abs(clientX - begun[0])
    if (isScrolling) event.stopPropagation()
  }
  for (const type of /** @type {const} */ (['touchstart', 'touchmove']))
    view.addEventListener(type, onTouch, { capture: true, passive: true })

  for (const input of [from, to]) {
    input.addEventListener('change', () => {
      const [since, before] = [from, to].map(({ value }) => (value === '' ? undefined : Date.parse(value)))
      input.setCustomValidity(Number.isNaN(input === from ? since : before) ? 'This is no day.' : '')
      if (from.reportValidity() && to.reportValidity()) onChange(since, before === undefined ? before : before + DAY)
    })
  }
  byId('time-clear').addEventListener('click', () => {
    onChange(undefined, undefined)
    from.focus()
  })

  /** @param {Bins} bins @param {Uint32Array} counts @param {Uint32Array} [below] what the bars stand on, which grows by them */
  const bars = ({ starts, end }, counts, below) => {
    const path = d3.path()
    counts.forEach((count, index) => {
      if (count === 0) return
      const left = x(starts[index])
      const right = x(starts[index + 1] ?? end)
      const base = below?.[index] ?? 0
      path.rect(left, y(base + count), Math.max(right - left - 1, 0.5), y(base) - y(base + count))
      if (below) below[index] += count
    })
    return path.toString()
  }

  return {
    /** @param {Bins} bins @param {Selection} selection @param {import('./filters.js').Filters} filters @param {boolean} isLoading */
    draw(bins, selection, { createdSince, createdBefore }, isLoading) {
      svg.attr('visibility', bins.starts.length === 0 ? 'hidden' : 'visible')
      const isOther = shown !== bins || width !== view.clientWidth || height !== view.clientHeight
      shown = bins
      width = view.clientWidth
      height = view.clientHeight
      if (isOther) {
        bottom = height - MARGIN.bottom
        svg.attr('width', width).attr('height', height).attr('viewBox', `0 0 ${width} ${height}`)
        x.domain([bins.starts[0] ?? 0, bins.end || 1]).range([MARGIN.left, width - MARGIN.right])
        const days = x.ticks(Math.max(width / 110, 2)).filter((day) => Number(day) % DAY === 0)
        const areFirst = (/** @type {number} */ length) =>
          days.every((day) => /^(-01)*$/.test(dayOf(day).slice(length)))
        // All are years, months or days.
        const length = [4, 7].find(areFirst) ?? 10
        const axis = d3.axisBottom(x).tickValues(days)
        axis.tickFormat((day) => dayOf(/** @type {Date} */ (day)).slice(0, length))
        xAxis.attr('transform', `translate(0,${bottom})`).call(axis)
        brush.extent([
          [MARGIN.left, MARGIN.top],
          [width - MARGIN.right, bottom],
        ])
        brushed.call(brush).style('touch-action', 'pan-y').selectAll('*').style('touch-action', 'pan-y')
      }
      const limit = limitOf(selection.bins)
      y.domain([0, limit]).range([bottom, MARGIN.top])
      const axis = d3.axisLeft(y).tickValues(y.ticks(3).filter(Number.isInteger))
      yAxis.attr('transform', `translate(${MARGIN.left},0)`).call(axis.tickFormat((count) => digits(Number(count))))
      all.attr('d', bars(bins, selection.bins))
      const below = new Uint32Array(bins.starts.length)
      for (const [tone, path] of chosen.entries())
        path.attr('d', bars(bins, selection.tonedBins[tone] ?? below.slice(0, 0), below))
      const cut = d3.range(bins.starts.length).filter((bin) => selection.bins[bin] > limit)
      /** @param {number} bin */
      const middle = (bin) => x((bins.starts[bin] + (bins.starts[bin + 1] ?? bins.end)) / 2)
      cuts
        .selectAll('text')
        .data(cut)
        .join('text')
        .attr('x', middle)
        .attr('y', MARGIN.top - 5)
        .text((bin) => `↑ ${digits(selection.bins[bin])}`)

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
      const words = wordsOf(bins, selection) + (cut.length === 0 ? '' : ' Bars with ↑ are cut.')
      setText(byId('time-words'), isLoading || bins.starts.length === 0 ? 'Loading…' : words)
    },
  }
}

/** The count that the height stands for. @param {Uint32Array} counts */
const limitOf = (counts) => {
  const most = d3.max(counts) ?? 0
  const some = counts.filter((count) => count > 0)
  const usual = d3.quantile(some, USUAL) ?? 0
  return Math.max(most > CUT * usual ? Math.ceil(CUT_AT * usual) : most, 1)
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
  const span = `from ${dayOf(starts[first])} to ${dayOf(starts[last])}`
  return `${entriesIn(size)}, by ${name}, ${span}. The ${name} of ${dayOf(starts[most])} has the most: ${digits(counts[most])}.${rest}`
}
