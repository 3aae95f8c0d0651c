// The page at /explore: takes the key, loads the entries, and draws all views anew when a filter changes.
import { activeFilters } from './active-filters.js'
import { formAnswers } from './answers.js'
import { Refused, setKey } from './api.js'
import { entryDetail } from './detail.js'
import { dimensionBars } from './dimension-bars.js'
import { byId, digits, element, inputById, say, setText } from './dom.js'
import { downloads } from './downloads.js'
import { Entries, LIMIT } from './entries.js'
import { areAll, filtersIn, rounded, writeAddress } from './filters.js'
import { loadEntries, loadNames, readKey, totalOfEntries } from './loader.js'
import { entryMap } from './map.js'
import { select } from './selection.js'
import { entryTable } from './table.js'
import { binsOf, timeline } from './timeline.js'

/** How often the views are drawn while entries arrive, in milliseconds. */
const DRAW_MS = 400

let entries = new Entries()
/** What the key does not see. @type {readonly string[]} */
let hidden = []
let filters = filtersIn(location.search)
const fails = new Uint8Array(LIMIT)
let bins = binsOf(entries)
let isLoading = false
/** How many entries there are, once that is known. @type {number | undefined} */
let total
let isOther = true
let isScheduled = false
let drawnAt = 0

/** @param {import('./filters.js').Filters} changes */
const change = (changes) => {
  filters = { ...filters, ...changes }
  writeAddress(filters)
  isOther = true
  schedule()
}

const openEntry = entryDetail()
/** @param {number} row */
const onEntry = (row) => openEntry(entries.ids[row])
const map = entryMap({ onBox: (box) => change({ bbox: box && rounded(box) }), onEntry, onMove: () => schedule() })
const time = timeline((createdSince, createdBefore) => change({ createdSince, createdBefore }))
const bars = dimensionBars((name, value) => change({ [name]: filters[name] === value ? undefined : value }))
const table = entryTable(onEntry)
const answers = formAnswers(() => schedule())
const files = downloads()
const chips = activeFilters(change)

/** All views are drawn once, before the next picture. */
const schedule = () => {
  if (isScheduled) return
  isScheduled = true
  requestAnimationFrame(() => {
    isScheduled = false
    redraw()
  })
}

const redraw = () => {
  if (byId('explorer').hidden) return
  const start = performance.now()
  if (bins.of.length !== entries.size) bins = binsOf(entries)
  const selection = select(entries, filters, bins, fails)
  if (!hidden.includes('places')) map.draw(entries, selection, filters.bbox)
  time.draw(bins, selection, filters)
  bars.draw(entries, selection, filters)
  answers.draw(entries, selection, filters.form, !isLoading)
  table.draw(entries, selection, isOther)
  chips.draw(entries, filters)
  const isCut = !isLoading && entries.size === LIMIT && (total ?? Infinity) > LIMIT
  files.draw(filters, {
    ...(isCut && { idFrom: entries.ids[LIMIT - 1] }),
    ...(entries.unreadable > 0 && { unreadable: 'skip' }),
  })
  setText(byId('count'), `${digits(selection.size)} of ${digits(entries.size)} entries`)
  byId('notes').textContent = [
    isLoading && total !== undefined && `Loading ${digits(Math.min(total, LIMIT))} entries…`,
    isCut && `These are the newest ${digits(LIMIT)}${total === undefined ? '' : ` of ${digits(total)}`} entries.`,
    !areAll(filters, location.search) && 'A part of the address is no filter that the page knows, and does not select.',
    entries.unreadable > 0 &&
      `${digits(entries.unreadable)} more cannot be shown, because they do not fit the contract.`,
  ]
    .filter(Boolean)
    .join(' ')
  isOther = false
  performance.measure('explore:redraw', { start })
}

const progress = /** @type {HTMLProgressElement} */ (byId('progress'))

const onMore = () => {
  progress.value = entries.size
  const isFirst = drawnAt === 0
  if (!isFirst && performance.now() - drawnAt < DRAW_MS) return
  if (entries.size === 0) return
  drawnAt = performance.now()
  map.fitUnlessMoved(entries)
  redraw()
  if (isFirst) performance.mark('explore:first-drawing')
}

const load = async () => {
  say('')
  isLoading = true
  progress.hidden = false
  try {
    await loadEntries(entries, hidden, onMore)
    isLoading = false
    say(entries.size === 0 ? 'This organisation has no entries yet.' : '')
    byId('explorer').hidden = entries.size === 0
    byId('key-form').hidden = entries.size > 0
    map.fitUnlessMoved(entries)
    redraw()
    performance.mark('explore:complete')
  } catch (error) {
    const goOn = element('button', { type: 'button', id: 'go-on', textContent: 'Go on' })
    goOn.addEventListener('click', load)
    byId('key-form').hidden = !(error instanceof Refused && error.status === 401)
    const missing =
      total === undefined ? 'entries are here, and more are missing' : `of ${digits(total)} entries are here`
    say(`${/** @type {Error} */ (error).message} ${digits(entries.size)} ${missing}.`, goOn)
    schedule()
  } finally {
    isLoading = false
    progress.hidden = true
  }
}

/** @param {string} key */
const begin = async (key) => {
  setKey(key)
  performance.mark('explore:key')
  const submit = /** @type {HTMLButtonElement} */ (byId('key-form').querySelector('button'))
  submit.disabled = true
  say('Asking the service…')
  try {
    const { name, without } = await readKey()
    hidden = without
    // What a key does not see is no part of the page: the map and the states are of places.
    const seesPlaces = !without.includes('places')
    for (const id of ['map', 'state']) byId(id).hidden = !seesPlaces
    setText(byId('hidden'), `This key does not see ${without.join(' or ').replace('personal', 'personal data')}.`)
    byId('hidden').hidden = without.length === 0
    byId('title').textContent = name
    document.title = `Explore entries: ${name}`
  } catch (error) {
    say(/** @type {Error} */ (error).message)
    if (!(error instanceof Refused)) throw error
    // A key that was not refused itself can be tried again.
    if (error.status !== 401) inputById('key').value = key
    byId('key-form').hidden = false
    return inputById('key').focus()
  } finally {
    submit.disabled = false
  }
  entries = new Entries()
  drawnAt = 0
  byId('key-form').hidden = true
  byId('explorer').hidden = false
  byId('count').focus()
  progress.max = LIMIT
  const names = loadNames(entries, hidden)
  totalOfEntries().then(
    (counted) => {
      total = counted
      progress.max = Math.max(1, Math.min(counted, LIMIT))
    },
    () => {},
  )
  await load()
  await names
  schedule()
}

/** The key of an address is removed from it at once. */
const beginWithAddress = () => {
  const key = new URLSearchParams(location.hash.slice(1)).get('key')
  if (key === null) return
  history.replaceState(null, '', `${location.pathname}${location.search}`)
  begin(key)
}

byId('key-form').addEventListener('submit', (event) => {
  event.preventDefault()
  const input = inputById('key')
  const key = input.value
  input.value = ''
  begin(key)
})
byId('zoom-fit').addEventListener('click', () => map.fitAll(entries))
addEventListener('hashchange', beginWithAddress)
new ResizeObserver(() => schedule()).observe(byId('explorer'))
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => schedule())
beginWithAddress()
