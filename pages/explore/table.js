// The table of selected entries, a page at a time, the newest first.
import { request } from './api.js'
import { byId, digits, element, oneStop, setText, short, utc } from './dom.js'
import { isPlace } from './entries.js'
import { parametersOf } from './filters.js'
import { rowsOf } from './selection.js'
import { setTone } from './statuses.js'

/** @typedef {import('./entries.js').Entries} Entries */
/** @typedef {import('./selection.js').Selection} Selection */
/** @typedef {{ id: string, time: number | string, status: string, texts: string[] }} Line */

const PAGE = 25
const columns = /** @type {const} */ (['status', 'form', 'project', 'agent', 'state'])

/** @param {(id: string) => void} onEntry */
export const entryTable = (onEntry) => {
  const body = element('tbody')
  const head = ['Created', 'Status', 'Form', 'Project', 'Agent', 'State'].map((textContent) =>
    element('th', { textContent, scope: 'col' }),
  )
  const view = byId('table-view')
  view.tabIndex = 0 // so that it scrolls by keys
  view.append(element('table', { id: 'table' }, element('thead', {}, element('tr', {}, ...head)), body))
  const buttons = /** @type {HTMLButtonElement[]} */ ([byId('page-previous'), byId('page-next')])
  /** What the buttons do. @type {((() => void) | undefined)[]} */
  let steps = []
  for (const [index, button] of buttons.entries()) button.addEventListener('click', () => steps[index]?.())
  const lines = Array.from({ length: PAGE }, () => {
    const button = element('button', { type: 'button', className: 'open', hidden: true })
    const cells = columns.map(() => element('td', { dir: 'auto' }))
    const line = { id: '', button, cells, tr: element('tr', {}, element('td', {}, button), ...cells) }
    button.addEventListener('click', () => onEntry(line.id))
    return line
  })
  body.append(...lines.map(({ tr }) => tr))
  const keepStop = oneStop(body)

  return {
    /** @param {readonly Line[]} rows @param {string} words which rows they are @param {(() => void)} [previous] what leads to the page before, if there is one @param {(() => void)} [next] */
    show(rows, words, previous, next) {
      for (const [index, line] of lines.entries()) {
        const row = rows[index]
        line.tr.hidden = row === undefined
        if (row === undefined) continue
        line.id = row.id
        line.button.hidden = false
        setTone(line.cells[0], row.status)
        setText(line.button, utc(row.time) || 'Open')
        for (const [at, text] of row.texts.entries()) setText(line.cells[at], short(text))
      }
      keepStop()
      setText(byId('page-words'), rows.length === 0 ? 'No entries' : words)
      steps = [previous, next]
      for (const [index, button] of buttons.entries()) button.disabled = steps[index] === undefined
    },
  }
}

/** The pages of entries that are here. @param {ReturnType<typeof entryTable>} table */
export const loadedPages = (table) => {
  let from = 0
  return {
    /** @param {Entries} entries @param {Selection} selection @param {boolean} isOther whether other filters apply than before */
    draw(entries, selection, isOther) {
      const { size } = selection
      if (isOther) from = 0
      from = Math.min(from, Math.max(0, Math.floor((size - 1) / PAGE) * PAGE))
      /** @param {number} step */
      const to = (step) => () => {
        from += step
        this.draw(entries, selection, false)
      }
      const rows = rowsOf(selection, entries.size, from, PAGE).map((row) => ({
        ...{ id: entries.ids[row], time: entries.times[row], status: entries.valueAt('status', row) },
        texts: columns.map((name) => entries.labelAt(name, row)),
      }))
      const words = `${digits(from + 1)} to ${digits(from + rows.length)} of ${digits(size)}`
      table.show(rows, words, from > 0 ? to(-PAGE) : undefined, from + PAGE < size ? to(PAGE) : undefined)
    },
  }
}

/** The pages of entries that the service has. @param {ReturnType<typeof entryTable>} table @param {readonly string[]} hidden what the key does not see */
export const servicePages = (table, hidden) => {
  const fields = [
    'createdAt',
    ...columns.filter((name) => !isPlace(name)),
    ...(hidden.includes('places') ? [] : ['location']),
  ]
  /** The cursors of the pages up to the one that is shown. */
  let cursors = ['*']
  /** @param {Entries} entries @param {import('./filters.js').Filters} filters */
  const draw = async (entries, filters) => {
    const asked = cursors
    const parameters = parametersOf(filters)
    const page = { sortOrder: 'desc', perPage: String(PAGE), fields: fields.join(), cursor: asked.at(-1) ?? '*' }
    for (const [name, value] of Object.entries({ ...page, unreadable: 'skip' })) parameters.set(name, value)
    const { data, _metadata } = await (await request('entries', parameters)).json()
    if (cursors !== asked) return
    /** @param {string[]} others */
    const to = (others) => () => {
      cursors = others
      draw(entries, filters).catch(() => {})
    }
    const rows = data.map((/** @type {any} */ record) => ({
      ...{ id: record.id, time: record.createdAt, status: record.status },
      texts: columns.map((name) =>
        entries.labelOf(name, (isPlace(name) ? record.location?.[name] : record[name]) ?? ''),
      ),
    }))
    const first = (asked.length - 1) * PAGE
    const { nextCursor: next } = _metadata
    table.show(
      rows,
      `${digits(first + 1)} to ${digits(first + rows.length)}`,
      asked.length > 1 ? to(asked.slice(0, -1)) : undefined,
      next && to([...asked, next]),
    )
  }
  return {
    /** From the first page on. @param {Entries} entries @param {import('./filters.js').Filters} filters */
    show(entries, filters) {
      cursors = ['*']
      return draw(entries, filters)
    },
  }
}
