// Bars with their words: each is a row of a list, with a button if it can be selected.
import { digits, element, setText, short } from './dom.js'

/** How many bars are shown before somebody asks for more, and then. */
const FEW = 8
const MANY = 200

/**
 * @typedef {object} Bar
 * @property {string} value
 * @property {string} label
 * @property {number} count
 * @property {number} [of] how many are expected
 */

/**
 * @param {string} title
 * @param {string} name of the list in ids
 * @param {((value: string) => void) | undefined} onPick if the bars can be selected
 */
export const barList = (title, name, onPick) => {
  const heading = element('h3', { id: `${name}-title`, textContent: title, dir: 'auto' })
  const list = element('ul', { id: `${name}-bars` })
  list.setAttribute('aria-labelledby', heading.id)
  const words = element('p', { className: 'words' })
  const more = element('button', { type: 'button', className: 'more' })
  const section = element('section', { className: 'bars', id: name }, heading, list, words, more)
  section.setAttribute('aria-labelledby', heading.id)
  let isLong = false
  /** @type {{ bar: Bar, item: HTMLElement, button: HTMLElement, label: HTMLElement, count: HTMLElement, fill: HTMLElement }[]} */
  const rows = []
  /** @type {Parameters<typeof draw> | undefined} */
  let last

  const addRow = () => {
    const label = element('span', { className: 'label', dir: 'auto' })
    const count = element('span', { className: 'count' })
    const fill = element('span', { className: 'fill' })
    const button = onPick ? element('button', { type: 'button' }) : element('div')
    button.append(label, ' ', count, fill)
    button.className = 'bar'
    const item = element('li', {}, button)
    const row = { bar: { value: '', label: '', count: 0 }, item, button, label, count, fill }
    if (onPick) button.addEventListener('click', () => row.bar.value !== '' && onPick(row.bar.value))
    list.append(item)
    rows.push(row)
    return row
  }
  more.addEventListener('click', () => {
    isLong = !isLong
    if (last) draw(...last)
  })

  /**
   * @param {readonly Bar[]} bars in their order
   * @param {string | undefined} chosen the value that is selected
   * @param {string} text what a screen reader says of all
   */
  const draw = (bars, chosen, text) => {
    last = [bars, chosen, text]
    const shown = bars.slice(0, isLong ? MANY : FEW)
    const hidden = chosen === undefined ? undefined : bars.slice(shown.length).find(({ value }) => value === chosen)
    if (hidden) shown.push(hidden)
    const most = Math.max(1, ...shown.map(({ count }) => count))
    for (const [index, bar] of shown.entries()) {
      const row = rows[index] ?? addRow()
      row.bar = bar
      row.item.hidden = false
      setText(row.label, short(bar.label))
      setText(row.count, bar.of === undefined ? digits(bar.count) : `${digits(bar.count)} of ${digits(bar.of)}`)
      row.fill.style.width = `${Math.min(100, (100 * bar.count) / (bar.of ?? most))}%`
      if (!onPick) continue
      row.button.setAttribute('aria-pressed', String(bar.value === chosen))
      if (bar.value === '') row.button.setAttribute('aria-disabled', 'true')
      else row.button.removeAttribute('aria-disabled')
    }
    for (const row of rows.slice(shown.length)) row.item.hidden = true
    const rest = bars.length - Math.min(bars.length, isLong ? MANY : FEW)
    more.hidden = bars.length <= FEW
    setText(more, isLong ? 'Show fewer' : `Show ${digits(Math.min(rest, MANY - FEW))} more`)
    setText(words, isLong && rest > 0 ? `${text} ${digits(rest)} more are not shown.` : text)
  }
  return { section, draw }
}
