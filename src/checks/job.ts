// Checks entries in a worker: takes them as they are stored, and gives back the rows that are shown as lines of JSON.
import { hash } from 'node:crypto'
import { type Check, entryChecks } from '../../schemas/checks.js'
import { type Change, dayBy } from '../core/read/local-time.js'
import type { Job } from '../core/workers/job.js'
import { bitOf, Findings } from './checks.js'
import { at, ENTRY_BYTES, Entries, type Group, tooMuch } from './entries.js'
import { quantile, shareOf } from './statistics.js'

/** How many entries and agents have rows, and how many characters they have at most. */
const [MAX_ROWS, MAX_CHARACTERS] = [10_000, 4 * 1024 * 1024]
/** How many statuses are shown, and how many characters of each. */
const [MAX_STATUSES, STATUS_LENGTH] = [20, 200]

export interface ChecksOptions {
  readonly checks: readonly Check[]
  readonly minEntries: number
  /** How many entries there are at most, and how many bytes their answers may take. */
  readonly size: number
  readonly most: number
  /** Of the clock by which agents have days. */
  readonly changes: readonly Change[]
  /** If it is given, no other agent has rows. */
  readonly shown: string | undefined
  /** The answers that count as none. */
  readonly missing?: readonly string[]
  /** The questions whose answers only one entry may have, and those whose numbers are looked at: all, if it is empty. */
  readonly unique?: readonly string[]
  readonly questions?: readonly string[]
}

export const open = (options: ChecksOptions): Job => {
  const { checks, minEntries, size, most, changes, shown } = options
  const entries = new Entries(size, options)
  return {
    get held() {
      return ENTRY_BYTES * size + entries.bytes
    },
    add(documents) {
      for (const document of documents) entries.add(document)
      if (entries.bytes > most) throw tooMuch(`their answers take more than ${most} bytes`)
      return {}
    },
    end() {
      const findings = new Findings(entries, checks, minEntries).find()
      const isShown = ({ id }: Group) => shown === undefined || id === shown
      const [flagged, ofFlagged] = flaggedIn(findings, isShown)
      const [agents, ofAgents] = agentsIn(findings, isShown, dayBy(changes))
      const lines = [...ofFlagged, ...ofAgents].join('\n')
      const { length } = ofFlagged
      const statuses = statusesIn(findings)
      const all = JSON.stringify(statuses) + lines
      const found = { entries: entries.count, flagged, agents, statuses, length, hash: hash('sha1', all, 'base64url') }
      return { bytes: Buffer.from(`${JSON.stringify(found)}\n${lines}`) }
    },
  }
}

/** How many entries have each status, and how many of them are flagged. */
const statusesIn = ({ entries, flags }: Findings) =>
  Array.from(entries.statuses.values(), ({ id, rows }) => {
    const status = id?.slice(0, STATUS_LENGTH) ?? null
    return { status, entries: rows.length, flagged: rows.filter((row) => flags.has(row)).length }
  })
    .sort((a, b) => b.entries - a.entries)
    .slice(0, MAX_STATUSES)

/** How many rows there are, and those that have room, as text. One that is too long for what is left hides none behind it. */
const linesOf = <T>(all: T[], order: (a: T, b: T) => number, shownOf: (each: T) => object) => {
  let left = MAX_CHARACTERS
  const first = all.sort(order).slice(0, MAX_ROWS)
  const lines = first.flatMap((each) => {
    const line = JSON.stringify(shownOf(each))
    if (line.length > left) return []
    left -= line.length
    return [line]
  })
  return [all.length, lines] as const
}

/** Those with the most checks first, then the newest. */
const flaggedIn = ({ flags, found, entries }: Findings, isShown: (agent: Group) => boolean) => {
  const { ids, created, formOf, agentOf } = entries
  const timeOf = (row: number) => at(created, row) || Number.NEGATIVE_INFINITY
  const checksOf = (row: number) => entryChecks.filter((check) => at(found, row) & bitOf(check)).length
  const worst = (a: number, b: number) => checksOf(b) - checksOf(a) || timeOf(b) - timeOf(a) || a - b
  const all = [...flags.keys()].filter((row) => isShown(at(agentOf, row)))
  return linesOf(all, worst, (row) => {
    const time = at(created, row)
    const createdAt = Number.isNaN(time) ? null : new Date(time).toISOString()
    return { id: at(ids, row), form: at(formOf, row).id, agent: at(agentOf, row).id, createdAt, ...flags.get(row) }
  })
}

/** The greatest lower bound of what is flagged first, and then whose answers are alike. */
const agentsIn = (findings: Findings, isShown: (agent: Group) => boolean, dayOf: (time: number) => number) => {
  const { checks, looked, found, medians, sameness, entries } = findings
  const { durations, created, formOf } = entries
  const shown = entryChecks.filter((check) => checks.includes(check))
  const shareIn = ({ rows }: Group, bits: number) => {
    const count = (column: Uint8Array) => rows.reduce((sum, row) => sum + Number((at(column, row) & bits) !== 0), 0)
    return shareOf(count(found), count(looked))
  }
  const bits = shown.reduce((sum, check) => sum | bitOf(check), 0)
  const all = [...entries.agents.values()].filter(isShown)
  const flagged = new Map(all.map((agent) => [agent, shareIn(agent, bits)]))
  const lowOf = (agent: Group) => Number(flagged.get(agent)?.low)
  const alikeIn = (agent: Group) => sameness.get(agent)?.length ?? 0
  const worst = (a: Group, b: Group) =>
    lowOf(b) - lowOf(a) ||
    alikeIn(b) - alikeIn(a) ||
    b.rows.length - a.rows.length ||
    (String(a.id) < String(b.id) ? -1 : 1)
  return linesOf(all, worst, (agent) => {
    const { id, rows } = agent
    const days = new Set(rows.map((row) => dayOf(at(created, row))).filter(Number.isFinite)).size
    const timed = rows.filter((row) => at(durations, row) > 0)
    const ratios = Float64Array.from(timed, (row) => at(durations, row) / Number(medians.get(at(formOf, row))))
    const entriesPerDay = days === 0 ? null : rows.length / days
    const durationRatio = ratios.length === 0 ? null : quantile(ratios, 0.5)
    return {
      ...{ agent: id, entries: rows.length, days, entriesPerDay, durationRatio, durations: ratios.length },
      flagged: flagged.get(agent),
      ...Object.fromEntries(shown.map((check) => [check, shareIn(agent, bitOf(check))])),
      ...(checks.includes('sameness') && { sameness: sameness.get(agent) ?? [] }),
    }
  })
}
