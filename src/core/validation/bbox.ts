// Reads boxes on the map as OGC API - Features writes them.
import { MAX_LATITUDE, MAX_LONGITUDE } from '../../../schemas/earth.js'
import type { Box } from '../../../schemas/entries.js'

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i

/**
 * The box that a text names: its first corner and its second one, each with its longitude, its latitude and, if it likes, a
 * height. Heights are ignored, because no record has one. A box whose first longitude is greater than its second crosses the
 * antimeridian. If it names none, the result is what is wrong with it.
 */
export const boxOf = (text: string): Box | string => {
  const texts = text.split(',')
  const bad = texts.find((each) => !NUMBER.test(each))
  if (bad !== undefined) return 'has a value that is not a number'
  if (texts.length !== 4 && texts.length !== 6) return `has ${texts.length} numbers`
  const numbers = texts.map(Number)
  const [west, south] = numbers as [number, number]
  const [east, north] = numbers.slice(texts.length / 2) as [number, number]
  if (Math.max(Math.abs(west), Math.abs(east)) > MAX_LONGITUDE) return 'has a longitude beyond 180 degrees'
  if (Math.max(Math.abs(south), Math.abs(north)) > MAX_LATITUDE) return 'has a latitude beyond 90 degrees'
  if (south > north) return 'has a first latitude that is greater than its second'
  return { west, south, east, north }
}
