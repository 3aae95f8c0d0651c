// The bars by status, form, project, dispatch, agent, state and local government area.
import { barList } from './bars.js'
import { byId, digits } from './dom.js'
import { dimensions } from './entries.js'

/** @typedef {import('./entries.js').Entries} Entries */

const FEW = 4
const titles = {
  ...{ status: 'Status', form: 'Form', project: 'Project', dispatch: 'Dispatch', agent: 'Agent', state: 'State' },
  lga: 'Local government area',
}
/** What stands beside the counts. @type {{ [D in import('./entries.js').Dimension]?: string }} */
const legends = { form: 'ø mean duration', agent: 'ø mean duration', dispatch: '| expected' }

/** @param {(dimension: import('./entries.js').Dimension, value: string) => void} onPick */
export const dimensionBars = (onPick) => {
  const lists = dimensions.map((dimension) => {
    const list = barList(titles[dimension], dimension, (value) => onPick(dimension, value), FEW, legends[dimension])
    byId(dimension === 'status' ? 'statuses' : 'bars').append(list.section)
    return { dimension, list }
  })
  byId('choose').tabIndex = 0 // so that it scrolls by keys
  return {
    wait: () => {
      for (const { list } of lists) list.wait()
    },
    /** @param {Entries} entries @param {import('./selection.js').Selection} selection @param {import('./filters.js').Filters} filters @param {boolean} isLoading */
    draw(entries, { counts, means }, filters, isLoading) {
      for (const { dimension, list } of lists) {
        const { values, totals } = entries.columns[dimension]
        const count = counts[dimension]
        if (count === undefined || !entries.isNamed(dimension)) {
          list.wait()
          continue
        }
        // The counts are those of the other filters, so no bar moves when one beside it is selected.
        const codes = d3.range(values.length).filter((code) => totals[code] > 0)
        codes.sort((a, b) => count[b] - count[a] || totals[b] - totals[a])
        /** @param {string} value @param {number} count @param {number} [mean] */
        const bar = (value, count, mean) => ({
          ...{ value, label: entries.labelOf(dimension, value), count, mean },
          ...(dimension === 'dispatch' && { of: entries.expected.get(value) }),
          ...(dimension === 'status' && { status: value }),
        })
        const bars = codes.map((code) => bar(values[code], count[code], means[dimension]?.[code]))
        // What has no entries is what somebody waits for.
        const known = new Set(values)
        for (const id of entries.listed[dimension] ?? []) if (!known.has(id)) bars.push(bar(id, 0))
        const real = bars.filter(({ value }) => value !== '')
        const chosen = filters[dimension]
        // An address may name what no entry has.
        if (chosen !== undefined && !bars.some(({ value }) => value === chosen)) bars.unshift(bar(chosen, 0))
        const left = real.filter(({ count }) => count > 0).length
        const isSaid = !isLoading && dimension !== 'status'
        list.draw(bars, chosen, isSaid ? `${digits(left)} of ${digits(real.length)} have entries.` : '')
      }
    },
  }
}
