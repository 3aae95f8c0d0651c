// The answers to the chosen form: loaded when it is chosen, and drawn as bars for each question, which can be pressed.
import { Refused, records, request } from './api.js'
import { barList } from './bars.js'
import { byId, digits, element, entriesIn, leadTo, setText } from './dom.js'
import { LIMIT } from './entries.js'
import { MOST_ANSWERED } from './filters.js'
import { byAnswer, Questions } from './questions.js'
import { answerBit } from './selection.js'

/** @typedef {import('./entries.js').Entries} Entries */
/** @typedef {import('./filters.js').Filters} Filters */

/** How many bars of a question are shown at first. */
const FEW = 6
const NO_TEXT = '(a question without a text)'
/** How many digits the key of a question has. */
const KEY = 12
/** @type {ReadonlySet<number>} */
const NONE = new Set()

/** The question and the answer that a filter names. @param {string} filter */
const partsOf = (filter) => [filter.slice(0, KEY), filter.slice(KEY + 1)]

/** @param {string} value @param {string} answer @param {number} count */
const barOf = (value, answer, count) => ({ value, label: answer || '(empty)', count })

/** @param {() => void} onChange more answers are there @param {(toggled: string) => void} onPick */
export const formAnswers = (onChange, onPick) => {
  const words = byId('answers-words')
  const again = element('button', { type: 'button', id: 'answers-again', textContent: 'Try again', hidden: true })
  words.after(again)
  let questions = new Questions()
  /** The texts of questions by their keys, and the other way round. @type {Map<string, string>} */
  let texts = new Map()
  /** @type {Map<string, string>} */
  let keys = new Map()
  /** @type {string | undefined} */
  let form
  /** How many entries there were when the answers were asked for. */
  let size = 0
  let isComplete = false
  /** @type {ReturnType<typeof barList>[]} */
  let lists = []
  /** What the service counted of all entries of the form, where they are not here. @type {readonly { key: string, question: string, choices: { answer: string, count: number }[], answered: number }[]} */
  let counted = []

  /** @param {Entries} entries @param {string} wanted */
  const load = async (entries, wanted) => {
    const { codes } = entries.columns.form
    const code = entries.columns.form.codeOf(wanted)
    const rowOf = new Map()
    for (let row = 0; row < entries.size; row++) if (codes[row] === code) rowOf.set(entries.ids[row], row)
    const order = { sortOrder: 'desc', limit: String(LIMIT), unreadable: 'skip' }
    const parameters = new URLSearchParams({ form: wanted, fields: 'answers', answers: 'list', ...order })
    const oldest = entries.ids.at(-1)
    if (oldest !== undefined) parameters.set('idFrom', oldest)
    const target = new Questions()
    questions = target
    lists = []
    texts = new Map()
    keys = new Map()
    counted = []
    byId('questions').replaceChildren()
    again.hidden = true
    words.textContent = 'Loading the answers…'
    isComplete = false
    let count = 0
    try {
      const { data } = await (await request(`forms/${encodeURIComponent(wanted)}/questions`)).json()
      if (form !== wanted || questions !== target) return
      texts = new Map(data.map((/** @type {any} */ { key, question }) => [key, question]))
      keys = new Map([...texts].map(([key, question]) => [question, key]))
      if (entries.weights !== undefined) {
        counted = data
        isComplete = true
        words.textContent = 'The answers of all entries to this form. Press one to select it.'
        return onChange()
      }
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
      isComplete = true
      const left = target.left > 0 ? ' More questions than these are not shown.' : ''
      words.textContent = `The answers of the selected entries to this form. Press one to select it.${left}`
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

  byId('to-answers').addEventListener('click', () => leadTo('answers'))

  return {
    /** Whether all that filters ask for is known. @param {Filters} filters */
    knows: ({ form: chosen, answered }) => answered === undefined || (isComplete && chosen === form),
    /** The rows with an answer, as far as they are known. @param {string} filter */
    rowsWith(filter) {
      const [key, answer] = partsOf(filter)
      return questions.called(texts.get(key) ?? '')?.rowsWith(answer) ?? NONE
    },
    /** The text of a question, once it is known. @param {string} filter */
    questionIn(filter) {
      const [key] = partsOf(filter)
      return (texts.get(key) ?? key) || NO_TEXT
    },
    /** @param {Entries} entries @param {import('./selection.js').Selection} selection @param {Filters} filters @param {boolean} isLoaded whether all entries are there */
    draw(entries, selection, { form: chosen, answered = [] }, isLoaded) {
      byId('answers').hidden = chosen === undefined
      byId('to-answers').hidden = chosen === undefined
      const isOther = chosen !== form || (entries.weights === undefined && size !== entries.size)
      if (isOther && (isLoaded || chosen === undefined)) {
        form = chosen
        size = entries.size
        if (chosen !== undefined) load(entries, chosen)
      }
      if (chosen !== undefined && chosen !== form) setText(words, 'The answers load when all entries are there.')
      if (chosen === undefined || chosen !== form) return byId('questions').replaceChildren()
      /** @param {number} index @param {string} text */
      const listOf = (index, text) => {
        const list = lists[index] ?? barList(text.slice(0, 300) || NO_TEXT, `question-${index + 1}`, onPick, FEW)
        if (lists[index] === undefined) byId('questions').append(list.section)
        lists[index] = list
        return list
      }
      for (const [index, { key, question, choices, answered: size }] of counted.entries()) {
        const bars = choices.map(({ answer, count }) => barOf(`${key}=${answer}`, answer, count))
        const own = answered.find((filter) => filter.startsWith(`${key}=`))
        listOf(index, question).draw(bars, own, `${entriesIn(size)} with an answer.`)
      }
      for (const [index, question] of questions.all.entries()) {
        const key = keys.get(question.text)
        const isOwn = (/** @type {string} */ filter) => key !== undefined && filter.startsWith(`${key}=`)
        // The counts are those of the other filters, so that another answer can be chosen.
        const own = d3.sum(answered, (filter) => (isOwn(filter) ? answerBit(answered.indexOf(filter)) : 0))
        const counts = question.count(selection.fails, own)
        const { totals, values } = question
        const codes = d3.range(counts.length).filter((code) => totals[code] > 0)
        codes.sort((a, b) => counts[b] - counts[a] || totals[b] - totals[a] || byAnswer(values[a], values[b]))
        const bars = codes.map((code) => {
          const value = key !== undefined && question.isWhole(code) ? `${key}=${values[code]}` : ''
          return barOf(value, values[code], counts[code])
        })
        listOf(index, question.text).draw(bars, answered.find(isOwn), `${digits(d3.sum(counts))} answers.`)
      }
    },
  }
}

/** The filters by answers with another one, or without it. A question has one of them. @param {readonly string[]} answered @param {string} toggled */
export const withAnswer = (answered, toggled) => {
  const [key] = partsOf(toggled)
  const others = answered.filter((each) => !each.startsWith(`${key}=`))
  const all = answered.includes(toggled) ? others : [...others, toggled].slice(-MOST_ANSWERED)
  return all.length > 0 ? all : undefined
}
