// Bars with their words: each is a button that selects.
import { digits, element, oneStop, setText, short } from './dom.js'
import { setTone } from './statuses.js'

/** How many bars are shown after somebody asks for more. */
const MANY = 200
/** Where the mark of all that is expected stands in a bar, as in the style sheet. */
const FULL = 0.66

/**
 * @typedef {{ share: number | null, low: number | null, high: number | null }} Share with its interval
 * @typedef {{ value: string, label: string, count: number, of?: number, share?: Share, mean?: number, status?: string, words?: string }} Bar of how many are expected or of a share, with the mean duration, in the colour of a status, and with words below it
 */

/** @param {string} title @param {string} name of the list in ids @param {(value: string) => void} onPick @param {number} few how many bars are shown before somebody asks for more @param {string} [legend] of what stands beside the counts */
export const barList = (title, name, onPick, few, legend = '') => {
  const heading = element('h3', { id: `${name}-title`, textContent: title, dir: 'auto' })
  const list = element('div', { id: `${name}-bars`, className: 'list', role: 'toolbar' })
  list.setAttribute('aria-labelledby', heading.id)
  list.setAttribute('aria-orientation', 'vertical')
  const words = element('p', { className: 'words' })
  const more = element('button', { type: 'button', className: 'more', hidden: true })
  const beside = element('span', { className: 'words', textContent: legend })
  const head = element('div', { className: 'head' }, heading, beside)
  const foot = element('div', { className: 'foot' }, words, more)
  const section = element('section', { className: 'bars', id: name }, head, list, foot)
  section.setAttribute('aria-labelledby', heading.id)
  const keepStop = oneStop(list)
  let isLong = false
  /** @type {{ bar: Bar, button: HTMLElement, label: HTMLElement, count: HTMLElement, mean: HTMLElement, track: HTMLElement, full: HTMLElement, below: HTMLElement }[]} */
  const rows = []
  /** @type {Parameters<typeof draw> | undefined} */
  let last

  const addRow = () => {
    const label = element('span', { className: 'label', dir: 'auto' })
    const spans = ['count', 'mean', 'track', 'full', 'below'].map((className) => element('span', { className }))
    const [count, mean, track, full, below] = spans
    track.append(full)
    const button = element(
      'button',
      { type: 'button', className: 'bar' },
      label,
      ' ',
      count,
      ' ',
      mean,
      track,
      ' ',
      below,
    )
    const row = { bar: { value: '', label: '', count: 0 }, button, label, count, mean, track, full, below }
    button.addEventListener('click', () => row.bar.value !== '' && onPick(row.bar.value))
    list.append(button)
    rows.push(row)
    return row
  }
  more.addEventListener('click', () => {
    isLong = !isLong
    if (last) draw(...last)
  })

  /** @param {readonly Bar[]} bars in their order @param {string | undefined} chosen the value that is selected @param {string} text of all */
  const draw = (bars, chosen, text) => {
    last = [bars, chosen, text]
    const shown = bars.slice(0, isLong ? MANY : few)
    const hidden = chosen === undefined ? undefined : bars.slice(shown.length).find(({ value }) => value === chosen)
    if (hidden) shown.push(hidden)
    const most = Math.max(1, ...shown.map(({ count }) => count))
    for (const [index, bar] of shown.entries()) {
      const row = rows[index] ?? addRow()
      row.bar = bar
      row.button.hidden = false
      row.button.title = bar.label.slice(0, 500)
      setText(row.label, short(bar.label))
      if (bar.status !== undefined) setTone(row.button, bar.status, row.label)
      setText(row.count, bar.of === undefined ? digits(bar.count) : `${digits(bar.count)} of ${digits(bar.of)}`)
      setText(row.mean, Number.isFinite(bar.mean) ? `ø ${digits(Math.round(bar.mean ?? 0))}` : '')
      row.full.hidden = bar.of === undefined
      const part = (bar.of === undefined ? 1 / most : FULL / bar.of) * bar.count
      const { share, low, high } = bar.share ?? { share: Math.min(1, part), low: 0, high: 0 }
      for (const [name, part] of Object.entries({ share, low, high }))
        row.track.style.setProperty(`--${name}`, `${100 * (part ?? 0)}%`)
      setText(row.below, bar.words ?? '')
      row.button.setAttribute('aria-pressed', String(bar.value === chosen))
      row.button.setAttribute('aria-disabled', String(bar.value === ''))
    }
    for (const row of rows.slice(shown.length)) row.button.hidden = true
    keepStop()
    section.classList.remove('waiting')
    section.classList.toggle('has-chosen', chosen !== undefined)
    const rest = bars.length - Math.min(bars.length, isLong ? MANY : few)
    more.hidden = bars.length <= few
    setText(more, isLong ? 'Fewer' : `${digits(Math.min(rest, MANY - few))} more`)
    setText(words, isLong && rest > 0 ? `${text} ${digits(rest)} more are not shown.` : text)
  }
  /** Says that nothing is known yet. */
  const wait = () => {
    draw([], undefined, '')
    section.classList.add('waiting')
  }
  return { section, draw, wait }
}
