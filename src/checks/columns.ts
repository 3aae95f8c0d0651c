// What the checks need of each entry, in columns: a number takes eight bytes, whatever an entry holds. The row of an entry is
// its place in all columns.
import { hash, randomInt } from 'node:crypto'
import { Bson, type BsonDocument, documentEnd, documentsIn } from '../core/bson/reader.js'
import { fieldOf, instantIn, numberOf, numberOfWords, stringOf } from '../core/bson/values.js'
import { runInSlices, slices } from '../core/limits/work.js'
import { entries } from '../core/pipelines/entries.js'
import { invalidParameter } from '../core/problems/problems.js'
import { typeOf, wordsOf } from '../core/read/question-keys.js'
import type { Reader } from '../core/read/reader.js'
import type { Selection } from '../core/read/selection.js'

/** The most entries that are checked, and how much memory their columns may take besides what each entry takes, in bytes. */
const MAX_ENTRIES = 500_000
const MAX_BYTES = 64 * 1024 * 1024
/** Of fewer entries they may take these bytes and so many for each, so that a small check waits for no large one. */
const [FEW_BYTES, BYTES_EACH] = [16 * 1024 * 1024, 64 * 1024]
const CELL = 16
const TEXT = 100
/** About how much an entry takes. */
const ROW = 200
/** An entry with fewer answers is like another one by chance. */
const LEAST_COPIED = 5
/** How many answers are remembered, and the most bytes of each. */
const [MOST_KNOWN, KNOWN_LENGTH] = [20_000, 500]
/** The types of closed questions: their answers are chosen. */
const CHOSEN = ['singleChoice', 'multiChoice']

const helps = 'a narrower filter, such as createdSince or form, or fewer checks help'
export const tooMuch = (fault: string) =>
  invalidParameter('createdSince', `must leave fewer entries: ${fault}; ${helps}`)

export interface Question {
  readonly text: string
  /** The numbers that were answered, and the row of each. */
  readonly numbers: number[]
  readonly rows: number[]
  /** How often each answer was chosen by each agent. */
  readonly chosen: Map<string, Map<Group, number>>
}

/** What an answer says, whatever its form. */
interface Answer {
  /** Of the question. */
  readonly text: string
  readonly choice?: string
  readonly number?: number
  /** A digest of the question and the texts of the answer, as two integers. Undefined if it gives none. */
  readonly digest: readonly [number, number] | undefined
}

/** The value of a column in a row, which must exist. */
export const at = <T>(column: { readonly [row: number]: T }, row: number): T => column[row] as T

/** The entries that have something in common: their form, agent or state. */
export class Group {
  size = 0
  /** Its rows in ascending order, once all are added. */
  rows = new Int32Array()
  constructor(
    readonly id: string | null,
    readonly number: number,
  ) {}
}

/** Groups by their ids. */
export class Groups {
  readonly all: Group[] = []
  readonly #numbers = new Map<string | null, number>()
  /** The number of each row's group. */
  readonly #ofRows: Int32Array

  constructor(size: number) {
    this.#ofRows = new Int32Array(size).fill(-1)
  }

  add(id: string | null, row: number): Group {
    const { length } = this.all
    const group = this.all[this.#numbers.get(id) ?? length] ?? new Group(id, length)
    if (group.number === length) {
      this.#numbers.set(id, length)
      this.all.push(group)
    }
    group.size += 1
    this.#ofRows[row] = group.number
    return group
  }

  of(row: number): Group {
    return at(this.all, at(this.#ofRows, row))
  }

  /** Gives each group its rows, which are a part of one array. */
  end(): void {
    const rows = new Int32Array(this.#ofRows.length)
    let end = 0
    for (const group of this.all) {
      group.rows = rows.subarray(end, end + group.size)
      end += group.size
      group.size = 0
    }
    for (const [row, number] of this.#ofRows.entries()) {
      if (number < 0) continue
      const group = at(this.all, number)
      group.rows[group.size] = row
      group.size += 1
    }
  }
}

export class Columns {
  /** In ascending order. */
  readonly ids: string[] = []
  readonly forms: Groups
  readonly agents: Groups
  /** Of those with coordinates, by country and state. */
  readonly states: Groups
  /** Of each form, by their texts. */
  readonly questions = new Map<Group, Map<string, Question>>()
  /** In milliseconds since 1970. What an entry does not have, or no response can show, is NaN, here and in the next columns. */
  readonly created: Float64Array
  readonly durations: Float64Array
  readonly longitudes: Float64Array
  readonly latitudes: Float64Array
  /** How many answers an entry has, and the first row that has the same ones, if they are enough. */
  readonly answered: Uint32Array
  readonly twins: Int32Array
  /** The first row with each digest, which is of the form and the answers. */
  readonly #firsts = new Map<number, number>()
  /** Nobody can make entries whose digests are the same. */
  readonly #seed = randomInt(2 ** 32)
  /** Answers by their bytes. */
  readonly #known = new Map<string, Answer>()
  /** About how much memory the texts and numbers of answers take. */
  bytes = 0

  constructor(size: number) {
    ;[this.forms, this.agents, this.states] = [new Groups(size), new Groups(size), new Groups(size)]
    const numbers = () => new Float64Array(size).fill(Number.NaN)
    ;[this.created, this.durations, this.longitudes, this.latitudes] = [numbers(), numbers(), numbers(), numbers()]
    this.answered = new Uint32Array(size)
    this.twins = new Int32Array(size).fill(-1)
  }

  *add(documents: readonly BsonDocument[]): Generator<void, void> {
    const isSliceOver = slices()
    for (const { bytes } of documents) {
      const id = stringOf(bytes, fieldOf(bytes, 0, '_id'))
      // An entry whose id is no text can be neither shown nor asked for.
      if (id === undefined) continue
      const row = this.ids.push(id) - 1
      const textIn = (name: string) => stringOf(bytes, fieldOf(bytes, 0, name)) || null
      const form = this.#group(this.forms, textIn('form'), row)
      const agent = this.#group(this.agents, textIn('agent'), row)
      this.created[row] = instantIn(bytes, fieldOf(bytes, 0, 'createdAt')) ?? Number.NaN
      this.durations[row] = numberOf(bytes, fieldOf(bytes, 0, 'duration')) ?? Number.NaN
      this.#place(bytes, row)
      let [count, low, high] = [0, mixed(this.#seed, form.number), form.number]
      const answers = fieldOf(bytes, 0, 'answers')
      for (const at of answers?.type === Bson.array ? documentsIn(bytes, answers.at) : []) {
        const written = bytes.toString('latin1', at, documentEnd(bytes, at))
        if (isSliceOver(written)) yield
        const { text, digest, choice, number } = this.#known.get(written) ?? this.#answer(bytes, at, written)
        if (digest === undefined) continue
        count += 1
        low = mixed(low, digest[0])
        high = mixed(high, digest[1])
        if (choice !== undefined) this.#choose(this.#question(form, text), agent, choice)
        if (number === undefined) continue
        const question = this.#question(form, text)
        question.numbers.push(number)
        question.rows.push(row)
        this.bytes += CELL
      }
      this.answered[row] = count
      if (count < LEAST_COPIED) continue
      // A double has 53 bits.
      const whole = (high >>> 0) * 2 ** 21 + (low >>> 11)
      const first = this.#firsts.get(whole) ?? row
      if (first === row) this.#firsts.set(whole, row)
      this.twins[row] = first
    }
  }

  #group(groups: Groups, id: string | null, row: number): Group {
    const group = groups.add(id, row)
    if (group.size === 1) this.bytes += 2 * TEXT + (id ?? '').length
    return group
  }

  /** Reads an answer. It is remembered by its bytes, unless it is long: most entries have answers that others have. */
  #answer(bytes: Buffer, at: number, written: string): Answer {
    const words = [...wordsOf(bytes, at)].filter((word) => word)
    const text = stringOf(bytes, fieldOf(bytes, at, 'question')) ?? ''
    const isChosen = CHOSEN.includes(typeOf(bytes, at) ?? '')
    const number = isChosen ? undefined : numberOfWords(words)
    const answer = {
      text,
      ...(isChosen && { choice: words.join('\0') }),
      ...(number !== undefined && { number }),
      digest: words.length === 0 ? undefined : digestOf(JSON.stringify([text, words])),
    }
    if (written.length > KNOWN_LENGTH) return answer
    if (this.#known.size === MOST_KNOWN) this.#known.clear()
    this.#known.set(written, answer)
    return answer
  }

  #question(form: Group, text: string): Question {
    const questions = this.questions.get(form) ?? new Map<string, Question>()
    if (questions.size === 0) this.questions.set(form, questions)
    let question = questions.get(text)
    if (question === undefined) {
      question = { text, numbers: [], rows: [], chosen: new Map() }
      questions.set(text, question)
      this.bytes += 5 * TEXT + text.length
    }
    return question
  }

  #choose({ chosen }: Question, agent: Group, choice: string): void {
    let agents = chosen.get(choice)
    if (agents === undefined) {
      agents = new Map()
      chosen.set(choice, agents)
      this.bytes += TEXT + choice.length
    }
    const count = agents.get(agent) ?? 0
    if (count === 0) this.bytes += TEXT
    agents.set(agent, count + 1)
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

const digestOf = (text: string): readonly [number, number] => {
  const digest = hash('sha256', text, 'buffer')
  return [digest.readInt32LE(0), digest.readInt32LE(4)]
}

/** Adds 32 bits to a hash, so that it depends on their order. */
const mixed = (hash: number, more: number): number => {
  const mix = Math.imul(hash ^ more, 0x9e3779b1)
  return mix ^ (mix >>> 15)
}

const FIELDS = ['form', 'agent', 'createdAt', 'duration', 'answers', 'location']

/**
 * Reads the entries that meet the conditions, and uses their columns. The memory for both is reserved. A caller that does not see
 * places has none.
 * @throws the problem `invalid_parameter` if they are too many or too large
 */
export const withColumns = async <T>(
  reader: Reader,
  conditions: Selection['conditions'],
  use: (columns: Columns) => Promise<T>,
): Promise<T> => {
  const selection = { ...reader.select(entries, { fields: FIELDS }), conditions }
  const size = await reader.countNow(selection)
  if (size > MAX_ENTRIES) throw tooMuch(`more than ${MAX_ENTRIES} cannot be checked at once`)
  const most = Math.min(MAX_BYTES, FEW_BYTES + BYTES_EACH * size)
  const needs = ROW * size + most
  return reader.ticket.reserving(needs, async () => {
    const columns = new Columns(size)
    const add = async (rows: readonly BsonDocument[]) => {
      await runInSlices(columns.add(rows))
      if (columns.bytes > most) throw tooMuch(`their answers take more than ${most} bytes`)
      return false
    }
    // An entry that was added after they were counted has no place in the columns.
    await reader.each(selection, add, { limit: size, needs })
    for (const groups of [columns.forms, columns.agents, columns.states]) groups.end()
    return use(columns)
  })
}
