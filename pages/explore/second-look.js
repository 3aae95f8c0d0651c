// Which agents and entries need a second look: what the checks of the service found, in words. Nothing is asked before
// somebody wants to know.
import { request } from './api.js'
import { barList } from './bars.js'
import { byId, digits, element, entriesIn, isolated, leadTo, setText, short, utc } from './dom.js'
import { parametersOf } from './filters.js'

/** @typedef {import('./filters.js').Filters} Filters */
/** @typedef {'agents' | 'entries'} List */
/** @typedef {{ status: string | null, entries: number, flagged: number }} Status */
/** @typedef {{ check: string, reason?: string, question?: string, value: any, expected: [least: number | null, most: number | null] }} Flag */

/** How many rows are shown at first, and how many there are at most: every service has pages of so many. */
const FEW = 10
const MOST = '50'
/** How many statuses are named. */
const STATUSES = 5
/** How long the filters stay the same before the service is asked, in milliseconds. */
const QUIET_MS = 200
/** What is said of the entries of an agent that a check flags. */
const CHECKS = Object.entries({
  ...{ short: 'short', long: 'long', copy: 'copied', incomplete: 'incomplete' },
  ...{ number: 'with an odd number', place: 'with an odd place' },
})

/** @param {number} number @param {'ceil' | 'floor' | 'halfExpand'} [roundingMode] */
const figure = (number, roundingMode = 'halfExpand') => {
  const size = Math.abs(number)
  const options = size < 100 ? { maximumSignificantDigits: 3 } : { maximumFractionDigits: 0 }
  return size < 1e15 ? number.toLocaleString('en', { ...options, roundingMode }) : String(number)
}

/** @param {number} share */
const percent = (share) => Math.round(100 * share)

/** @param {number} ratio */
const timesOf = (ratio) => (ratio === 1 ? '' : `${figure(ratio)} ${ratio < 1 ? 'of' : 'times'} `)

/** What is not flagged. A bound is rounded to what is inside of it. @param {Flag} flag */
const usual = ({ value, expected: [least, most] }) =>
  least !== null && value < least ? `${figure(least, 'ceil')} or more` : `up to ${figure(most ?? 0, 'floor')}`

/** Why an entry is flagged, by the check or by the reason that it gives. @type {Record<string, (flag: Flag) => string>} */
const reasons = {
  short: (flag) =>
    `took ${figure(flag.value)}${flag.expected[0] === null ? '' : ` where ${usual(flag)} is usual`} (short)`,
  long: (flag) => `took ${figure(flag.value)} where ${usual(flag)} is usual (long)`,
  copy: () => 'all answers are those of an earlier entry',
  incomplete: ({ value, expected: [least] }) =>
    `${digits(value)} answer${value === 1 ? '' : 's'} where ${digits(Math.ceil(least ?? 0))} or more are usual`,
  number: (flag) => `${figure(flag.value)} to ‘${isolated(short(flag.question ?? ''))}’, usual is ${usual(flag)}`,
  code: ({ value, question }) => `${value} to ‘${isolated(short(question ?? ''))}’ looks like a code for no answer`,
  twice: () => 'another entry has the same answers to questions where they must differ',
  missing: () => 'no place',
  zero: () => 'lies at 0, 0',
  exchanged: () => 'longitude and latitude look exchanged',
  far: (flag) =>
    flag.value === null
      ? 'lies nowhere on the earth'
      : `${figure(flag.value)} km from the middle of its state’s entries, ${usual(flag)} km is usual`,
  repeated: ({ value }) => `${digits(value)} entries at this one point`,
}

/** How flags agree with the statuses that a team gave. @param {Status[]} statuses */
const agreement = (statuses) => {
  const all = statuses.slice(0, STATUSES).map(({ status, entries, flagged }) => {
    return `${isolated(short(status ?? '(none)'))} ${digits(flagged)} of ${digits(entries)}`
  })
  return all.length < 2 ? '' : `Flagged by status: ${all.join(', ')}.`
}

/** @param {unknown} name @param {unknown} id */
const nameOf = (name, id) => short(String(name ?? '').trim() || String(id ?? '(none)'))

/** @param {any} row */
const agentBar = ({ agent, agentName, days, flagged, durationRatio, sameness = [], ...checks }) => {
  const found = CHECKS.filter(([check]) => checks[check]?.count > 0)
  const words = [
    flagged.share !== null && `${percent(flagged.share)} % (${percent(flagged.low)} to ${percent(flagged.high)} %)`,
    `${digits(days)} day${days === 1 ? '' : 's'}`,
    ...found.map(([check, word]) => `${digits(checks[check].count)} ${word}`),
    durationRatio !== null && `takes ${timesOf(Number(durationRatio.toPrecision(2)))}the usual time`,
    sameness.length > 0 && 'answers alike',
  ].filter(Boolean)
  const { count, of } = flagged
  return { value: agent ?? '', label: nameOf(agentName, agent), count, of, share: flagged, words: words.join(' · ') }
}

/** @param {any} row */
const entryBar = ({ id, form, formName, agent, agentName, createdAt, flags, flagCount }) => ({
  ...{ value: id, count: 0 },
  label: [utc(createdAt), ...[nameOf(formName, form), nameOf(agentName, agent)].map(isolated)].join(' · '),
  words: [
    ...flags.map(
      (/** @type {Flag} */ flag) =>
        reasons[flag.check === 'repeated' ? 'twice' : (flag.reason ?? flag.check)]?.(flag) ?? flag.check,
    ),
    ...(flagCount > flags.length ? [`and ${digits(flagCount - flags.length)} more`] : []),
  ].join('; '),
})

/** @param {() => void} onChange something else is to be drawn @param {(id: string) => void} onAgent @param {(id: string) => void} onEntry */
export const secondLook = (onChange, onAgent, onEntry) => {
  const section = byId('second-look')
  const words = byId('look-words')
  const again = element('button', { type: 'button', id: 'look-again', textContent: 'Try again', hidden: true })
  words.after(again)
  const lists = {
    agents: barList('Agents', 'look-agents', onAgent, FEW, 'flagged of all entries, line: interval of 95 %'),
    entries: barList('Flagged entries', 'look-entries', onEntry, FEW),
  }
  byId('looked').append(lists.agents.section, lists.entries.section)
  /** What the service found, and by which parameters. @type {{ [L in List]?: { by: string, data: any[], total: number, entries: number, statuses: Status[] } }} */
  let found = {}
  /** What was asked for last. What was found for something else is dropped. @type {{ by: string } | undefined} */
  let asked
  let timer = 0

  byId('to-second-look').addEventListener('click', () => {
    section.hidden = false
    leadTo('second-look')
    onChange()
  })
  again.addEventListener('click', () => {
    asked = undefined
    onChange()
  })

  /** @param {Filters} filters @param {typeof asked} wanted */
  const ask = async (filters, wanted) => {
    try {
      // The agents are those of the other filters, so that another one can be selected.
      const all = { agents: { ...filters, agent: undefined }, entries: filters }
      for (const list of /** @type {const} */ (['agents', 'entries'])) {
        const parameters = parametersOf(all[list])
        const by = String(parameters)
        if (found[list]?.by === by) continue
        for (const [name, value] of Object.entries({ names: 'true', perPage: MOST })) parameters.set(name, value)
        const { data, _metadata } = await (await request(`checks/${list}`, parameters)).json()
        if (asked !== wanted) return
        found[list] = { ..._metadata, by, data }
        onChange()
      }
      const { total = 0, entries = 0, statuses = [] } = found.entries ?? {}
      const whose = filters.agent === undefined ? '' : ' of the selected agent'
      const need = `${total === 0 ? 'none' : digits(total)}${whose} ${total < 2 ? 'needs' : 'need'} a second look`
      words.textContent =
        `Of ${entriesIn(entries)} that were checked, ${need}. A flag says nothing of why. ${agreement(statuses)}`.trim()
    } catch (error) {
      if (asked !== wanted) return
      found = {}
      for (const list of Object.values(lists)) list.draw([], undefined, '')
      words.textContent = `Nothing was checked. ${/** @type {Error} */ (error).message}`
      again.hidden = false
    }
    section.classList.remove('counting')
    onChange()
  }

  return {
    /** Forgets all, for another key. */
    close() {
      section.hidden = true
      asked = undefined
      found = {}
      for (const list of Object.values(lists)) list.wait()
    },
    /** @param {Filters} filters @param {string | undefined} opened the entry that is open */
    draw(filters, opened) {
      if (section.hidden) return
      const by = String(parametersOf(filters))
      if (asked?.by !== by) {
        const wanted = { by }
        asked = wanted
        again.hidden = true
        setText(words, 'Checking the entries…')
        section.classList.add('counting')
        clearTimeout(timer)
        timer = setTimeout(() => ask(filters, wanted), QUIET_MS)
      }
      /** @param {List} list @param {(row: any) => import('./bars.js').Bar} bar @param {string | undefined} chosen */
      const show = (list, bar, chosen) => {
        const { data = [], total = 0 } = found[list] ?? {}
        const first = data.length < total ? `These are the first ${digits(data.length)}: the file has all.` : ''
        if (found[list] !== undefined) lists[list].draw(data.map(bar), chosen, `${digits(total)} ${list}. ${first}`)
      }
      show('agents', agentBar, filters.agent)
      show('entries', entryBar, opened)
    },
  }
}
