// The page at /explore: takes the key, loads the entries, and draws all views anew when a filter changes.
import { activeFilters, without } from './active-filters.js'
import { formAnswers, withAnswer } from './answers.js'
import { Refused } from './api.js'
import { countedEntries } from './counted.js'
import { entryDetail } from './detail.js'
import { dimensionBars } from './dimension-bars.js'
import { byId, digits, say, setText } from './dom.js'
import { downloads } from './downloads.js'
import { Entries, LIMIT } from './entries.js'
import { areAll, choices, entryIn, filtersIn, rounded, writeAddress } from './filters.js'
import { keyForm } from './key-form.js'
import { loadEntries, loadNames, totalOfEntries } from './loader.js'
import { entryMap } from './map.js'
import { secondLook } from './second-look.js'
import { select } from './selection.js'
import { entryTable, loadedPages, servicePages } from './table.js'
import { binsOf, timeline } from './timeline.js'

/** How often the views are drawn while entries arrive, in milliseconds. */
const DRAW_MS = 400
/** Changes of the same filter that follow each other so soon are one step of *Back*, as those of a brush are, in milliseconds. */
const STEP_MS = 1000

let entries = new Entries()
/** What the service counts, if these are too many to load. @type {ReturnType<typeof countedEntries> | undefined} */
let counted
/** What the key does not see. @type {readonly string[]} */
let hidden = []
let filters = filtersIn(location.search)
const fails = new Uint16Array(LIMIT)
let bins = binsOf(entries)
let isLoading = false
let isComplete = false
/** How many entries there are, once that is known. @type {number | undefined} */
let total
let isOther = true
let isScheduled = false
let drawnAt = 0
/** The entry that is open. @type {string | undefined} */
let opened
/** What the last change changed, and when. */
let last = { names: '', at: 0 }
/** Which value took the place of another one. */
let replaced = ''

/** @param {import('./filters.js').Filters} wanted */
const apply = (wanted) => {
  filters = wanted
  isOther = true
  schedule()
  counted?.count(filters)
}

/** @param {import('./filters.js').Filters} changes */
const change = (changes) => {
  const names = Object.keys(changes).join()
  const isStep = names !== last.names || performance.now() - last.at > STEP_MS
  last = { names, at: performance.now() }
  const name = choices.find((name) => filters[name] !== undefined && changes[name] !== undefined)
  const [before, now] = [filters, changes].map((of) => name && entries.labelOf(name, of[name] ?? ''))
  replaced = name === undefined ? '' : `${now} took the place of ${before}: one ${name} is selected at a time.`
  if (changes.answered !== undefined && changes.answered.length === filters.answered?.length)
    replaced = 'This answer took the place of another: one to each of up to four questions is selected.'
  apply({ ...filters, ...changes })
  writeAddress(filters, opened, isStep)
}

const openEntry = entryDetail((id) => {
  opened = id
  writeAddress(filters, opened, true)
  schedule()
})
/** @param {number} row */
const onEntry = (row) => {
  const id = entries.ids[row]
  if (id !== undefined) openEntry(id)
  return id !== undefined
}
const map = entryMap({ onBox: (box) => change({ bbox: box && rounded(box) }), onEntry, onMove: () => schedule() })
const time = timeline((createdSince, createdBefore) => change({ createdSince, createdBefore }))
/** @param {import('./filters.js').Choice} name @param {string} value */
const pick = (name, value) => change({ ...without(name), ...(filters[name] !== value && { [name]: value }) })
const bars = dimensionBars(pick)
const look = secondLook(
  () => schedule(),
  (agent) => pick('agent', agent),
  (id) => openEntry(id === opened ? undefined : id),
)
const table = entryTable(openEntry)
const local = loadedPages(table)
const answers = formAnswers(
  () => schedule(),
  (toggled) => change({ answered: withAnswer(filters.answered ?? [], toggled) }),
)
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
  const missing = counted?.missing
  const isEmpty = !isComplete && drawnAt === 0 && counted === undefined
  byId('explorer').classList.toggle('waiting', isEmpty)
  byId('explorer').classList.toggle('counting', missing?.any === true)
  chips.draw(entries, filters, answers.questionIn)
  setText(byId('notes'), notes())
  look.draw(filters, opened)
  if (isEmpty) {
    setText(byId('count'), isLoading ? 'Loading entries…' : 'No entries are here')
    for (const words of document.querySelectorAll('[data-loads]')) setText(words, 'Loading…')
    return bars.wait()
  }
  if (counted !== undefined) bins = counted.bins
  else if (bins.of.length !== entries.size) bins = binsOf(entries)
  const selection = counted?.selection ?? select(entries, filters, bins, fails, answers.rowsWith)
  const isPartial = (counted === undefined && !isComplete) || !answers.knows(filters)
  if (!hidden.includes('places')) map.draw(entries, selection, filters.bbox, missing?.cells ?? isPartial)
  counted?.zoomTo(map.clusterWidth)
  time.draw(bins, selection, filters, missing?.size ?? isPartial)
  bars.draw(entries, selection, filters, missing?.any ?? isPartial)
  answers.draw(entries, selection, filters, !isLoading)
  if (counted === undefined) local.draw(entries, selection, isOther)
  files.draw(filters, {
    ...(isCut() && { idFrom: entries.ids[LIMIT - 1] }),
    ...((entries.unreadable > 0 || counted !== undefined) && { unreadable: 'skip' }),
  })
  const all = (isPartial && total) || entries.total || entries.size
  const words = `${digits(selection.size)} of ${digits(all)} entries${isPartial ? ' so far' : ''}`
  setText(byId('count'), missing?.size ? 'Counting entries…' : words)
  isOther = false
  performance.measure('explore:redraw', { start })
}

/** Whether there are more entries than these. */
const isCut = () => !isLoading && entries.size === LIMIT && (total ?? Infinity) > LIMIT

const notes = () =>
  [
    replaced,
    counted !== undefined && 'These are too many to load: the service counts all of them.',
    isCut() && `These are the newest ${digits(LIMIT)}${total === undefined ? '' : ` of ${digits(total)}`} entries.`,
    !areAll(filters, location.search) && 'A part of the address is no filter that the page knows, and does not select.',
    entries.unreadable > 0 &&
      `${digits(entries.unreadable)} more cannot be shown, because they do not fit the contract.`,
  ]
    .filter(Boolean)
    .join(' ')

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
    isComplete = true
    say(entries.size === 0 ? 'This organisation has no entries yet.' : '')
    byId('explorer').hidden = entries.size === 0
    byId('key-form').hidden = entries.size > 0
    map.fitUnlessMoved(entries)
    redraw()
    performance.mark('explore:complete')
  } catch (error) {
    byId('key-form').hidden = !(error instanceof Refused && error.status === 401)
    const missing =
      total === undefined ? 'entries are here, and more are missing' : `of ${digits(total)} entries are here`
    const words = `${/** @type {Error} */ (error).message} ${digits(entries.size)} ${missing}.`
    say(words, { label: 'Go on', onPress: load })
    schedule()
  } finally {
    isLoading = false
    progress.hidden = true
  }
}

/** @param {unknown} error */
const onError = (error) =>
  say(`${/** @type {Error} */ (error).message} Not all is counted.`, {
    label: 'Try again',
    onPress: () => counted?.count(filters),
  })

/** Lets the service count the entries. */
const count = () => {
  isLoading = false
  const onChange = () => {
    if (drawnAt === 0 && entries.size > 0) map.fitUnlessMoved(entries)
    if (entries.size > 0) drawnAt = performance.now()
    schedule()
  }
  const pages = servicePages(table, hidden)
  const showPage = () => pages.show(entries, filters)
  counted = countedEntries(entries, { hidden, onChange, onError, showPage })
  counted.count(filters)
}

/** @param {readonly string[]} without */
const begin = async (without) => {
  hidden = without
  entries = new Entries()
  counted = undefined
  look.close()
  drawnAt = 0
  isComplete = false
  isLoading = true
  redraw()
  openEntry(entryIn(location.hash))
  total = await totalOfEntries().catch(() => undefined)
  const names = loadNames(entries, hidden, () => schedule())
  if (total !== undefined && total > LIMIT) {
    await names
    return count()
  }
  progress.max = Math.max(1, total ?? LIMIT)
  await load()
  await names
  schedule()
}

byId('zoom-fit').addEventListener('click', () => map.fitAll(entries))
new ResizeObserver(() => schedule()).observe(byId('explorer'))
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => schedule())
addEventListener('popstate', () => {
  if (byId('explorer').hidden) return
  replaced = ''
  apply(filtersIn(location.search))
  openEntry(entryIn(location.hash))
})
/** Small screens have room for the filters only when somebody opens them. */
const isWide = matchMedia('(min-width: 700px)')
const openFilters = () => byId('more-filters').toggleAttribute('open', isWide.matches)
isWide.addEventListener('change', openFilters)
openFilters()
keyForm(begin)
