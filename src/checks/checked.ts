// Which entries and agents need a second look.
import { agentChecks, type Check, type CheckedStatus, type ChecksQuery } from '../../schemas/checks.js'
import { entries } from '../core/pipelines/entries.js'
import { tookTooLong } from '../core/problems/problems.js'
import { onTimeout } from '../core/read/cost.js'
import { changesIn } from '../core/read/local-time.js'
import { missingOf, questionOf, withQuestions } from '../core/read/question-keys.js'
import { type Reader, WAIT_BETWEEN_MS } from '../core/read/reader.js'
import { jobsOf } from '../core/workers/pool.js'
import { ENTRY_BYTES, tooMuch } from './entries.js'
import type { ChecksOptions } from './job.js'

/** The most entries that are checked, and how much memory their answers may take, in bytes. */
const MAX_ENTRIES = 500_000
const MAX_BYTES = 64 * 1024 * 1024
/** Of fewer entries they may take these bytes and so many for each, so that a small check waits for no large one. */
const [FEW_BYTES, BYTES_EACH] = [16 * 1024 * 1024, 64 * 1024]
const FIELDS = ['form', 'agent', 'createdAt', 'duration', 'status', 'answers', 'location']
/** About how many bytes a character of a row takes, and a row besides. */
const [CHARACTER_BYTES, ROW_BYTES] = [2, 40]

const openChecks = jobsOf<ChecksOptions>(new URL('./job.js', import.meta.url))

/**
 * Checks entries, of all agents. If `shown` is given, the rows are those of this agent alone. A caller that does not see places has none.
 * @throws the problem `invalid_parameter` if they are too many or too large
 */
export const checkedEntries = async (reader: Reader, query: ChecksQuery, shown?: string) => {
  const missing = missingOf(query)
  const textsOf = async (name: 'unique' | 'questions') => {
    const texts: string[] = []
    for (const key of query[name] ?? []) texts.push(await questionOf(reader, query.form, key, name))
    return texts
  }
  const [unique, questions] = [await textsOf('unique'), await textsOf('questions')]
  const { agent, minEntries, zone, ...filters } = await withQuestions(reader, query)
  const conditions = entries.conditions(filters)
  const isVisible = !reader.scope.without?.includes('places')
  const wanted = query.checks ?? agentChecks
  const isPossible = (check: Check) => (check !== 'place' || isVisible) && (check !== 'repeated' || unique.length > 0)
  const checks = agentChecks.filter((check) => wanted.includes(check) && isPossible(check))
  const check = async (shared: Reader) => {
    const asOf = new Date()
    const selection = { ...shared.select(entries, { fields: FIELDS }), conditions }
    const size = await shared.countNow(selection)
    if (size > MAX_ENTRIES) throw tooMuch(`more than ${MAX_ENTRIES} cannot be checked at once`)
    const most = Math.min(MAX_BYTES, FEW_BYTES + BYTES_EACH * size)
    const needs = ENTRY_BYTES * size + most
    const changes = await changesIn(zone)
    return shared.ticket.reserving(needs, async () => {
      const job = openChecks({ checks, minEntries, size, most, changes, shown, missing, unique, questions })
      // An entry that was added after they were counted is not paid for.
      const added = shared.each(selection, (rows) => job.add(rows).then(() => false), { limit: size, needs })
      const ended = added.then(() => shared.large(() => job.end(), WAIT_BETWEEN_MS))
      const { bytes } = await ended.finally(() => job.close())
      return { asOf, ...resultOf(String(Buffer.from(bytes as Uint8Array))) }
    })
  }
  return reader
    .cached({ of: 'checks', conditions, checks, minEntries, zone, shown, missing, unique, questions }, check)
    .catch(onTimeout(() => tookTooLong(': a narrower filter, such as createdSince or form, may help')))
}

/** The rows that have room, as JSON, and how many there are. */
const resultOf = (text: string) => {
  // Without rows there is no line behind the head.
  const [head = '', ...rows] = text.trimEnd().split('\n')
  const { entries, flagged, agents, statuses, length, hash } = JSON.parse(head)
  return {
    flagged: { total: flagged as number, rows: rows.slice(0, length) },
    agents: { total: agents as number, rows: rows.slice(length, length + agents) },
    ...{ entries: entries as number, statuses: statuses as CheckedStatus[], hash: hash as string },
    bytes: CHARACTER_BYTES * text.length + ROW_BYTES * rows.length,
  }
}
