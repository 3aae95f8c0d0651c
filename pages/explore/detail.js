// One entry in full, with the names of what it refers to.
import { request } from './api.js'
import { byId, digits, element, utc } from './dom.js'

/** A list of terms, each with its text. @param {[term: string, text: unknown][]} pairs */
const terms = (pairs) =>
  element(
    'dl',
    {},
    ...pairs
      .filter(([, text]) => text !== undefined && text !== '')
      .flatMap(([term, text]) => [
        element('dt', { textContent: term, dir: 'auto' }),
        element('dd', { textContent: String(text), dir: 'auto' }),
      ]),
  )

/** @param {(string | undefined)[]} parts */
const joined = (...parts) => parts.filter(Boolean).join(', ')

/** @param {any} entry by its id */
const contentOf = ({ id, status, form, project, dispatch, agent, location = {}, answers, duration, ...times }) => {
  const { address, city, lga, state, country, coordinates } = location
  return [
    terms([
      ['Status', status],
      ['Form', form?.name ?? form?.id],
      ['Project', project?.name ?? project?.id],
      ['Dispatch', dispatch?.name ?? dispatch?.id],
      ['Agent', agent && (joined(`${agent.firstName ?? ''} ${agent.lastName ?? ''}`.trim(), agent.phone) || agent.id)],
      ['Place', joined(address, city, lga, state, country)],
      ['Coordinates', coordinates && `${coordinates.lattitude}, ${coordinates.longitude}`],
      ['Duration', duration === undefined ? undefined : digits(duration)],
      ['Created', utc(times.createdAt)],
      ['Changed', utc(times.updatedAt)],
      ['Id', id],
    ]),
    element('h4', { textContent: 'Answers' }),
    answers.length === 0
      ? element('p', { textContent: 'It has no answers.' })
      : terms(
          answers.map((/** @type {any} */ { question, answer }) => [
            question,
            [answer ?? 'No answer'].flat().join('; ') || 'No answer',
          ]),
        ),
  ]
}

/** @param {(id: string | undefined) => void} onChange is told which entry is open */
export const entryDetail = (onChange) => {
  const section = byId('entry')
  const view = byId('entry-view')
  /** @type {string | undefined} */
  let wanted
  /** @type {Element | null} */
  let opener = null
  const close = () => {
    open(undefined)
    if (opener instanceof HTMLElement) opener.focus()
  }
  byId('entry-close').addEventListener('click', close)
  section.addEventListener('keydown', ({ key }) => key === 'Escape' && close())
  /** Opens an entry, or closes it. @param {string | undefined} id */
  const open = async (id) => {
    if (id === wanted) return
    wanted = id
    section.hidden = id === undefined
    onChange(id)
    if (id === undefined) return
    opener = document.activeElement
    view.replaceChildren(element('p', { textContent: 'Loading…' }))
    byId('entry-title').focus()
    let content
    try {
      const { data } = await (await request(`entries/${encodeURIComponent(id)}`)).json()
      content = contentOf(data)
    } catch (error) {
      content = [element('p', { className: 'bad', textContent: /** @type {Error} */ (error).message })]
    }
    // Somebody may have opened another one meanwhile.
    if (wanted !== id) return
    view.replaceChildren(...content)
    section.scrollIntoView({ block: 'nearest' })
  }
  return open
}
