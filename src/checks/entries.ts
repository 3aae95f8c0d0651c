// What the checks need of entries, in columns: few bytes, whatever an entry holds. The row of an entry is its place in all of them.
import { hash } from 'node:crypto'
import { Bson, documentEnd, documentsIn } from '../core/bson/reader.js'
import { fieldOf, instantIn, memoryOf, numberOf, numberOfWords, stringOf } from '../core/bson/values.js'
import { invalidParameter } from '../core/problems/problems.js'
import { typeOf, wordsOf } from '../core/read/question-keys.js'
import type { ChecksOptions } from './job.js'

/** About how much memory an entry, a number and a map take, in bytes. */
export const ENTRY_BYTES = 250
const [NUMBER_BYTES, MAP_BYTES] = [24, 250]
/** An entry with fewer answers is like another one by chance. */
const LEAST_COPIED = 5
/** How many characters of a digest tell answers apart. */
const DIGEST = 12
/** How many answers are remembered, and the most bytes of each. */
const [MOST_KNOWN, KNOWN_LENGTH] = [20_000, 500]
/** The types of closed questions: their answers are chosen. */
const CHOSEN = ['singleChoice', 'multiChoice']
/** The type of open questions: digits in their answers are mostly names of something. */
const OPEN = 'text'

const helps = 'a narrower filter, such as createdSince or form, or fewer checks help'
export const tooMuch = (fault: string) =>
  invalidParameter('createdSince', `must leave fewer entries: ${fault}; ${helps}`)

/** The entries of a form, an agent or a state. */
export interface Group {
  readonly id: string | null
  /** In ascending order. */
  readonly rows: number[]
  /** Those of a form, by their texts. */
  readonly questions: Map<string, Question>
}
type Groups = Map<string | null, Group>

export interface Question {
  /** The numbers that were answered, and the row of each. */
  readonly numbers: number[]
  readonly rows: number[]
  /** How often each answer was chosen by each agent. */
  readonly chosen: Map<string, Map<Group, number>>
}

/** The value of a column in a row, which must exist. */
export const at = <T>(column: { readonly [row: number]: T }, row: number): T => column[row] as T

export const valuesIn = (column: Float64Array | Uint32Array, rows: readonly number[]): Float64Array =>
  new Float64Array(rows.map((row) => at(column, row)))

export class Entries {
  count = 0
  /** In ascending order. */
  readonly ids: string[]
  readonly formOf: Group[]
  readonly agentOf: Group[]
  readonly forms: Groups = new Map()
  readonly agents: Groups = new Map()
  readonly statuses: Groups = new Map()
  /** Of those with coordinates, by country and state. */
  readonly states: Groups = new Map()
  /** In milliseconds since 1970. What an entry does not have, or no response can show, is NaN, here and in the next columns. */
  readonly created: Float64Array
  readonly durations: Float64Array
  readonly longitudes: Float64Array
  readonly latitudes: Float64Array
  /** How many answers an entry has. */
  readonly answered: Uint32Array
  /** The way through its form that an entry took: a number for each set of questions that have answers. */
  readonly ways: Uint32Array
  readonly #ways = new Map<string, number>()
  /** The rows with the same answers to the same form, if these are enough, by a digest: one row, or several. */
  readonly alike = new Map<string, number | number[]>()
  /** The same for the answers to the questions that are unique, if an entry has answered all of them. */
  readonly same = new Map<string, number | number[]>()
  /** Answers by their bytes: most entries have answers that others have. */
  readonly #known = new Map<string, ReturnType<typeof answerIn>>()
  /** About how much memory the texts and numbers of answers take. */
  bytes = 0

  constructor(
    readonly size: number,
    readonly options: Pick<ChecksOptions, 'missing' | 'unique' | 'questions'> = {},
  ) {
    const numbers = () => new Float64Array(size).fill(Number.NaN)
    ;[this.created, this.durations, this.longitudes, this.latitudes] = [numbers(), numbers(), numbers(), numbers()]
    ;[this.ids, this.formOf, this.agentOf] = [new Array(size), new Array(size), new Array(size)]
    this.answered = new Uint32Array(size)
    this.ways = new Uint32Array(size)
  }

  add(bytes: Buffer): void {
    const id = stringOf(bytes, fieldOf(bytes, 0, '_id'))
    // An entry whose id is no text can be neither shown nor asked for.
    if (id === undefined) return
    const row = this.count++
    this.ids[row] = id
    const numberIn = (at: number, name: string) => numberOf(bytes, fieldOf(bytes, at, name)) ?? Number.NaN
    const textIn = (at: number, name: string) => stringOf(bytes, fieldOf(bytes, at, name)) ?? ''
    const group = (groups: Groups, id: string | null) => {
      const group = this.#in(groups, id, () => ({ id, rows: [], questions: new Map() }))
      group.rows.push(row)
      return group
    }
    const form = group(this.forms, textIn(0, 'form') || null)
    const agent = group(this.agents, textIn(0, 'agent') || null)
    group(this.statuses, textIn(0, 'status') || null)
    this.formOf[row] = form
    this.agentOf[row] = agent
    this.created[row] = instantIn(bytes, fieldOf(bytes, 0, 'createdAt')) ?? Number.NaN
    this.durations[row] = numberIn(0, 'duration')

    const location = fieldOf(bytes, 0, 'location')
    const coordinates = location?.type === Bson.document ? fieldOf(bytes, location.at, 'coordinates') : undefined
    if (location !== undefined && coordinates?.type === Bson.document) {
      const [x, y] = [numberIn(coordinates.at, 'longitude'), numberIn(coordinates.at, 'lattitude')]
      if (!Number.isNaN(x + y)) {
        this.longitudes[row] = x
        this.latitudes[row] = y
        group(this.states, JSON.stringify([textIn(location.at, 'country'), textIn(location.at, 'state')]))
      }
    }

    const said: string[] = []
    const asked = new Map<string, string>()
    const { unique = [], questions = [] } = this.options
    const answers = fieldOf(bytes, 0, 'answers')
    for (const at of answers?.type === Bson.array ? documentsIn(bytes, answers.at) : []) {
      const answer = this.#answer(bytes, at)
      if (answer.said === undefined) continue
      said.push(answer.said)
      asked.set(answer.question, answer.said)
      const isLookedAt = questions.length === 0 || questions.includes(answer.question)
      if (answer.choice === undefined && (answer.number === undefined || !isLookedAt)) continue
      const question = this.#in(form.questions, answer.question, () => ({ numbers: [], rows: [], chosen: new Map() }))
      if (answer.choice === undefined) {
        question.numbers.push(answer.number as number)
        question.rows.push(row)
        this.bytes += NUMBER_BYTES
      } else {
        const agents = this.#in(question.chosen, answer.choice, () => new Map<Group, number>())
        const count = agents.get(agent) ?? 0
        if (count === 0) this.bytes += 2 * NUMBER_BYTES
        agents.set(agent, count + 1)
      }
    }
    this.answered[row] = said.length
    this.ways[row] = this.#in(this.#ways, digestOf([...asked.keys()].sort()), () => this.#ways.size)
    if (said.length >= LEAST_COPIED) addRow(this.alike, digestOf([form.id, ...said]), row)
    if (unique.length > 0 && unique.every((question) => asked.has(question)))
      addRow(this.same, digestOf(unique.map((question) => asked.get(question) as string)), row)
  }

  /** What a map has for a key. What is new takes memory. */
  #in<K extends string | null, V>(map: Map<K, V>, key: K, make: () => V): V {
    let found = map.get(key)
    if (found === undefined) {
      found = make()
      map.set(key, found)
      this.bytes += MAP_BYTES + memoryOf(key ?? '')
    }
    return found
  }

  #answer(bytes: Buffer, at: number): ReturnType<typeof answerIn> {
    const written = bytes.toString('latin1', at, documentEnd(bytes, at))
    const known = this.#known.get(written) ?? answerIn(bytes, at, this.options.missing ?? [])
    if (this.#known.size === MOST_KNOWN) this.#known.clear()
    if (written.length <= KNOWN_LENGTH) this.#known.set(written, known)
    return known
  }
}

const addRow = (rows: Map<string, number | number[]>, digest: string, row: number): void => {
  const first = rows.get(digest)
  if (typeof first === 'object') first.push(row)
  else rows.set(digest, first === undefined ? row : [first, row])
}

const digestOf = (texts: readonly (string | null)[]): string =>
  hash('sha1', texts.join('\n'), 'base64url').slice(0, DIGEST)

/** What an answer says, whatever its form: `said` is undefined if it says nothing. */
const answerIn = (bytes: Buffer, at: number, missing: readonly string[]) => {
  const words = [...wordsOf(bytes, at)].filter((word) => word && !missing.includes(word))
  const question = stringOf(bytes, fieldOf(bytes, at, 'question')) ?? ''
  const type = typeOf(bytes, at) ?? ''
  const isChosen = CHOSEN.includes(type)
  const choice = isChosen ? words.join('\0') : undefined
  const number = isChosen || type === OPEN ? undefined : numberOfWords(words)
  return { question, choice, number, said: words.length === 0 ? undefined : JSON.stringify([question, words]) }
}
