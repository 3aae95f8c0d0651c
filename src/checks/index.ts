// GET /v1/checks/entries and /v1/checks/agents, also as CSV: which of them need a second look.
import { type TSchema, Type } from '@sinclair/typebox'
import {
  CheckedAgents,
  CheckedEntries,
  type ChecksFileQuery,
  ChecksListQuery,
  type ChecksQuery,
  ChecksTableQuery,
  entryChecks,
  type Flag,
} from '../../schemas/checks.js'
import type { PageLimits } from '../../schemas/common.js'
import { mediaTypes } from '../../schemas/exports.js'
import { defaulted, select } from '../../schemas/kit.js'
import { type Asked, fileNameOf, type RowsAnswer } from '../core/door/answer.js'
import type { Capability, Route } from '../core/door/capability.js'
import { attached, commonProblems, FILE, linked, tagged } from '../core/door/responses.js'
import { few, filters, firstSentence, object, rows } from '../core/door/tools.js'
import { entries } from '../core/pipelines/entries.js'
import { MOST_RECORDS, unmatchedIn } from '../core/read/list.js'
import { type Named, namesOf } from '../core/read/names.js'
import { linkHeader, pageMetadata } from '../core/read/page.js'
import type { Reader } from '../core/read/reader.js'
import { type Cells, csvTable } from '../core/write/csv.js'
import { jsonArray } from '../core/write/json.js'
import type { Output } from '../core/write/output.js'
import { checkedEntries } from './checked.js'
import { tooMuch } from './entries.js'

const CHECKS =
  'High-frequency checks of the entries that match, with bounds from those of the same form. A flag asks for a second look and says nothing of why. A large result may be some seconds old: `asOf` says when it was made.'

type Row = Readonly<Record<string, unknown>>

/** What is listed, and how it becomes a table: its columns, and the rows of a row. */
interface Kind {
  readonly of: 'flagged' | 'agents'
  readonly fileName: string
  /** The fields with ids, beside which names stand. */
  readonly named: readonly string[]
  readonly columns: readonly string[]
  readonly table: (row: Row) => readonly Row[]
}

const SHARE = ['count', 'of', 'share', 'low', 'high']

const flaggedEntries: Kind = {
  of: 'flagged',
  fileName: 'checked-entries',
  named: ['form', 'agent'],
  columns: [
    ...['id', 'form', 'agent', 'createdAt', 'check', 'reason', 'key', 'question', 'value', 'least', 'most', 'n'],
    'flagCount',
  ],
  table: ({ flags, ...entry }) =>
    (flags as Flag[]).map(({ expected: [least, most], ...flag }) => ({ ...entry, ...flag, least, most })),
}

const shares = ['flagged', ...entryChecks]

const flaggedAgents: Kind = {
  of: 'agents',
  fileName: 'checked-agents',
  named: ['agent'],
  columns: [
    ...['agent', 'entries', 'days', 'entriesPerDay', 'durationRatio', 'durations'],
    ...shares.flatMap((name) => SHARE.map((part) => `${name}.${part}`)),
    'sameness',
  ],
  table: (agent) => {
    const ofShares = shares.flatMap((name) =>
      Object.entries(agent[name] ?? {}).map(([part, value]) => [`${name}.${part}`, value]),
    )
    return [{ ...agent, ...Object.fromEntries(ofShares), sameness: (agent.sameness as unknown[] | undefined)?.length }]
  },
}

/** An id in a row, before which no text of the entry stands. */
const idIn = (row: string, field: string): unknown =>
  JSON.parse(new RegExp(`"${field}":("(?:[^"\\\\]|\\\\.)*"|null),`).exec(row)?.[1] as string)

/** What was checked, or a page of it: rows as JSON. */
const checkedRows = async (reader: Reader, { of, named }: Kind, query: ChecksQuery) => {
  const { agent, names, page = 1, perPage = Number.POSITIVE_INFINITY } = query
  const ofAll = await checkedEntries(reader, query)
  const isCut = ofAll[of].rows.length < ofAll[of].total
  // Of an agent, more rows may have room than of all.
  const checked = isCut && agent !== undefined ? await checkedEntries(reader, query, agent) : ofAll
  const { rows: all, total } = checked[of]
  const found = agent === undefined ? all : all.filter((row) => row.includes(`"agent":${JSON.stringify(agent)},`))
  const first = page === 1 ? 0 : (page - 1) * perPage
  const rows = found.slice(first, first + perPage)
  const shownNames = new Map<string, ReadonlyMap<unknown, Named>>()
  for (const field of names === 'true' ? named : []) {
    const ids = rows.map((row) => idIn(row, field))
    const known = await namesOf(reader, field, ids)
    if (known !== undefined) shownNames.set(field, known)
  }
  const withNames = (row: string) => {
    const all = [...shownNames].map(([field, known]) => [`${field}Name`, known.get(idIn(row, field))?.name ?? null])
    return `${row.slice(0, -1)},${JSON.stringify(Object.fromEntries(all)).slice(1)}`
  }
  const shown = shownNames.size === 0 ? rows : rows.map(withNames)
  return {
    rows: shown,
    size: shown.reduce((sum, row) => sum + row.length, 0),
    named: [...shownNames.keys()],
    metadata: {
      total: agent === undefined || isCut ? total : found.length,
      shown: found.length,
      entries: checked.entries,
      statuses: checked.statuses,
      asOf: checked.asOf.toISOString(),
    },
    // When they were checked does not matter.
    tag: {
      values: [checked.hash, total, checked.entries, query, [...shownNames.values()].flatMap((known) => [...known])],
    },
  }
}

const listChecked =
  (kind: Kind) =>
  async (reader: Reader, asked: Asked<ChecksQuery & Required<Pick<ChecksQuery, 'page' | 'perPage'>>>) => {
    const { query } = asked
    const { rows, size, metadata, tag } = await checkedRows(reader, kind, query)
    const { shown } = metadata
    const neighbour = (isThere: boolean) => (isThere ? { start: undefined } : undefined)
    const place = { rows, next: neighbour(query.page * query.perPage < shown), previous: neighbour(query.page > 1) }
    const conditions = entries.conditions(query)
    const unmatched = shown === 0 ? await unmatchedIn(reader, { resource: entries, conditions }) : []
    const links = pageMetadata(asked, query, place, shown)
    const page = { ...links, ...metadata, ...(unmatched.length > 0 && { unmatched }) }
    return {
      rows,
      size,
      format: jsonArray((row: string, out: Output) => out.text(row)),
      envelope: { before: { success: true }, name: 'data', after: () => ({ _metadata: page }) },
      tag: { values: [...tag.values, unmatched] },
      link: linkHeader(page),
    } satisfies RowsAnswer<string>
  }

/** All of it as a table: a row for each flag of an entry, or for each agent. */
const checkedAsCsv =
  (kind: Kind) =>
  async (reader: Reader, { query }: Asked<ChecksFileQuery>): Promise<RowsAnswer<string>> => {
    const { bom, formulas, ...parameters } = query
    const { rows, size, named, metadata, tag } = await checkedRows(reader, kind, parameters)
    const { total, shown } = metadata
    if (shown < total) throw tooMuch(`of ${total} rows a file would have ${shown}`)
    const columns = kind.columns.flatMap((name) => (named.includes(name) ? [name, `${name}Name`] : name))
    const rowsOf = (row: string) =>
      kind.table(JSON.parse(row)).map((each) => columns.map((name) => each[name]) as Cells)
    return {
      rows,
      size,
      mediaType: `${mediaTypes.csv}; charset=utf-8`,
      fileName: fileNameOf(kind.fileName, 'csv'),
      format: csvTable(columns, rowsOf, query),
      tag,
    }
  }

const routesOf = (name: string, operationId: string, kind: Kind, response: TSchema, limits: PageLimits): Route[] => {
  const own = { tag: 'Checks', problems: commonProblems, description: `${CHECKS} ${response.description}` }
  return [
    {
      ...own,
      path: `/checks/${name}`,
      operationId,
      summary: `Check ${name}`,
      query: ChecksListQuery(limits),
      response,
      headers: linked,
      operation: listChecked(kind),
    },
    {
      ...own,
      path: `/checks/${name}.csv`,
      operationId: `${operationId}AsCsv`,
      summary: `Check ${name}, as a table`,
      query: ChecksTableQuery,
      response: FILE,
      responseDescription: 'The table. A flag of an entry is a row, and so is an agent.',
      headers: { ...attached, ...tagged },
      types: [mediaTypes.csv],
      isTypeInPath: true,
      operation: checkedAsCsv(kind),
    },
  ]
}

const checked = ChecksListQuery({ page: 1, perPage: 1, maxPerPage: MOST_RECORDS })

const tools: Capability['tools'] = {
  check_entries: {
    description: `${firstSentence(CHECKS)} Worst agents and flagged entries; a flag says nothing of why.`,
    takes: {
      ...select(checked, ['checks']).properties,
      ...select(Type.Object(filters), ['form', 'project', 'agent', 'zone', 'createdSince', 'createdBefore']).properties,
      limit: defaulted(few, 10),
    },
    gives: { totals: object, agents: rows, flagged: rows },
    async call({ reader }, { limit: perPage, ...given }, { zone = given.zone }) {
      const query = { ...given, minEntries: 20, names: 'true', page: 1, perPage } as const
      const agents = await checkedRows(reader, flaggedAgents, query as never)
      const flagged = await checkedRows(reader, flaggedEntries, query as never)
      const { entries, statuses, asOf, total } = agents.metadata
      const of = { agents: total, flagged: flagged.metadata.total }
      const [first, worst] = [agents, flagged].map(({ rows }) => rows.map((row) => JSON.parse(row)))
      return { asOf, zone, totals: { ...of, checked: entries, statuses }, agents: first, flagged: worst, of }
    },
  },
}

export const checks: Capability = {
  tags: [
    {
      name: 'Checks',
      description: 'Which entries and agents need a second look: high-frequency checks',
      hasFiltersOfLists: true,
    },
  ],
  routes({ config: { maxPerPage } }) {
    const limits = { page: 1, perPage: 50, maxPerPage }
    return [
      ...routesOf('entries', 'checkEntries', flaggedEntries, CheckedEntries, limits),
      ...routesOf('agents', 'checkAgents', flaggedAgents, CheckedAgents, limits),
    ]
  },
  tools,
}
