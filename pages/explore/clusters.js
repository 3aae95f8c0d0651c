// Puts the entries in view together to clusters, by cells of a grid. A pass over 50,000 entries takes milliseconds, so that
// clusters follow every change of the filters.
import { bits } from './selection.js'
import { toneOf, tones } from './statuses.js'

/** The width of a cell at most, in pixels. */
export const CELL = 44
/** More than there are rows of cells in view. */
const STRIDE = 4096
/** How far apart the middles of two clusters are at least, as a part of the sum of their radii. */
const APART = 0.85

/**
 * @typedef {object} Cluster
 * @property {number} x the mean place of its entries in pixels, of the selected ones if there are any
 * @property {number} y
 * @property {number} all how many entries pass all filters but the box
 * @property {number} selected how many pass the box too
 * @property {number[]} toned how many of these have each colour of a status
 * @property {number} row of one of them
 */

/** The clusters, the largest first, and how many entries are in view that pass all filters but the box. @param {import('./entries.js').Entries} entries @param {Uint16Array} fails @param {{ k: number, x: number, y: number }} transform from the place on the map to pixels @param {number} width in pixels @param {number} height in pixels */
export const clustersIn = ({ size, xs, ys, weights, toned, columns }, fails, transform, width, height) => {
  // A cell keeps its place on the map, however the map is moved.
  const cell = CELL / 2 ** Math.ceil(Math.log2(transform.k))
  const [left, top] = [-transform.x / transform.k - cell, -transform.y / transform.k - cell]
  const [right, bottom] = [left + width / transform.k + 2 * cell, top + height / transform.k + 2 * cell]
  const [column, line] = [Math.floor(left / cell), Math.floor(top / cell)]
  const { codes, values } = columns.status
  const toneOfCode = values.map(toneOf)
  /** @type {Map<number, Cluster>} */
  const found = new Map()
  let inView = 0
  for (let row = 0; row < size; row++) {
    const failed = fails[row]
    const x = xs[row]
    const y = ys[row]
    if ((failed & ~bits.box) !== 0 || !(x >= left && x <= right && y >= top && y <= bottom)) continue
    const weight = weights?.[row] ?? 1
    if (x >= left + cell && x <= right - cell && y >= top + cell && y <= bottom - cell) inView += weight
    const place = (Math.floor(x / cell) - column) * STRIDE + Math.floor(y / cell) - line
    let cluster = found.get(place)
    if (cluster === undefined) {
      cluster = { x: 0, y: 0, all: 0, selected: 0, toned: tones.map(() => 0), row }
      found.set(place, cluster)
    }
    const selected = toned ? d3.sum(toned[row]) : Number(failed === 0)
    cluster.all += weight
    if (selected > 0) {
      if (cluster.selected === 0) Object.assign(cluster, { x: 0, y: 0, row })
      cluster.selected += selected
      if (toned === undefined) cluster.toned[toneOfCode[codes[row]]] += 1
      else for (const [tone, count] of toned[row].entries()) cluster.toned[tone] += count
    } else if (cluster.selected > 0) continue
    cluster.x += x * (selected || weight)
    cluster.y += y * (selected || weight)
  }
  for (const cluster of found.values()) {
    const count = cluster.selected || cluster.all
    cluster.x = (cluster.x / count) * transform.k + transform.x
    cluster.y = (cluster.y / count) * transform.k + transform.y
  }
  return { clusters: merged([...found.values()]), inView }
}

/** How large a cluster is drawn, in pixels. @param {Cluster} cluster @param {number} most entries in any of them */
export const radiusOf = ({ all, selected }, most) => {
  const count = selected || all
  return count === 1 ? 5 : 10 + 12 * Math.sqrt(count / most)
}

/** Puts a cluster into a larger one that would cover much of it. @param {Cluster[]} clusters @returns {Cluster[]} the largest first */
const merged = (clusters) => {
  const most = d3.max(clusters, ({ all }) => all) ?? 1
  /** @type {Cluster[]} */
  const kept = []
  for (const cluster of clusters.sort((a, b) => b.all - a.all)) {
    const radius = radiusOf(cluster, most)
    const larger = kept.find(
      ({ x, y, ...other }) =>
        Math.hypot(x - cluster.x, y - cluster.y) < APART * (radius + radiusOf({ x, y, ...other }, most)),
    )
    if (larger === undefined) {
      kept.push(cluster)
      continue
    }
    if (larger.selected === 0) larger.row = cluster.row
    larger.all += cluster.all
    larger.selected += cluster.selected
    larger.toned = larger.toned.map((count, tone) => count + cluster.toned[tone])
  }
  return kept
}
