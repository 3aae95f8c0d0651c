// Draws the map: outlines, clusters with their numbers, and boxes. Its colours are those of the style sheet.
import { radiusOf } from './clusters.js'
import { tones } from './statuses.js'

/** How wide the ring of a cluster is, whose parts have the colours of the statuses, in pixels. */
const RING = 4

/**
 * @param {HTMLCanvasElement} canvas
 * @param {object} picture
 * @param {Awaited<ReturnType<typeof import('./outlines.js').loadOutlines>> | undefined} picture.outlines
 * @param {import('./clusters.js').Cluster[]} picture.clusters the largest first
 * @param {d3.ZoomTransform} picture.transform from the map, which is one unit wide, to pixels
 * @param {number} picture.ratio of the screen's pixels to those of the page
 * @param {import('./map-box.js').Pixels[]} picture.boxes
 */
export const drawPicture = (canvas, { outlines, clusters, transform, ratio, boxes }) => {
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'))
  const style = getComputedStyle(canvas)
  /** @param {string} name */
  const colour = (name) => style.getPropertyValue(`--${name}`)
  const { k, x, y } = transform
  context.setTransform(1, 0, 0, 1, 0, 0)
  context.clearRect(0, 0, canvas.width, canvas.height)
  if (outlines !== undefined) {
    context.setTransform(ratio * k, 0, 0, ratio * k, ratio * x, ratio * y)
    context.fillStyle = colour('land')
    context.fill(outlines.land)
    context.strokeStyle = colour('border')
    context.lineWidth = 0.6 / k
    context.stroke(outlines.states)
    context.lineWidth = 1.4 / k
    context.stroke(outlines.countries)
  }

  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  context.font = '600 11px system-ui, sans-serif'
  context.textAlign = 'center'
  context.textBaseline = 'middle'
  const most = d3.max(clusters, ({ all }) => all) ?? 1
  for (const cluster of clusters) {
    const { all, selected, toned } = cluster
    const radius = radiusOf(cluster, most)
    const count = selected || all
    /** @param {number} radius @param {number} [from] @param {number} [to] parts of the circle */
    const arc = (radius, from = 0, to = 1) => {
      context.beginPath()
      context.arc(cluster.x, cluster.y, radius, (from - 0.25) * 2 * Math.PI, (to - 0.25) * 2 * Math.PI)
    }
    arc(radius)
    context.fillStyle =
      selected === 0 ? colour('faded') : colour(count === 1 ? tones[d3.maxIndex(toned)] : 'background')
    context.fill()
    if (count === 1) continue
    context.lineWidth = RING
    let from = 0
    for (const [tone, part] of toned.entries()) {
      if (part === 0) continue
      arc(radius - RING / 2, from, from + part / selected)
      context.strokeStyle = colour(tones[tone])
      context.stroke()
      from += part / selected
    }
    context.fillStyle = colour('text')
    context.fillText(count < 1000 ? String(count) : d3.format('.2~s')(count), cluster.x, cluster.y)
  }

  context.strokeStyle = colour('text')
  context.lineWidth = 1.5
  context.setLineDash([5, 3])
  for (const [left, top, right, bottom] of boxes) context.strokeRect(left, top, right - left, bottom - top)
  context.setLineDash([])
}
