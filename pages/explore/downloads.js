// What is selected, as a file, as a curl line and as a link.
import { addressOf, Refused, request } from './api.js'
import { byId, digits, setText } from './dom.js'
import { parametersOf } from './filters.js'

/** How long the browser has to save a file, in milliseconds. */
const SAVING_MS = 60_000

const CSV = 'exports/entries.csv'

/** @param {number} bytes */
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`

/** @param {Response} response @param {string} otherwise */
const nameOf = (response, otherwise) =>
  /filename="([^"/\\]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1] ?? otherwise

/** @param {Blob} file @param {string} name */
const save = (file, name) => {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(file)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), SAVING_MS)
}

/** @param {string} text @param {HTMLElement} button */
const copy = async (text, button) => {
  const before = button.textContent
  const isCopied = await navigator.clipboard.writeText(text).then(
    () => true,
    () => false,
  )
  button.textContent = isCopied ? 'Copied' : 'Not allowed'
  setTimeout(() => {
    button.textContent = before
  }, 2000)
}

export const downloads = () => {
  const buttons = /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll('[data-path]'))
  const cancel = byId('download-cancel')
  /** @type {import('./filters.js').Filters} */
  let selected = {}
  /** What makes an export what is shown. @type {Record<string, string>} */
  let shown = {}
  let aborter = new AbortController()
  cancel.addEventListener('click', () => aborter.abort())

  /** @param {string} path */
  const parametersFor = (path) => {
    // The table of agents has all of them, as the list has.
    const all = parametersOf(path === 'checks/agents.csv' ? { ...selected, agent: undefined } : selected)
    if (path.startsWith('exports/')) for (const [name, value] of Object.entries(shown)) all.set(name, value)
    const format = path.split('.')[1]
    if (format === 'csv') all.set('bom', 'true')
    if (format === 'csv' || format === 'xlsx') all.set('names', 'true')
    if (format === 'xlsx') all.set('labels', 'true')
    return all
  }

  /** @param {DOMStringMap} button */
  const download = async ({ path = '', status: place = 'download-status' }) => {
    const status = byId(place)
    menu.hidePopover()
    for (const button of buttons) button.disabled = true
    cancel.hidden = false
    aborter = new AbortController()
    status.className = ''
    status.textContent = 'The download begins…'
    let bytes = 0
    try {
      const response = await request(path, parametersFor(path), aborter.signal)
      const reader = /** @type {ReadableStream<Uint8Array<ArrayBuffer>>} */ (response.body).getReader()
      const parts = []
      for (;;) {
        const { done, value } = await reader.read()
        if (done) break
        parts.push(value)
        bytes += value.length
        status.textContent = `${megabytes(bytes)} so far…`
      }
      const name = nameOf(response, path.slice(path.indexOf('/') + 1))
      save(new Blob(parts, { type: response.headers.get('content-type') ?? '' }), name)
      status.textContent = `${name} is complete: ${digits(bytes)} bytes.`
    } catch (error) {
      if (!aborter.signal.aborted) status.className = 'bad'
      status.textContent = aborter.signal.aborted
        ? 'The download was cancelled, so nothing was saved.'
        : error instanceof Refused
          ? `There is no file. ${error.message}`
          : `The download broke after ${megabytes(bytes)}, so nothing was saved. Try again.`
    } finally {
      cancel.hidden = true
      for (const button of buttons) button.disabled = false
    }
  }
  for (const button of buttons) button.addEventListener('click', () => download(button.dataset))

  const menu = byId('formats')
  menu.addEventListener('beforetoggle', () => {
    const { bottom, right } = byId('download').getBoundingClientRect()
    menu.style.setProperty('--top', `${bottom + 6}px`)
    menu.style.setProperty('--right', `${document.documentElement.clientWidth - right}px`)
  })
  const [link, curl] = [byId('copy-link'), byId('copy-curl')]
  // Browsers have a clipboard only on https and on the machine itself.
  for (const button of [link, curl]) button.hidden = navigator.clipboard === undefined
  link.addEventListener('click', () => copy(location.href, link))
  curl.addEventListener('click', () => copy(byId('curl').textContent ?? '', curl))

  return {
    /** @param {import('./filters.js').Filters} filters @param {Record<string, string>} more parameters that make an export what is shown */
    draw(filters, more) {
      selected = filters
      shown = more
      const address = addressOf(CSV, parametersFor(CSV))
      setText(
        byId('curl'),
        `curl --fail-with-body -H "Authorization: Bearer $API_KEY" -o entries.csv '${address.replaceAll("'", '%27')}'`,
      )
    },
  }
}
