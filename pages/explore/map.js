// The map: outlines, clusters of entries, zoom, pan, and a box that selects.
import { CELL, clustersIn } from './clusters.js'
import { byId, digits, entriesIn, setText } from './dom.js'
import { toLatitude, toX, toY } from './entries.js'
import { mapBox } from './map-box.js'
import { drawPicture } from './map-picture.js'
import { loadOutlines } from './outlines.js'

/** @typedef {import('./entries.js').Entries} Entries */
/** @typedef {import('./selection.js').Selection} Selection */
/** @typedef {import('./filters.js').Box} Box */

/** The widths of the world in pixels, at most. */
const MAX_SCALE = 2 ** 21
/** How far an arrow key moves the map, in pixels. */
const STEP = 80
/** The narrowest part of the world that is shown at first, so that an outline is in it. */
const LEAST_VIEW = 0.008
/** How much of the entries on each side may be left out of the first view, so that a few outliers do not decide it. */
const OUTLIERS = 0.01

/** @param {{ onBox: (box: Box | undefined) => void, onEntry: (row: number) => boolean, onMove: () => void }} handlers `onEntry` tells whether the row is an entry */
export const entryMap = ({ onBox, onEntry, onMove }) => {
  const view = byId('map-view')
  view.tabIndex = 0
  const canvas = /** @type {HTMLCanvasElement} */ (byId('map-canvas'))
  const selected = d3.select(canvas)
  /** @type {Awaited<ReturnType<typeof loadOutlines>> | undefined} */
  let outlines
  let isLoadingOutlines = false
  /** Loads the outlines. After a failure the next picture tries again. */
  const load = async () => {
    isLoadingOutlines = true
    outlines = await loadOutlines().catch(() => undefined)
    isLoadingOutlines = false
    if (outlines !== undefined) onMove()
  }
  let transform = d3.zoomIdentity
  let hasMoved = false
  /** @type {import('./clusters.js').Cluster[]} */
  let clusters = []

  const zoom = d3
    .zoom()
    // One finger scrolls the page, two move the map.
    .filter(
      (event) =>
        event.touches?.length !== 1 &&
        !box.isDrawing(event) &&
        (!event.ctrlKey || event.type === 'wheel') &&
        !event.button,
    )
    .translateExtent([
      [0, 0],
      [1, 1],
    ])
    .on('zoom', (event) => {
      transform = event.transform
      hasMoved ||= Boolean(event.sourceEvent)
      onMove()
    })
  /** @param {number} x @param {number} y in pixels */
  const degreesAt = (x, y) => {
    const longitude = (transform.invertX(x) - 0.5) * 360
    return [Math.min(Math.max(longitude, -180), 180), toLatitude(transform.invertY(y))]
  }
  const box = mapBox(
    canvas,
    ([left, top, right, bottom]) => {
      const [west, north] = degreesAt(left, top)
      const [east, south] = degreesAt(right, bottom)
      onBox([west, south, east, north])
    },
    onMove,
  )
  const isTouched = matchMedia('(pointer: coarse)').matches
  const byMouse = 'Arrow keys move the map, + and − zoom. Drag with Shift draws a box.'
  setText(byId('map-keys'), isTouched ? 'Two fingers move and zoom the map.' : byMouse)
  selected.call(/** @type {any} */ (zoom)).on('dblclick.zoom', null)

  /** @param {number} factor */
  const zoomBy = (factor) => {
    hasMoved = true
    zoom.scaleBy(/** @type {any} */ (selected), factor)
  }
  byId('zoom-in').addEventListener('click', () => zoomBy(2))
  byId('zoom-out').addEventListener('click', () => zoomBy(0.5))
  byId('box-view').addEventListener('click', () => box.select([0, 0, canvas.clientWidth, canvas.clientHeight]))
  byId('box-clear').addEventListener('click', () => {
    onBox(undefined)
    view.focus()
  })
  view.addEventListener('keydown', (event) => {
    const moves = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }
    const move = moves[/** @type {keyof typeof moves} */ (event.key)]
    if (move)
      zoom.translateBy(/** @type {any} */ (selected), (move[0] * STEP) / transform.k, (move[1] * STEP) / transform.k)
    else if (event.key === '+' || event.key === '=') zoomBy(2)
    else if (event.key === '-') zoomBy(0.5)
    else return
    hasMoved = true
    event.preventDefault()
  })
  canvas.addEventListener('click', (event) => {
    if (event.shiftKey || box.isActive()) return
    const distance = (/** @type {import('./clusters.js').Cluster} */ { x, y }) =>
      Math.hypot(x - event.offsetX, y - event.offsetY)
    const nearest = d3.least(clusters, distance)
    if (nearest === undefined || distance(nearest) > 24) return
    if (nearest.all > 1 || !onEntry(nearest.row)) zoom.scaleBy(/** @type {any} */ (selected), 3, [nearest.x, nearest.y])
  })

  /** The boxes to draw: that which is being drawn, or the one that selects. @param {Box | undefined} bbox */
  const boxes = (bbox) => {
    const drawn = box.drawn()
    if (drawn !== undefined) return [drawn]
    if (bbox === undefined) return []
    const [west, south, east, north] = bbox
    const [top, bottom] = [north, south].map((latitude) => transform.applyY(toY(latitude)))
    // A box across the 180th meridian goes on at the other side.
    const ranges = west <= east ? [[west, east]] : [[west, 180]].concat([[-180, east]])
    return ranges.map((range) => {
      const [left, right] = range.map((longitude) => transform.applyX(toX(longitude)))
      return /** @type {import('./map-box.js').Pixels} */ ([left, top, right, bottom])
    })
  }

  /** Shows the entries, or all of the world if there are none. @param {Entries} entries @param {number} outliers the part on each side that may be left out */
  const fit = ({ xs, ys, size }, outliers) => {
    /** @param {Float64Array} places */
    const range = (places) => {
      const sorted = places
        .slice(0, size)
        .filter((place) => place >= 0)
        .sort()
      if (sorted.length === 0) return [0, 1]
      const cut = Math.floor(sorted.length * outliers)
      return [sorted[cut], sorted[sorted.length - 1 - cut]]
    }
    const [[left, right], [top, bottom]] = [range(xs), range(ys)]
    const { clientWidth, clientHeight } = canvas
    const k =
      0.8 *
      Math.min(clientWidth / Math.max(right - left, LEAST_VIEW), clientHeight / Math.max(bottom - top, LEAST_VIEW))
    zoom.transform(
      /** @type {any} */ (selected),
      d3.zoomIdentity
        .translate(clientWidth / 2, clientHeight / 2)
        .scale(Math.min(Math.max(k, Math.min(clientWidth, clientHeight)), MAX_SCALE))
        .translate(-(left + right) / 2, -(top + bottom) / 2),
    )
  }

  return {
    /** Shows all entries, unless somebody has moved the map. @param {Entries} entries */
    fitUnlessMoved(entries) {
      if (!hasMoved) fit(entries, OUTLIERS)
    },
    /** The width of a cluster, in degrees. */
    get clusterWidth() {
      return (CELL / transform.k) * 360
    },
    /** @param {Entries} entries */
    fitAll: (entries) => fit(entries, 0),
    /** @param {Entries} entries @param {Selection} selection @param {Box | undefined} bbox @param {boolean} isLoading */
    draw(entries, selection, bbox, isLoading) {
      const ratio = window.devicePixelRatio
      if (outlines === undefined && !isLoadingOutlines) load()
      const { clientWidth: width, clientHeight: height } = view
      if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
        canvas.width = Math.round(width * ratio)
        canvas.height = Math.round(height * ratio)
        zoom.scaleExtent([Math.min(width, height), MAX_SCALE])
        if (!hasMoved) fit(entries, OUTLIERS)
      }
      const found = clustersIn(entries, selection.fails, transform, width, height)
      clusters = found.clusters
      drawPicture(canvas, { outlines, clusters, transform, ratio, boxes: boxes(bbox) })
      byId('box-clear').hidden = bbox === undefined
      // Where the service has counted, the middles of cells are in view, and not entries.
      const inView = isLoading || entries.weights !== undefined ? undefined : found.inView
      setText(byId('box-view'), `Select ${inView === undefined ? 'what is' : `the ${digits(inView)}`} in view`)
      setText(byId('map-words'), isLoading ? 'Loading…' : wordsOf(selection))
    },
  }
}

/** @param {Selection} selection */
const wordsOf = ({ size, placed }) =>
  `${entriesIn(placed)} on the map.${size > placed ? ` ${entriesIn(size - placed)} without a place.` : ''}`
