// The checks: which bounds follow from the entries, and which of them are outside. docs/second-look.md has the formulas.
import {
  type Check,
  type CheckedEntry,
  type EntryCheck,
  entryChecks,
  type Flag,
  type Sameness,
} from '../../schemas/checks.js'
import { isOnEarth } from '../../schemas/earth.js'
import { ownText } from '../core/bson/values.js'
import { questionKey } from '../core/write/question-columns.js'
import { at, type Columns, type Group, tooMuch } from './columns.js'
import { distance, quantile, spread } from './statistics.js'

/** How many flags there may be, before they take too much memory, and those of an entry, of which the others are not kept. */
const [MAX_FLAGS, MAX_OF_ENTRY] = [200_000, 100]
/** How many deviations below and above the median are far: of durations, and of few agents, whose deviation is less sure. */
const [BELOW, ABOVE, FAR_ALIKE] = [3, 3.5, 5]
/** How many interquartile ranges outside of the quartiles are far. */
const RANGES = 3
/** A form usually has places if this share of its entries has. */
const USUALLY = 0.9
/** Which part of the places of a state are near: all but five, and never less or more than this. */
const [OTHERS, LEAST_NEAR, MOST_NEAR] = [5, 0.95, 0.99]
/** How many times the usual number of entries at one point are many, and how many agents tell what is usual. */
const [TIMES, LEAST_AGENTS] = [3, 5]
/** How much of the text of a question a flag has. */
const SHOWN = 200

/** The least and the greatest value that is not flagged. */
type Bounds = readonly [number | null, number | null]
const NONE: Bounds = [null, null]

export const bitOf = (check: EntryCheck): number => 1 << entryChecks.indexOf(check)

/** The first flags of an entry, and how many it has. */
export type Flags = Pick<CheckedEntry, 'flags' | 'flagCount'>

/** What the checks find. Rows are those of the columns. */
export class Findings {
  readonly flags = new Map<number, Flags>()
  /** Which checks could flag each row, and which do, as bits. */
  readonly looked: Uint8Array
  readonly found: Uint8Array
  /** The median duration of each form. NaN if it has none. */
  readonly medians = new Map<Group, number>()
  readonly sameness = new Map<Group, Sameness[]>()
  #count = 0

  constructor(
    readonly columns: Columns,
    readonly checks: readonly Check[],
  ) {
    this.looked = new Uint8Array(columns.ids.length)
    this.found = new Uint8Array(columns.ids.length)
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
    of.flags.push({ check, ...more, value, expected: [...bounds], n })
    this.#count += 1
    if (this.#count > MAX_FLAGS) throw tooMuch(`they have more than ${MAX_FLAGS} flags`)
  }
}

const addTo = <K, V>(lists: Map<K, V[]>, key: K, value: V): void => {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}

/** Does all checks, in slices. An entry has its flags in the order of the checks. */
export function* findIn(columns: Columns, checks: readonly Check[], minEntries: number): Generator<void, Findings> {
  const findings = new Findings(columns, checks)
  for (const find of [ofDurations, ofCopies, ofCounts, ofNumbers, ofPlaces, ofPoints, ofSameness])
    yield* find(findings, minEntries)
  return findings
}

const medianOf = (column: Uint32Array | Float64Array, rows: Iterable<number>): number => {
  const values = Float64Array.from(rows, (row) => at(column, row))
  return quantile(values, 0.5)
}

type Work = Generator<void, void>

function* ofDurations(findings: Findings, minEntries: number): Work {
  const { forms, durations } = findings.columns
  for (const form of forms.all) {
    const given = form.rows.filter((row) => !Number.isNaN(at(durations, row)))
    const timed = given.filter((row) => at(durations, row) > 0)
    yield
    const { median, deviation } = spread(Float64Array.from(timed, (row) => Math.log(at(durations, row))))
    findings.medians.set(form, Math.exp(median))
    yield
    const isUsual = timed.length >= minEntries && deviation > 0
    const [least, most] = isUsual ? [Math.exp(median - BELOW * deviation), Math.exp(median + ABOVE * deviation)] : NONE
    const [bounds, n] = [[least, most] as const, isUsual ? timed.length : given.length]
    for (const row of given) {
      const value = at(durations, row)
      findings.look('short', row)
      if (value <= 0 || value < Number(least)) findings.flag('short', row, value, bounds, n)
      if (most === null) continue
      findings.look('long', row)
      if (value > most) findings.flag('long', row, value, bounds, n)
    }
    yield
  }
}

/** Of the entries with the same answers, all but the first are copies. */
function* ofCopies(findings: Findings): Work {
  const { twins, created, ids } = findings.columns
  const alike = new Map<number, number[]>()
  for (const [row, first] of twins.entries()) {
    if (first < 0) continue
    findings.look('copy', row)
    if (first !== row) addTo(alike, first, row)
  }
  yield
  const timeOf = (row: number) => (Number.isNaN(at(created, row)) ? Number.POSITIVE_INFINITY : at(created, row))
  const isBefore = (a: number, b: number) => (timeOf(a) === timeOf(b) ? a < b : timeOf(a) < timeOf(b))
  for (const [one, others] of alike) {
    const rows = [one, ...others]
    const first = rows.reduce((first, row) => (isBefore(row, first) ? row : first))
    for (const row of rows) if (row !== first) findings.flag('copy', row, at(ids, first), NONE, rows.length)
  }
}

function* ofCounts(findings: Findings, minEntries: number): Work {
  const { forms, answered } = findings.columns
  for (const { rows } of forms.all) {
    if (rows.length < minEntries) continue
    const least = medianOf(answered, rows) / 2
    for (const row of rows) {
      findings.look('incomplete', row)
      if (at(answered, row) < least) findings.flag('incomplete', row, at(answered, row), [least, null], rows.length)
    }
    yield
  }
}

function* ofNumbers(findings: Findings, minEntries: number): Work {
  for (const questions of findings.columns.questions.values()) {
    for (const { text, numbers, rows } of questions.values()) {
      if (numbers.length < minEntries) continue
      const values = Float64Array.from(numbers)
      const [low, high] = [quantile(values, 0.25), quantile(values, 0.75)]
      yield
      if (low === high) continue
      const bounds = [low - RANGES * (high - low), high + RANGES * (high - low)] as const
      const beginning = ownText(text.slice(0, SHOWN).replace(/[\ud800-\udbff]$/, ''))
      const question = { key: questionKey(text), question: beginning }
      for (const [i, row] of rows.entries()) {
        const value = at(numbers, i)
        findings.look('number', row)
        if (value < bounds[0] || value > bounds[1]) findings.flag('number', row, value, bounds, rows.length, question)
      }
      yield
    }
  }
}

function* ofPlaces(findings: Findings, minEntries: number): Work {
  const { forms, states, longitudes, latitudes } = findings.columns
  for (const { rows } of forms.all) {
    const missing = rows.filter((row) => Number.isNaN(at(longitudes, row)))
    yield
    if (rows.length < minEntries || rows.length - missing.length < USUALLY * rows.length) continue
    for (const row of missing) {
      findings.look('place', row)
      findings.flag('place', row, null, NONE, rows.length, { reason: 'missing' })
    }
  }
  for (const { rows } of states.all) {
    const placed: number[] = []
    for (const row of rows) {
      findings.look('place', row)
      if (at(longitudes, row) === 0 && at(latitudes, row) === 0)
        findings.flag('place', row, null, NONE, rows.length, { reason: 'zero' })
      else placed.push(row)
    }
    const sound = placed.filter((row) => isOnEarth(at(longitudes, row), at(latitudes, row)))
    yield
    const [x, y] = [medianOf(longitudes, sound), medianOf(latitudes, sound)]
    yield
    const farness = (a: number, b: number) => (isOnEarth(a, b) ? distance(x, y, a, b) : Number.POSITIVE_INFINITY)
    const distances = Float64Array.from(sound, (row) => distance(x, y, at(longitudes, row), at(latitudes, row)))
    const near = Math.min(MOST_NEAR, Math.max(LEAST_NEAR, 1 - OTHERS / sound.length))
    // Of places that are scattered normally, one in 1,000 is farther away.
    const usual = quantile(distances, near) * Math.sqrt(Math.log(1000) / -Math.log(1 - near))
    const most = sound.length >= minEntries && usual > 0 ? usual : null
    const [bounds, n] = most === null ? [NONE, rows.length] : [[null, most] as const, sound.length]
    yield
    for (const row of placed) {
      const [a, b] = [at(longitudes, row), at(latitudes, row)]
      const value = farness(a, b)
      // What is nowhere on earth is far without bounds too.
      if (value <= (most ?? Number.MAX_VALUE)) continue
      const reason = most !== null && farness(b, a) <= most ? 'exchanged' : 'far'
      findings.flag('place', row, Number.isFinite(value) ? value : null, bounds, n, { reason })
    }
    yield
  }
}

/** Entries of an agent at one point. Those that are flagged by their place already are left out. */
function* ofPoints(findings: Findings, minEntries: number): Work {
  const { agents, longitudes, latitudes } = findings.columns
  const points: number[][] = []
  const usual: number[] = []
  for (const { id, rows } of agents.all) {
    const ofAgent = new Map<string, number[]>()
    for (const row of id === null ? [] : rows) {
      const isPlaced = !Number.isNaN(at(longitudes, row)) && (at(findings.found, row) & bitOf('place')) === 0
      if (isPlaced) addTo(ofAgent, `${at(longitudes, row)} ${at(latitudes, row)}`, row)
    }
    const all = [...ofAgent.values()]
    if (all.length > 0) usual.push(all.reduce((most, { length }) => Math.max(most, length), 0))
    for (const rows of all) if (rows.length > minEntries / 4) points.push(rows)
    yield
  }
  if (points.length === 0) return
  const most = Math.max(minEntries / 4, TIMES * quantile(Float64Array.from(usual), 0.5))
  for (const rows of points) {
    if (rows.length <= most) continue
    for (const row of rows) findings.flag('place', row, rows.length, [null, most], usual.length, { reason: 'repeated' })
    yield
  }
}

function* ofSameness({ columns, checks, sameness }: Findings, minEntries: number): Work {
  for (const [{ id: form }, questions] of checks.includes('sameness') ? columns.questions : []) {
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
        yield
      }
      for (const [agent, [sum, most]] of counted)
        if (sum >= minEntries / 4 && agent.id !== null) addTo(shares, agent, most / sum)
      yield
    }
    if (shares.size < LEAST_AGENTS) continue
    const means = [...shares].map(([agent, each]) => [agent, each.reduce((a, b) => a + b) / each.length] as const)
    const { median, deviation } = spread(Float64Array.from(means, ([, mean]) => mean))
    if (deviation === 0) continue
    const most = median + FAR_ALIKE * deviation
    for (const [agent, value] of means)
      if (value > most) addTo(sameness, agent, { form, value, expected: [null, most], n: means.length })
  }
}
