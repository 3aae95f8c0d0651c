// The answers to the chosen form: loaded when it is chosen, and drawn as bars for each question.
import { Refused, records } from './api.js'
import { barList } from './bars.js'
import { byId, digits, element, entriesIn, setText } from './dom.js'
import { LIMIT } from './entries.js'
import { Questions } from './questions.js'

/** @typedef {import('./entries.js').Entries} Entries */

/** @param {() => void} onChange more answers are there */
export const formAnswers = (onChange) => {
  const words = byId('answers-words')
  const again = element('button', { type: 'button', id: 'answers-again', textContent: 'Try again', hidden: true })
  words.after(again)
  let questions = new Questions()
  /** @type {string | undefined} */
  let form
  /** How many entries there were when the answers were asked for. */
  let size = 0
  /** @type {ReturnType<typeof barList>[]} */
  let lists = []

  /** @param {Entries} entries @param {string} wanted */
  const load = async (entries, wanted) => {
    const { codes } = entries.columns.form
    const code = entries.columns.form.codeOf(wanted)
    const rowOf = new Map()
    for (let row = 0; row < entries.size; row++) if (codes[row] === code) rowOf.set(entries.ids[row], row)
    const parameters = new URLSearchParams({
      form: wanted,
      fields: 'answers',
      answers: 'list',
      sortOrder: 'desc',
      limit: String(LIMIT),
      unreadable: 'skip',
    })
    const oldest = entries.ids.at(-1)
    if (oldest !== undefined) parameters.set('idFrom', oldest)
    const target = new Questions()
    questions = target
    lists = []
    byId('questions').replaceChildren()
    again.hidden = true
    let count = 0
    try {
      for await (const some of records('entries', parameters)) {
        if (form !== wanted || questions !== target) return
        for (const { id, answers } of some) {
          const row = rowOf.get(id)
          if (row === undefined) continue
          count += 1
          target.add(row, answers)
        }
        words.textContent = `Loading the answers: ${digits(count)} of ${entriesIn(rowOf.size)}.`
        onChange()
      }
      const left = target.left > 0 ? ' More questions than these are not shown.' : ''
      words.textContent = `The answers of the selected entries to this form. They show, and do not filter.${left}`
    } catch (error) {
      words.textContent = `The answers could not all be loaded: ${digits(count)} of ${entriesIn(rowOf.size)} are here. ${
        error instanceof Refused ? error.message : 'The connection broke.'
      }`
      again.hidden = false
    }
    onChange()
  }
  again.addEventListener('click', () => {
    form = undefined
    onChange()
  })

  return {
    /** @param {Entries} entries @param {import('./selection.js').Selection} selection @param {string | undefined} chosen @param {boolean} isLoaded whether all entries are there */
    draw(entries, selection, chosen, isLoaded) {
      byId('answers').hidden = chosen === undefined
      const isOther = chosen !== form || size !== entries.size
      if (isOther && (isLoaded || chosen === undefined)) {
        form = chosen
        size = entries.size
        if (chosen !== undefined) load(entries, chosen)
      }
      if (chosen !== undefined && chosen !== form) setText(words, 'The answers load when all entries are there.')
      if (chosen === undefined || chosen !== form) return byId('questions').replaceChildren()
      for (const [index, question] of questions.all.entries()) {
        if (lists[index] === undefined) {
          lists[index] = barList(question.text.slice(0, 300), `question-${index + 1}`, undefined)
          byId('questions').append(lists[index].section)
        }
        const counts = question.count(selection.fails)
        const codes = d3.range(counts.length).filter((code) => question.totals[code] > 0)
        codes.sort((a, b) => counts[b] - counts[a] || question.totals[b] - question.totals[a])
        const bars = codes.map((code) => ({
          value: '',
          label: question.values[code] || '(empty)',
          count: counts[code],
        }))
        lists[index].draw(bars, undefined, `${digits(d3.sum(counts))} answers.`)
      }
    },
  }
}
