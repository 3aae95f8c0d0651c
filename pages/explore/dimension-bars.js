// The bars by status, form, project, dispatch, agent and state.
import { barList } from './bars.js'
import { byId, digits } from './dom.js'
import { dimensions } from './entries.js'
import { choices } from './filters.js'

/** @typedef {import('./entries.js').Entries} Entries */
/** @typedef {import('./filters.js').Choice} Choice */

const titles = {
  status: 'Status',
  form: 'Form',
  project: 'Project',
  dispatch: 'Dispatch',
  agent: 'Agent',
  state: 'State',
}

/** @param {(dimension: Choice, value: string) => void} onPick */
export const dimensionBars = (onPick) => {
  const lists = dimensions.map((dimension) => {
    const choice = choices.find((name) => name === dimension)
    const list = barList(titles[dimension], dimension, choice && ((value) => onPick(choice, value)))
    byId('bars').append(list.section)
    return { dimension, choice, list }
  })
  return {
    /** @param {Entries} entries @param {import('./selection.js').Selection} selection @param {import('./filters.js').Filters} filters */
    draw(entries, { counts }, filters) {
      for (const { dimension, choice, list } of lists) {
        const { values, totals } = entries.columns[dimension]
        // The counts are those of the other filters, so no bar moves when one beside it is selected.
        const count = counts[dimension]
        const codes = d3.range(values.length).filter((code) => totals[code] > 0)
        codes.sort((a, b) => count[b] - count[a] || totals[b] - totals[a])
        /** @param {string} value @param {number} count */
        const bar = (value, count) => ({ value, label: entries.labelOf(dimension, value), count })
        const bars = codes.map((code) => bar(values[code], count[code]))
        const chosen = choice && filters[choice]
        // An address may name what no entry has.
        if (chosen !== undefined && !bars.some(({ value }) => value === chosen)) bars.unshift(bar(chosen, 0))
        const left = bars.filter(({ count }) => count > 0).length
        list.draw(bars, chosen, `${digits(left)} of ${digits(bars.length)} have entries.`)
      }
    },
  }
}
