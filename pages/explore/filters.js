// The filters: what the API filters by, under the same names. They stand in the address of the page.

/** The filters by one value. */
export const choices = /** @type {const} */ (['status', 'form', 'project', 'dispatch', 'agent', 'state', 'lga'])
/** @typedef {typeof choices[number]} Choice */

/** @typedef {[west: number, south: number, east: number, north: number]} Box in degrees */

/**
 * @typedef {{ [C in Choice]?: string } & {
 *   createdSince?: number, createdBefore?: number, bbox?: Box, answered?: readonly string[]
 * }} Filters times in milliseconds; answers as the API has them: the key of a question, `=` and the answer
 */

/** How many answers the API takes. */
export const MOST_ANSWERED = 4

/** Digits of degrees that a box has: a metre. */
const DIGITS = 5

/** The box, so rounded that the API selects by the same numbers. @param {Box} box @returns {Box} */
export const rounded = (box) => /** @type {Box} */ (box.map((degrees) => Number(degrees.toFixed(DIGITS))))

/** @param {string | null} text @returns {number | undefined} */
const timeIn = (text) => {
  const time = Date.parse(text ?? '')
  const isInRange = time >= Date.UTC(0) && time < Date.UTC(10_000)
  return isInRange ? time : undefined
}

/** @param {string | null} text @returns {Box | undefined} */
const boxIn = (text) => {
  const numbers = (text ?? '').split(',').map((part) => (part.trim() === '' ? Number.NaN : Number(part)))
  if (numbers.length !== 4) return
  const [west, south, east, north] = numbers
  const isValid = Math.abs(west) <= 180 && Math.abs(east) <= 180 && south >= -90 && south <= north && north <= 90
  return isValid ? rounded([west, south, east, north]) : undefined
}

/** What an address says. What is no filter, or no valid one, is ignored. @param {string} search @returns {Filters} */
export const filtersIn = (search) => {
  const parameters = new URLSearchParams(search)
  /** @type {Filters} */
  const filters = {
    createdSince: timeIn(parameters.get('createdSince')),
    createdBefore: timeIn(parameters.get('createdBefore')),
    bbox: boxIn(parameters.get('bbox')),
  }
  const answered = parameters.getAll('answered').filter((text) => /^[\da-f]{12}=/.test(text))
  if (answered.length > 0 && parameters.get('form')) filters.answered = answered.slice(0, MOST_ANSWERED)
  for (const name of choices) filters[name] = parameters.get(name) || undefined
  return filters
}

/** The filters as parameters of the API. @param {Filters} filters */
export const parametersOf = ({ createdSince, createdBefore, bbox, answered = [], ...chosen }) => {
  const parameters = new URLSearchParams()
  for (const name of choices) if (chosen[name] !== undefined) parameters.set(name, chosen[name])
  if (createdSince !== undefined) parameters.set('createdSince', new Date(createdSince).toISOString())
  if (createdBefore !== undefined) parameters.set('createdBefore', new Date(createdBefore).toISOString())
  if (bbox !== undefined) parameters.set('bbox', bbox.join())
  for (const each of answered) parameters.append('answered', each)
  return parameters
}

/** Whether an address has no other parameters than these filters. @param {Filters} filters @param {string} search */
export const areAll = (filters, search) => {
  const known = parametersOf(filters)
  return [...new URLSearchParams(search)].every(([name, value], index, all) => {
    const isFirst = all.findIndex((other) => other[0] === name) === index
    if (name === 'answered') return known.has(name, value)
    return isFirst && (known.has(name) || value === '')
  })
}

/** The entry that an address opens, which is no filter. @param {string} hash */
export const entryIn = (hash) => new URLSearchParams(hash.slice(1)).get('entry') || undefined

/** @param {Filters} filters @param {string | undefined} entry @param {boolean} isStep whether *Back* leads to the address before */
export const writeAddress = (filters, entry, isStep) => {
  const parameters = parametersOf(filters)
  const hash = entry === undefined ? '' : `#${new URLSearchParams({ entry })}`
  const address = `${location.pathname}${parameters.size > 0 ? `?${parameters}` : ''}${hash}`
  if (address === `${location.pathname}${location.search}${location.hash}`) return
  history[isStep ? 'pushState' : 'replaceState'](null, '', address)
}
