// The table of selected entries, a page at a time, the newest first.
import { byId, digits, element, setText, short, utc } from './dom.js'
import { rowsOf } from './selection.js'

/** @typedef {import('./entries.js').Entries} Entries */
/** @typedef {import('./selection.js').Selection} Selection */

const PAGE = 25
const columns = /** @type {const} */ (['status', 'form', 'project', 'agent', 'state'])

/** @param {(row: number) => void} onEntry */
export const entryTable = (onEntry) => {
  const body = element('tbody')
  const head = ['Created (UTC)', 'Status', 'Form', 'Project', 'Agent', 'State'].map((textContent) =>
    element('th', { textContent, scope: 'col' }),
  )
  const view = byId('table-view')
  view.tabIndex = 0 // so that it scrolls by keys
  view.append(element('table', { id: 'table' }, element('thead', {}, element('tr', {}, ...head)), body))
  const buttons = /** @type {HTMLButtonElement[]} */ ([byId('page-previous'), byId('page-next')])
  let from = 0
  /** @type {{ entries: Entries, selection: Selection } | undefined} */
  let shown
  const lines = Array.from({ length: PAGE }, () => {
    const button = element('button', { type: 'button', className: 'open' })
    const cells = columns.map(() => element('td', { dir: 'auto' }))
    const line = { row: -1, button, cells, tr: element('tr', {}, element('td', {}, button), ...cells) }
    button.addEventListener('click', () => onEntry(line.row))
    return line
  })
  body.append(...lines.map(({ tr }) => tr))

  const draw = () => {
    if (shown === undefined) return
    const { entries, selection } = shown
    from = Math.min(from, Math.max(0, Math.floor((selection.size - 1) / PAGE) * PAGE))
    const rows = rowsOf(selection, entries.size, from, PAGE)
    for (const [index, line] of lines.entries()) {
      const row = rows[index]
      line.tr.hidden = row === undefined
      if (row === undefined) continue
      line.row = row
      setText(line.button, utc(entries.times[row]) || 'Open')
      for (const [at, name] of columns.entries()) setText(line.cells[at], short(entries.labelAt(name, row)))
    }
    setText(
      byId('page-words'),
      rows.length === 0
        ? 'No entries'
        : `${digits(from + 1)} to ${digits(from + rows.length)} of ${digits(selection.size)}`,
    )
    buttons[0].disabled = from === 0
    buttons[1].disabled = from + PAGE >= selection.size
  }
  for (const [index, step] of [-PAGE, PAGE].entries()) {
    buttons[index].addEventListener('click', () => {
      from += step
      draw()
    })
  }
  return {
    /** @param {Entries} entries @param {Selection} selection @param {boolean} isOther whether other filters apply than before */
    draw(entries, selection, isOther) {
      if (isOther) from = 0
      shown = { entries, selection }
      draw()
    },
  }
}
