// GET /v1/checks/entries and /v1/checks/agents, also as CSV: which of them need a second look.
import type { TSchema } from '@sinclair/typebox'
import { CheckedAgents, CheckedEntries, ChecksListQuery, ChecksTableQuery } from '../../schemas/checks.js'
import type { PageLimits } from '../../schemas/common.js'
import { mediaTypes } from '../../schemas/exports.js'
import type { Capability } from '../core/door/capability.js'
import { attached, commonProblems, FILE, linked, tagged } from '../core/door/responses.js'
import type { Route } from '../core/door/table.js'
import { CHECKS, checkedAsCsv, flaggedAgents, flaggedEntries, listChecked } from './operations.js'
import { tools } from './tools.js'

const routesOf = (
  name: string,
  operationId: string,
  kind: typeof flaggedEntries,
  response: TSchema,
  limits: PageLimits,
): readonly Route[] => {
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
