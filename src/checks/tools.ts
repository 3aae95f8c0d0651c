// What an assistant may check: agents and entries that need a second look.
import { Type } from '@sinclair/typebox'
import { ChecksListQuery } from '../../schemas/checks.js'
import { defaulted, select } from '../../schemas/kit.js'
import { few, filters, firstSentence, object, rows, type Tool } from '../core/door/tools.js'
import { MOST_RECORDS } from '../core/read/values.js'
import { CHECKS, checkedRows, flaggedAgents, flaggedEntries } from './operations.js'

const checked = ChecksListQuery({ page: 1, perPage: 1, maxPerPage: MOST_RECORDS })

export const tools: Readonly<Record<string, Tool>> = {
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
      const { entries, asOf, total } = agents.metadata
      const of = { agents: total, flagged: flagged.metadata.total }
      return { asOf, zone, totals: { ...of, checked: entries }, agents: agents.rows, flagged: flagged.rows, of }
    },
  },
}
