// What the checks need of each entry, in columns: a number takes eight bytes, whatever an entry holds. The row of an entry is
// its place in all columns.
import { hash } from 'node:crypto'
import { Bson, type BsonDocument, documentEnd, documentsIn } from '../bson/reader.js'
import { dateOf, fieldOf, numberOf, stringOf } from '../bson/values.js'
import { runInSlices, slices } from '../limits/work.js'
import { entries } from '../pipelines/entries.js'
import { invalidParameter } from '../problems/problems.js'
import { typeOf, wordsOf } from '../reading/question-keys.js'
import type { Reader } from '../reading/reader.js'
import type { Selection } from '../reading/selection.js'

/** The most entries that are checked, and how much memory their columns may take besides what each entry takes, in bytes. */
const MAX_ENTRIES = 500_000
const MAX_BYTES = 64 * 1024 * 1024
const CELL = 16
const TEXT = 100
/** About how much an entry takes. */
const ROW = 200
/** An entry with fewer answers is like another one by chance. */
const LEAST_COPIED = 5
/** How many answers are remembered, and the most bytes of each. */
const [MOST_KNOWN, KNOWN_LENGTH] = [20_000, 500]
/** How many bytes of a digest tell answers apart. V8 copies so short a part. */
const DIGEST = 12
/** The types of closed questions: their answers are chosen. */
const CHOSEN = ['singleChoice', 'multiChoice']
/** A number in digits, as an entry has it that was typed. */
const NUMBER = /^-?\d{1,30}(\.\d{1,30})?$/

const helps = 'a narrower filter, such as createdSince or form, or fewer checks help'
export const tooMuch = (fault: string) =>
  invalidParameter('createdSince', `must leave fewer entries: ${fault}; ${helps}`)

/** A question of a form. */
export interface Question {
  readonly text: string
  /** The numbers that were answered, and the row of each. */
  readonly numbers: number[]
  readonly rows: number[]
  /** How often each agent chose each answer. */
  readonly chosen: Map<Group, Map<string, number>>
}

interface Answer {
  readonly question: Question
  readonly choice?: string
  readonly number?: number
  /** The question and the texts of the answer. Empty if it gives none. */
  readonly said: string
}

/** The rows of entries that have something in common: their form, agent or state. */
export interface Group {
  readonly id: string | null
  readonly rows: number[]
  readonly questions: Map<string, Question>
}

/** The value of a column in a row, which must exist. */
export const at = <T>(column: { readonly [row: number]: T }, row: number): T => column[row] as T

export class Columns {
  /** In ascending order. */
  readonly ids: string[] = []
  readonly forms = new Map<string | null, Group>()
  readonly agents = new Map<string | null, Group>()
  /** Those with coordinates, by country and state. */
  readonly states = new Map<string | null, Group>()
  readonly formOf: Group[] = []
  readonly agentOf: Group[] = []
  /** In milliseconds since 1970. What an entry does not have is NaN, here and in the next columns. */
  readonly created: Float64Array
  readonly durations: Float64Array
  readonly longitudes: Float64Array
  readonly latitudes: Float64Array
  /** How many answers an entry has, and the first row that has the same ones, if they are enough. */
  readonly answered: Uint32Array
  readonly twins: Int32Array
  readonly #firsts = new Map<string, number>()
  /** Answers by the id of their form and their bytes. */
  readonly #known = new Map<string, Answer>()
  /** About how much memory the texts and numbers of answers take. */
  bytes = 0

  constructor(size: number) {
    const numbers = () => new Float64Array(size).fill(Number.NaN)
    ;[this.created, this.durations, this.longitudes, this.latitudes] = [numbers(), numbers(), numbers(), numbers()]
    this.answered = new Uint32Array(size)
    this.twins = new Int32Array(size).fill(-1)
  }

  *add(documents: readonly BsonDocument[]): Generator<void, void> {
    const isSliceOver = slices()
    for (const { bytes } of documents) {
      const row = this.ids.length
      const textIn = (name: string) => stringOf(bytes, fieldOf(bytes, 0, name)) || null
      const form = this.#group(this.forms, textIn('form'), row)
      const agent = this.#group(this.agents, textIn('agent'), row)
      this.ids.push(String(textIn('_id')))
      this.formOf.push(form)
      this.agentOf.push(agent)
      this.created[row] = dateOf(bytes, fieldOf(bytes, 0, 'createdAt')) ?? Number.NaN
      this.durations[row] = numberOf(bytes, fieldOf(bytes, 0, 'duration')) ?? Number.NaN
      this.#place(bytes, row)
      const ofForm = form.id ?? ''
      let said = ofForm
      let count = 0
      const answers = fieldOf(bytes, 0, 'answers')
      for (const at of answers?.type === Bson.array ? documentsIn(bytes, answers.at) : []) {
        const end = documentEnd(bytes, at)
        const written = ofForm + bytes.toString('latin1', at, end)
        if (isSliceOver(written)) yield
        const answer = this.#known.get(written) ?? this.#answer(form, bytes, at, written)
        if (answer.said === '') continue
        count += 1
        said += answer.said
        const { question, choice, number } = answer
        if (choice !== undefined) this.#choose(question, agent, choice)
        if (number === undefined) continue
        question.numbers.push(number)
        question.rows.push(row)
        this.bytes += CELL
      }
      this.answered[row] = count
      if (count < LEAST_COPIED) continue
      const digest = hash('sha256', said, 'binary').slice(0, DIGEST)
      this.twins[row] = this.#firsts.get(digest) ?? row
      if (this.twins[row] === row) this.#firsts.set(digest, row)
    }
  }

  #group(groups: Map<string | null, Group>, id: string | null, row: number): Group {
    let group = groups.get(id)
    if (group === undefined) {
      group = { id, rows: [], questions: new Map() }
      groups.set(id, group)
      this.bytes += TEXT + (id ?? '').length
    }
    group.rows.push(row)
    return group
  }

  /** Reads an answer. It is remembered by its bytes, unless it is long: most entries have answers that others have. */
  #answer(form: Group, bytes: Buffer, at: number, written: string): Answer {
    const words = [...wordsOf(bytes, at)].filter((word) => word)
    const text = stringOf(bytes, fieldOf(bytes, at, 'question')) ?? ''
    let question = form.questions.get(text)
    if (question === undefined) {
      question = { text, numbers: [], rows: [], chosen: new Map() }
      form.questions.set(text, question)
      this.bytes += 5 * TEXT + text.length
    }
    const isChosen = CHOSEN.includes(typeOf(bytes, at) ?? '')
    const [word = ''] = words
    const answer = {
      question,
      ...(isChosen && { choice: words.join('\0') }),
      ...(!isChosen && words.length === 1 && NUMBER.test(word) && { number: Number(word) }),
      said: words.length === 0 ? '' : JSON.stringify([text, words]),
    }
    if (written.length > KNOWN_LENGTH) return answer
    if (this.#known.size === MOST_KNOWN) this.#known.clear()
    this.#known.set(written, answer)
    return answer
  }

  #choose({ chosen }: Question, agent: Group, choice: string): void {
    const counts = chosen.get(agent) ?? new Map<string, number>()
    chosen.set(agent, counts)
    const count = counts.get(choice) ?? 0
    if (count === 0) this.bytes += TEXT + choice.length
    counts.set(choice, count + 1)
  }

  #place(bytes: Buffer, row: number): void {
    const location = fieldOf(bytes, 0, 'location')
    if (location?.type !== Bson.document) return
    const coordinates = fieldOf(bytes, location.at, 'coordinates')
    if (coordinates?.type !== Bson.document) return
    const numberIn = (name: string) => numberOf(bytes, fieldOf(bytes, coordinates.at, name)) ?? Number.NaN
    const [x, y] = [numberIn('longitude'), numberIn('lattitude')]
    if (Number.isNaN(x + y)) return
    this.longitudes[row] = x
    this.latitudes[row] = y
    const textIn = (name: string) => stringOf(bytes, fieldOf(bytes, location.at, name)) ?? ''
    this.#group(this.states, JSON.stringify([textIn('country'), textIn('state')]), row)
  }
}

/** What is read of an entry. */
const FIELDS = ['form', 'agent', 'createdAt', 'duration', 'answers', 'location']

/**
 * Reads the entries that meet the conditions. A caller that does not see places has none.
 * @throws the problem `invalid_parameter` if they are too many or too large
 */
export const columnsOf = async (reader: Reader, conditions: Selection['conditions']): Promise<Columns> => {
  const selection = { ...reader.select(entries, { fields: FIELDS }), conditions }
  const size = await reader.count(selection)
  if (size > MAX_ENTRIES) throw tooMuch(`more than ${MAX_ENTRIES} cannot be checked at once`)
  const columns = new Columns(size)
  const use = async (rows: readonly BsonDocument[]) => {
    await runInSlices(columns.add(rows))
    if (columns.bytes > MAX_BYTES) throw tooMuch(`their answers take more than ${MAX_BYTES} bytes`)
    return false
  }
  // An entry that was added after they were counted has no place in the columns.
  await reader.each(selection, use, { limit: size, kept: () => ROW * size + columns.bytes })
  return columns
}
