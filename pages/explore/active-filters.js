// The filters that apply, each with a button that takes it away.
import { byId, dayOf, element, short } from './dom.js'
import { choices } from './filters.js'
import { setTone } from './statuses.js'

/** @typedef {import('./filters.js').Filters} Filters */

/** Without a form there are no answers. @param {typeof choices[number]} name @returns {Filters} */
export const without = (name) => ({ [name]: undefined, ...(name === 'form' && { answered: undefined }) })

/** @param {(changes: Filters) => void} change */
export const activeFilters = (change) => {
  const list = byId('filters')
  const clear = byId('clear')
  const none = { createdSince: undefined, createdBefore: undefined, bbox: undefined, answered: undefined }
  clear.addEventListener('click', () => {
    change({ ...none, ...Object.fromEntries(choices.map((name) => [name, undefined])) })
    byId('count').focus()
  })
  let shown = ''
  return {
    /** @param {import('./entries.js').Entries} entries @param {Filters} filters @param {(filter: string) => string} questionIn */
    draw(entries, filters, questionIn) {
      /** @type {[text: string, changes: Filters, status?: string][]} */
      const active = choices.flatMap((name) => {
        const value = filters[name]
        if (value === undefined) return []
        const status = name === 'status' ? value : undefined
        return [[`${name}: ${short(entries.labelOf(name, value))}`, without(name), status]]
      })
      const { createdSince, createdBefore, bbox } = filters
      if (createdSince !== undefined || createdBefore !== undefined) {
        const from = createdSince === undefined ? '' : ` from ${dayOf(createdSince)}`
        const to = createdBefore === undefined ? '' : ` to ${dayOf(createdBefore - 1)}`
        active.push([`created${from}${to}`, { createdSince: undefined, createdBefore: undefined }])
      }
      if (bbox !== undefined)
        active.push([`box: ${bbox.map((degrees) => degrees.toFixed(2)).join(', ')}`, { bbox: undefined }])
      for (const each of filters.answered ?? []) {
        const answered = filters.answered?.filter((other) => other !== each)
        const answer = each.slice(each.indexOf('=') + 1)
        active.push([
          `${short(questionIn(each))}: ${short(answer) || '(empty)'}`,
          { answered: answered?.length ? answered : undefined },
        ])
      }
      const now = JSON.stringify(active)
      if (now === shown) return
      shown = now
      clear.hidden = active.length === 0
      list.replaceChildren(
        ...active.map(([text, changes, status]) => {
          const button = element('button', { type: 'button', textContent: '×' })
          button.setAttribute('aria-label', `Remove the filter ${text}`)
          button.addEventListener('click', () => {
            change(changes)
            byId('count').focus()
          })
          const words = element('span', { textContent: text, dir: 'auto' })
          if (status !== undefined) setTone(words, status)
          return element('li', {}, words, button)
        }),
      )
    },
  }
}
