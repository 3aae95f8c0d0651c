// Small helpers for the document. Text gets into it as text alone, never as HTML.

/** Longer texts are cut where there is little room. */
const MAX_LABEL = 120

/** An element of the page, which must exist. @param {string} id */
export const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id))

/** @param {string} id */
export const inputById = (id) => /** @type {HTMLInputElement} */ (byId(id))

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Partial<HTMLElementTagNameMap[T]>} [properties]
 * @param {(Node | string)[]} children
 */
export const element = (tag, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), properties)
  made.append(...children)
  return made
}

/** Sets a text if it is another one, because each change costs layout. @param {Node} node @param {string} text */
export const setText = (node, text) => {
  if (node.textContent !== text) node.textContent = text
}

/** Tells something at the top of the page, or nothing. @param {string} text @param {{ label: string, onPress: () => void }} [action] what can be done */
export const say = (text, action) => {
  const message = byId('message')
  message.hidden = text === ''
  message.replaceChildren(text)
  if (action === undefined) return
  const button = element('button', { type: 'button', id: 'go-on', textContent: action.label })
  button.addEventListener('click', action.onPress)
  message.append(' ', button)
}

/** Makes all buttons of a group one stop of the Tab key, and arrow keys go through them. @param {HTMLElement} group @returns {() => void} to be called after buttons were added or hidden */
export const oneStop = (group) => {
  const shown = () => [...group.querySelectorAll('button')].filter((button) => button.closest('[hidden]') === null)
  const keepStop = (stop = shown().find(({ tabIndex }) => tabIndex === 0) ?? shown()[0]) => {
    for (const button of group.querySelectorAll('button')) button.tabIndex = button === stop ? 0 : -1
  }
  group.addEventListener('keydown', (event) => {
    const buttons = shown()
    const at = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement))
    const steps = { ArrowUp: at - 1, ArrowLeft: at - 1, ArrowDown: at + 1, ArrowRight: at + 1, Home: 0, End: -1 }
    const to = buttons.at(steps[/** @type {keyof typeof steps} */ (event.key)] % buttons.length)
    if (at === -1 || !(event.key in steps)) return
    event.preventDefault()
    keepStop(to)
    to?.focus()
  })
  return keepStop
}

/** Leads to a section of the page. @param {string} id */
export const leadTo = (id) => {
  byId(id).scrollIntoView()
  byId(`${id}-title`).focus({ preventScroll: true })
}

/** @param {number} number */
export const digits = (number) => number.toLocaleString('en')

/** `1 entry` or `2,000 entries`. @param {number} count */
export const entriesIn = (count) => `${digits(count)} ${count === 1 ? 'entry' : 'entries'}`

/** @param {string} text */
export const short = (text) => (text.length > MAX_LABEL ? `${text.slice(0, MAX_LABEL)}…` : text)

/** A text that cannot change the direction of what stands beside it. @param {string} text */
export const isolated = (text) => `\u2068${text}\u2069`

/** A point in time as date and time in UTC. @param {number | string} time milliseconds or ISO 8601 */
export const utc = (time) => {
  const date = new Date(time)
  return Number.isNaN(date.getTime()) ? '' : date.toISOString().slice(0, 16).replace('T', ' ')
}

/** @param {number | Date} time or milliseconds */
export const dayOf = (time) => new Date(time).toISOString().slice(0, 10)
