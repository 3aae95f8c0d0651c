// The checks: which bounds follow from the entries, and which of them are outside. docs/second-look.md has the formulas.
import { type Check, type EntryCheck, entryChecks, type Flag, type Sameness } from '../../schemas/checks.js'
import { isOnEarth } from '../../schemas/earth.js'
import { ownText } from '../core/bson/values.js'
import { questionKey } from '../core/write/question-columns.js'
import { at, type Entries, type Group, type Question, tooMuch, valuesIn } from './entries.js'
import { distance, quantile, spread } from './statistics.js'

/** How many flags there may be, before they take too much memory, and those of an entry, of which the others are left out. */
const [MAX_FLAGS, MAX_OF_ENTRY] = [200_000, 100]
/** How many deviations below and above the median are far: of durations, and of few agents, whose deviation is less sure. */
const [BELOW, ABOVE, FAR_ALIKE] = [3, 3.5, 5]
/** How many interquartile ranges outside of the quartiles are far. */
const RANGES = 3
/** What stands for no answer in many surveys, with either sign. */
const CODES = new Set([66, 77, 88, 96, 97, 98, 99, 666, 777, 888, 996, 997, 998, 999, 9999])
/** Numbers are rarely negative if one in so many is. They are ids if so many of ten differ, and skewed if one tail is so many times as long. */
const [RARELY, IDS_OF_TEN, TAILS] = [20, 9, 3]
/** What one in so many has is usual: no slip of somebody, and a way through the form. */
const USUAL = 100
/** A form usually has places if this share of its entries has. */
const USUALLY = 0.9
/** Which part of the places of a state are near: all but five, and never less or more than this. */
const [OTHERS, LEAST_NEAR, MOST_NEAR] = [5, 0.95, 0.99]
/** How many times the usual number of entries at one point are many, and how many agents tell what is usual. */
const [TIMES, LEAST_AGENTS] = [3, 5]
/** How much of the text of a question a flag has. */
const SHOWN = 200

/** The least and the greatest value that is not flagged. */
type Bounds = [number | null, number | null]
const NONE: Bounds = [null, null]

export const bitOf = (check: EntryCheck): number => 1 << entryChecks.indexOf(check)

const addTo = <K, V>(lists: Map<K, V[]>, key: K, value: V): void => {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}

/** How often each value is there. */
const countsOf = (values: Iterable<number>): ReadonlyMap<number, number> => {
  const counts = new Map<number, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}

/** Does checks, and has what they find. An entry has its flags in the order of the checks. */
export class Findings {
  /** The first flags of a row, and how many it has. */
  readonly flags = new Map<number, { flags: Flag[]; flagCount: number }>()
  /** Which checks could flag each row, and which do, as bits. */
  readonly looked: Uint8Array
  readonly found: Uint8Array
  /** The median duration of each form. NaN if it has none. */
  readonly medians = new Map<Group, number>()
  readonly sameness = new Map<Group, Sameness[]>()
  #count = 0

  constructor(
    readonly entries: Entries,
    readonly checks: readonly Check[],
    readonly minEntries: number,
  ) {
    this.looked = new Uint8Array(entries.size)
    this.found = new Uint8Array(entries.size)
  }

  find(): this {
    const { forms, agents, states, alike, same } = this.entries
    for (const form of forms.values()) this.#durations(form)
    for (const rows of alike.values()) this.#copies([rows].flat())
    for (const rows of same.values()) this.#repeated([rows].flat())
    for (const { rows } of forms.values()) this.#counts(rows)
    for (const { questions } of forms.values()) for (const each of questions) this.#numbers(...each)
    for (const { rows } of forms.values()) this.#missing(rows)
    for (const { rows } of states.values()) this.#places(rows)
    this.#points(agents.values())
    if (this.checks.includes('sameness')) for (const form of forms.values()) this.#sameness(form)
    return this
  }

  look(check: EntryCheck, row: number): void {
    this.looked[row] = at(this.looked, row) | bitOf(check)
  }

  flag(check: EntryCheck, row: number, value: Flag['value'], bounds: Bounds, n: number, more: Partial<Flag> = {}) {
    if (!this.checks.includes(check)) return
    this.found[row] = at(this.found, row) | bitOf(check)
    const of = this.flags.get(row) ?? { flags: [], flagCount: 0 }
    this.flags.set(row, of)
    of.flagCount += 1
    // Numbers alone may be many. They leave a place to the check behind them.
    if (of.flags.length >= MAX_OF_ENTRY - Number(check === 'number')) return
    of.flags.push({ check, ...more, value, expected: bounds, n })
    this.#count += 1
    if (this.#count > MAX_FLAGS) throw tooMuch(`they have more than ${MAX_FLAGS} flags`)
  }

  #durations(form: Group): void {
    const { durations } = this.entries
    const given = form.rows.filter((row) => !Number.isNaN(at(durations, row)))
    const timed = valuesIn(durations, given).filter((duration) => duration > 0)
    const { median, deviation } = spread(timed.map(Math.log))
    this.medians.set(form, Math.exp(median))
    const isUsual = timed.length >= this.minEntries && deviation > 0
    const [least, most] = isUsual ? [Math.exp(median - BELOW * deviation), Math.exp(median + ABOVE * deviation)] : NONE
    const [bounds, n]: [Bounds, number] = [[least, most], isUsual ? timed.length : given.length]
    for (const row of given) {
      const value = at(durations, row)
      this.look('short', row)
      if (value <= 0 || value < Number(least)) this.flag('short', row, value, bounds, n)
      if (most === null) continue
      this.look('long', row)
      if (value > most) this.flag('long', row, value, bounds, n)
    }
  }

  /** Of the entries with the same answers, all but the first are copies. */
  #copies(rows: readonly number[]): void {
    const { created, ids } = this.entries
    const timeOf = (row: number) => (Number.isNaN(at(created, row)) ? Number.POSITIVE_INFINITY : at(created, row))
    const first = rows.reduce((first, row) => (timeOf(row) < timeOf(first) ? row : first))
    for (const row of rows) {
      this.look('copy', row)
      if (row !== first) this.flag('copy', row, at(ids, first), NONE, rows.length)
    }
  }

  #repeated(rows: readonly number[]): void {
    for (const row of rows) {
      this.look('repeated', row)
      const other = rows.find((each) => each !== row)
      if (other !== undefined) this.flag('repeated', row, at(this.entries.ids, other), NONE, rows.length)
    }
  }

  #counts(rows: readonly number[]): void {
    const { answered, ways } = this.entries
    if (rows.length < this.minEntries) return
    const least = quantile(valuesIn(answered, rows), 0.5) / 2
    const taken = countsOf(rows.map((row) => at(ways, row)))
    for (const row of rows) {
      this.look('incomplete', row)
      if (at(answered, row) < least && !this.#isUsual(taken.get(at(ways, row)), rows.length))
        this.flag('incomplete', row, at(answered, row), [least, null], rows.length)
    }
  }

  #numbers(text: string, { numbers, rows }: Question): void {
    if (numbers.length < this.minEntries) return
    const isRarelyNegative = numbers.filter((value) => value < 0).length * RARELY <= numbers.length
    const isMissing = (value: number) => isRarelyNegative && value < 0 && CODES.has(-value)
    const values = Float64Array.from(numbers.filter((value) => !isMissing(value)))
    const counts = countsOf(values)
    const isId = counts.size * 10 >= IDS_OF_TEN * values.length && values.every(Number.isInteger)
    if (isId) return
    const [first, middle, last] = [0.05, 0.5, 0.95].map((part) => quantile(values, part)) as [number, number, number]
    const isSkewed = isRarelyNegative && last - middle >= TAILS * (middle - first)
    const given = isSkewed ? values.filter((value) => value > 0) : values
    const [low, high] = [0.25, 0.75].map((part) => quantile(given, part)) as [number, number]
    const hasBounds = given.length >= this.minEntries && low < high
    // Of skewed numbers it is two ranges of their logarithms, without a logarithm, whose last digit differs among programs.
    const [range, ratio] = [RANGES * (high - low), (high / low) * (high / low)]
    const [least, most] = isSkewed ? [low / ratio, high * ratio] : [low - range, high + range]
    // JSON has null for a bound that is no number.
    const bounds: Bounds = hasBounds ? [least >= 0 || values.some((value) => value < 0) ? least : null, most] : NONE
    const isFar = (value: number) =>
      hasBounds &&
      (value < least || value > most) &&
      !(isSkewed && value === 0) &&
      !this.#isUsual(counts.get(value), values.length)
    const beginning = ownText(text.slice(0, SHOWN).replace(/[\ud800-\udbff]$/, ''))
    const question = { key: questionKey(text), question: beginning }
    for (const [i, row] of rows.entries()) {
      const value = at(numbers, i)
      this.look('number', row)
      if (!isMissing(value) && !isFar(value)) continue
      const reason = CODES.has(Math.abs(value)) ? ({ reason: 'code' } as const) : {}
      this.flag('number', row, value, bounds, given.length, { ...question, ...reason })
    }
  }

  /** Whether so many of all have a value that it is no slip. */
  #isUsual(count: number | undefined, all: number): boolean {
    return Number(count) >= this.minEntries && Number(count) * USUAL >= all
  }

  #missing(rows: readonly number[]): void {
    const missing = rows.filter((row) => Number.isNaN(at(this.entries.longitudes, row)))
    if (rows.length < this.minEntries || rows.length - missing.length < USUALLY * rows.length) return
    for (const row of missing) {
      this.look('place', row)
      this.flag('place', row, null, NONE, rows.length, { reason: 'missing' })
    }
  }

  #places(rows: readonly number[]): void {
    const { longitudes, latitudes } = this.entries
    const placed: number[] = []
    for (const row of rows) {
      this.look('place', row)
      if (at(longitudes, row) !== 0 || at(latitudes, row) !== 0) placed.push(row)
      else this.flag('place', row, null, NONE, rows.length, { reason: 'zero' })
    }
    const sound = placed.filter((row) => isOnEarth(at(longitudes, row), at(latitudes, row)))
    const [x, y] = [quantile(valuesIn(longitudes, sound), 0.5), quantile(valuesIn(latitudes, sound), 0.5)]
    const farness = (a: number, b: number) => (isOnEarth(a, b) ? distance(x, y, a, b) : Number.POSITIVE_INFINITY)
    const distances = sound.map((row) => distance(x, y, at(longitudes, row), at(latitudes, row)))
    const near = Math.min(MOST_NEAR, Math.max(LEAST_NEAR, 1 - OTHERS / sound.length))
    // Of places that are scattered normally, one in 1,000 is farther away.
    const usual = quantile(Float64Array.from(distances), near) * Math.sqrt(Math.log(1000) / -Math.log(1 - near))
    const most = sound.length >= this.minEntries && usual > 0 ? usual : null
    const [bounds, n]: [Bounds, number] = most === null ? [NONE, rows.length] : [[null, most], sound.length]
    for (const row of placed) {
      const [a, b] = [at(longitudes, row), at(latitudes, row)]
      const value = farness(a, b)
      // What is nowhere on earth is far without bounds too.
      if (value <= (most ?? Number.MAX_VALUE)) continue
      const reason = most !== null && farness(b, a) <= most ? 'exchanged' : 'far'
      this.flag('place', row, Number.isFinite(value) ? value : null, bounds, n, { reason })
    }
  }

  /** Entries of an agent at one point. Those that are flagged by their place already are left out. */
  #points(agents: Iterable<Group>): void {
    const { longitudes, latitudes } = this.entries
    const points: number[][] = []
    const usual: number[] = []
    for (const { id, rows } of agents) {
      const ofAgent = new Map<string, number[]>()
      for (const row of id === null ? [] : rows) {
        const isPlaced = !Number.isNaN(at(longitudes, row)) && (at(this.found, row) & bitOf('place')) === 0
        if (isPlaced) addTo(ofAgent, `${at(longitudes, row)} ${at(latitudes, row)}`, row)
      }
      let most = 0
      for (const rows of ofAgent.values()) {
        most = Math.max(most, rows.length)
        if (rows.length > this.minEntries / 4) points.push(rows)
      }
      if (most > 0) usual.push(most)
    }
    const most = Math.max(this.minEntries / 4, TIMES * quantile(Float64Array.from(usual), 0.5))
    const more = { reason: 'repeated' } as const
    for (const rows of points)
      for (const row of rows.length > most ? rows : [])
        this.flag('place', row, rows.length, [null, most], usual.length, more)
  }

  #sameness({ id: form, questions }: Group): void {
    /** The shares of the most frequent answer of each question. */
    const shares = new Map<Group, number[]>()
    for (const { chosen } of questions.values()) {
      /** How many answers an agent has chosen, and how often the most frequent one. */
      const counted = new Map<Group, readonly [number, number]>()
      for (const agents of chosen.values()) {
        for (const [agent, count] of agents) {
          const [sum, most] = counted.get(agent) ?? [0, 0]
          counted.set(agent, [sum + count, Math.max(most, count)])
        }
      }
      for (const [agent, [sum, most]] of counted)
        if (sum >= this.minEntries / 4 && agent.id !== null) addTo(shares, agent, most / sum)
    }
    if (shares.size < LEAST_AGENTS) return
    const means = [...shares].map(([agent, each]) => [agent, each.reduce((a, b) => a + b) / each.length] as const)
    const { median, deviation } = spread(Float64Array.from(means, ([, mean]) => mean))
    if (deviation === 0) return
    const most = median + FAR_ALIKE * deviation
    for (const [agent, value] of means)
      if (value > most) addTo(this.sameness, agent, { form, value, expected: [null, most], n: means.length })
  }
}
