// A box that is drawn on the map, with Shift or after a press of the button.
import { byId } from './dom.js'

/** Smaller boxes are clicks. In pixels. */
const LEAST = 4

/** @typedef {[left: number, top: number, right: number, bottom: number]} Pixels */

/** @param {HTMLCanvasElement} canvas @param {(box: Pixels) => void} select @param {() => void} redraw */
export const mapBox = (canvas, select, redraw) => {
  const button = byId('box-mode')
  let isActive = false
  /** @type {{ id: number, from: [number, number], to: [number, number] } | undefined} */
  let drag
  /** @param {boolean} active */
  const setActive = (active) => {
    isActive = active
    button.setAttribute('aria-pressed', String(active))
    canvas.classList.toggle('drawing', active)
  }
  button.addEventListener('click', () => setActive(!isActive))

  /** @returns {Pixels | undefined} */
  const drawn = () => {
    if (drag === undefined) return
    const [[x, y], [toX, toY]] = [drag.from, drag.to]
    return [Math.min(x, toX), Math.min(y, toY), Math.max(x, toX), Math.max(y, toY)]
  }
  /** @param {{ shiftKey: boolean }} event */
  const isDrawing = (event) => isActive || event.shiftKey

  canvas.addEventListener('pointerdown', (event) => {
    if (drag !== undefined || event.button !== 0 || !isDrawing(event)) return
    drag = { id: event.pointerId, from: [event.offsetX, event.offsetY], to: [event.offsetX, event.offsetY] }
    canvas.setPointerCapture(event.pointerId)
  })
  canvas.addEventListener('pointermove', (event) => {
    if (event.pointerId !== drag?.id) return
    const { clientWidth, clientHeight } = canvas
    drag.to = [Math.min(Math.max(event.offsetX, 0), clientWidth), Math.min(Math.max(event.offsetY, 0), clientHeight)]
    redraw()
  })
  canvas.addEventListener('pointerup', (event) => {
    if (event.pointerId !== drag?.id) return
    const box = /** @type {Pixels} */ (drawn())
    drag = undefined
    redraw()
    if (box[2] - box[0] < LEAST || box[3] - box[1] < LEAST) return
    setTimeout(setActive, 0, false) // after the click that this is, too
    select(box)
  })
  // Otherwise a quick drag by touch goes on as a swipe, and the browser takes the next tap for its end.
  canvas.addEventListener('touchmove', (event) => drag && event.preventDefault(), { passive: false })
  canvas.addEventListener('pointercancel', () => {
    drag = undefined
    redraw()
  })
  return { drawn, isDrawing, select, isActive: () => isActive }
}
