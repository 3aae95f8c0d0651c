// The outlines of countries, and of the states of Nigeria, as paths on the map: x and y from 0 to 1.
import { toX, toY } from './entries.js'

/** @type {typeof import('topojson-client')} */
const topojson = /** @type {any} */ (globalThis).topojson

/** @param {string} name */
const load = async (name) => (await fetch(new URL(name, import.meta.url))).json()

/** A map without outlines is still a map. */
export const loadOutlines = async () => {
  const [world, states] = await Promise.all(['countries-110m.json', 'states.json'].map(load))
  const projection = d3
    .geoMercator()
    .scale(1 / (2 * Math.PI))
    .translate([0.5, 0.5])
    .precision(0)
  /** @param {any} shape */
  const pathOf = (shape) => {
    const path = new Path2D()
    d3.geoPath(projection, /** @type {any} */ (path))(shape)
    return path
  }
  const borders = new Path2D()
  for (const ring of states) {
    for (const [index, [x, y]] of ring.entries()) borders[index === 0 ? 'moveTo' : 'lineTo'](toX(x / 100), toY(y / 100))
  }
  const { countries, land } = world.objects
  return {
    land: pathOf(topojson.feature(world, land)),
    countries: pathOf(topojson.mesh(world, countries)),
    states: borders,
  }
}
