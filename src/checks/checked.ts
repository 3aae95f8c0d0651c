// Which entries and agents need a second look. They are kept as counts are.
import {
  agentChecks,
  type CheckedAgent,
  type CheckedEntry,
  type ChecksQuery,
  entryChecks,
} from '../../schemas/checks.js'
import { firstOf, runInSlices, slices } from '../core/limits/work.js'
import { entries } from '../core/pipelines/entries.js'
import { Query } from '../core/pipelines/stages.js'
import { tookTooLong } from '../core/problems/problems.js'
import { onTimeout } from '../core/read/cost.js'
import { daysIn } from '../core/read/local-time.js'
import { withQuestions } from '../core/read/question-keys.js'
import { type Reader, WAIT_BETWEEN_MS } from '../core/read/reader.js'
import { hashOf } from '../core/write/etag.js'
import { bitOf, type Findings, type Flags, findIn } from './checks.js'
import { at, type Columns, type Group, withColumns } from './columns.js'
import { quantile, shareOf } from './statistics.js'

/** How many entries and agents are kept, and how many characters they have at most. */
const [MAX_ROWS, MAX_CHARACTERS] = [10_000, 4 * 1024 * 1024]

/** The first of some rows that can be kept, and how many there are. */
export interface Ranked<R> {
  readonly rows: readonly R[]
  readonly total: number
  /** About how many characters the rows have as JSON. */
  readonly characters: number
}

export interface Checked {
  readonly flagged: Ranked<CheckedEntry>
  readonly agents: Ranked<CheckedAgent>
  readonly entries: number
  readonly asOf: Date
  readonly bytes: number
  readonly hash: string
}

/** Checks entries, of all agents. If `shown` is given, only its rows are kept. Too many throw `invalid_parameter`. */
export const checkedEntries = async (reader: Reader, query: ChecksQuery, shown?: string): Promise<Checked> => {
  const { agent, minEntries, zone, ...filters } = await withQuestions(reader, query)
  const conditions = entries.conditions(filters)
  const isVisible = !reader.scope.without?.includes('places')
  const wanted = query.checks ?? agentChecks
  const checks = agentChecks.filter((check) => wanted.includes(check) && (check !== 'place' || isVisible))
  const all = Object.values(conditions)
  const tooLong = () => tookTooLong(': a narrower filter, such as createdSince or form, may help')
  return reader
    .kept(Query.in(reader.scope, 'entries', [...all, { checks, minEntries, zone, shown }], []), async (shared) => {
      const asOf = new Date()
      const find = async (columns: Columns) => {
        const findings = await runInSlices(findIn(columns, checks, minEntries))
        const flagged = await runInSlices(flaggedIn(findings, shown))
        const agents = await runInSlices(agentsIn(findings, await daysIn(zone), shown))
        const bytes = 2 * (flagged.characters + agents.characters)
        const hash = await runInSlices(hashOf([...flagged.rows, ...agents.rows]))
        return { flagged, agents, entries: columns.ids.length, asOf, bytes, hash }
      }
      return withColumns(shared, conditions, (columns) => shared.inTurn(() => find(columns), WAIT_BETWEEN_MS))
    })
    .catch(onTimeout(tooLong))
}

/** Those with the most checks first, then the newest. */
function* flaggedIn({ flags, found, columns }: Findings, only?: string): Generator<void, Ranked<CheckedEntry>> {
  const { ids, created, forms, agents } = columns
  const timeOf = (row: number) => at(created, row) || Number.NEGATIVE_INFINITY
  const checksOf = (row: number) => entryChecks.filter((check) => at(found, row) & bitOf(check)).length
  const worst = (a: number, b: number) => checksOf(b) - checksOf(a) || timeOf(b) - timeOf(a) || a - b
  const all = [...flags.keys()].filter((row) => only === undefined || agents.of(row).id === only)
  const rows = yield* firstOf(all, worst, MAX_ROWS)
  const shown = rows.map((row) => {
    const time = at(created, row)
    return {
      id: at(ids, row),
      form: forms.of(row).id,
      agent: agents.of(row).id,
      createdAt: Number.isNaN(time) ? null : new Date(time).toISOString(),
      ...(flags.get(row) as Flags),
    }
  })
  return yield* fitting(shown, all.length)
}

/** The greatest lower bound of what is flagged first, and then whose answers are alike. */
function* agentsIn(
  findings: Findings,
  dayOf: (time: number) => number,
  only?: string,
): Generator<void, Ranked<CheckedAgent>> {
  const { agents, durations, created, forms } = findings.columns
  const { checks, looked, found, medians, sameness } = findings
  const shown = entryChecks.filter((check) => checks.includes(check))
  const bits = shown.reduce((sum, check) => sum | bitOf(check), 0)
  const all = agents.all.filter(({ id }) => only === undefined || id === only)
  const flagged = new Map<Group, ReturnType<typeof shareOf>>()
  for (const group of all) {
    flagged.set(group, shareOf(count(group.rows, found, bits), count(group.rows, looked, bits)))
    yield
  }
  const lowOf = (group: Group) => Number(flagged.get(group)?.low)
  const alikeIn = (group: Group) => (sameness.get(group) ?? []).length
  const worst = (a: Group, b: Group) =>
    lowOf(b) - lowOf(a) ||
    alikeIn(b) - alikeIn(a) ||
    b.rows.length - a.rows.length ||
    (String(a.id) < String(b.id) ? -1 : 1)
  const rows: CheckedAgent[] = []
  for (const group of yield* firstOf(all, worst, MAX_ROWS)) {
    const { id: agent, rows: own } = group
    const days = new Set(Array.from(own, (row) => dayOf(at(created, row))).filter(Number.isFinite)).size
    const timed = own.filter((row) => at(durations, row) > 0)
    const ratios = Float64Array.from(timed, (row) => at(durations, row) / Number(medians.get(forms.of(row))))
    const shares = shown.map((check) => [
      check,
      shareOf(count(own, found, bitOf(check)), count(own, looked, bitOf(check))),
    ])
    rows.push({
      agent,
      entries: own.length,
      days,
      entriesPerDay: days === 0 ? null : own.length / days,
      durationRatio: ratios.length === 0 ? null : quantile(ratios, 0.5),
      durations: ratios.length,
      flagged: flagged.get(group),
      ...Object.fromEntries(shares),
      ...(checks.includes('sameness') && { sameness: sameness.get(group) ?? [] }),
    } as CheckedAgent)
    yield
  }
  return yield* fitting(rows, all.length)
}

/** How many rows have one of some bits. */
const count = (rows: Int32Array, column: Uint8Array, bits: number): number =>
  rows.reduce((sum, row) => sum + Number((at(column, row) & bits) !== 0), 0)

/** The rows that can be kept. One that is too long for what is left hides none behind it. */
function* fitting<R extends object>(all: readonly R[], total: number): Generator<void, Ranked<R>> {
  const rows: R[] = []
  let characters = 0
  const isSliceOver = slices()
  for (const row of all) {
    const text = JSON.stringify(row)
    if (isSliceOver(text)) yield
    if (characters + text.length > MAX_CHARACTERS) continue
    characters += text.length
    rows.push(row)
  }
  return { rows, total, characters }
}
