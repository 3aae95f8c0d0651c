// The bars by status, form, project, dispatch, agent, state and local government area.
import { barList } from './bars.js'
import { byId, digits } from './dom.js'
import { dimensions } from './entries.js'

/** @typedef {import('./entries.js').Entries} Entries */

const titles = {
  status: 'Status',
  form: 'Form',
  project: 'Project',
  dispatch: 'Dispatch',
  agent: 'Agent',
  state: 'State',
  lga: 'Local government area',
}

/** @param {(dimension: import('./entries.js').Dimension, value: string) => void} onPick */
export const dimensionBars = (onPick) => {
  const lists = dimensions.map((dimension) => {
    const list = barList(titles[dimension], dimension, (value) => onPick(dimension, value))
    byId('bars').append(list.section)
    return { dimension, list }
  })
  return {
    /** @param {Entries} entries @param {import('./selection.js').Selection} selection @param {import('./filters.js').Filters} filters */
    draw(entries, { counts }, filters) {
      for (const { dimension, list } of lists) {
        const { values, totals } = entries.columns[dimension]
        // The counts are those of the other filters, so no bar moves when one beside it is selected.
        const count = counts[dimension]
        const codes = d3.range(values.length).filter((code) => totals[code] > 0)
        codes.sort((a, b) => count[b] - count[a] || totals[b] - totals[a])
        /** @param {string} value @param {number} count */
        const bar = (value, count) => ({
          ...{ value, label: entries.labelOf(dimension, value), count },
          ...(dimension === 'dispatch' && { of: entries.expected.get(value) }),
        })
        const bars = codes.map((code) => bar(values[code], count[code]))
        // A dispatch without entries is one that somebody waits for.
        if (dimension === 'dispatch') {
          const known = new Set(values)
          for (const id of entries.expected.keys()) if (!known.has(id)) bars.push(bar(id, 0))
        }
        const chosen = filters[dimension]
        // An address may name what no entry has.
        if (chosen !== undefined && !bars.some(({ value }) => value === chosen)) bars.unshift(bar(chosen, 0))
        const left = bars.filter(({ count }) => count > 0).length
        list.draw(bars, chosen, `${digits(left)} of ${digits(bars.length)} have entries.`)
      }
    },
  }
}
