// GET /v1/checks/entries and /v1/checks/agents, also as CSV: which of them need a second look.
import type { TObject, TSchema } from '@sinclair/typebox'
import {
  CheckedAgents,
  CheckedAgentsFileQuery,
  CheckedAgentsQuery,
  CheckedEntries,
  CheckedEntriesFileQuery,
  CheckedEntriesQuery,
} from '../../schemas/checks.js'
import type { PageLimits } from '../../schemas/common.js'
import { mediaTypes } from '../../schemas/exports.js'
import { CHECKS, checkedAsCsv, flaggedAgents, flaggedEntries, listChecked } from '../operations/checks.js'
import { attached, commonProblems, FILE, linked, tagged } from './responses.js'
import type { Route } from './table.js'

export const checkRoutes = (limits: PageLimits): readonly Route[] => [
  ...routesOf('entries', flaggedEntries, CheckedEntriesQuery(limits), CheckedEntries, CheckedEntriesFileQuery),
  ...routesOf('agents', flaggedAgents, CheckedAgentsQuery(limits), CheckedAgents, CheckedAgentsFileQuery),
]

const routesOf = (
  name: 'entries' | 'agents',
  kind: typeof flaggedEntries,
  query: TObject,
  response: TSchema,
  fileQuery: TObject,
): readonly Route[] => {
  const [tag, id] = name === 'entries' ? ['Entries', 'checkEntries'] : ['Agents', 'checkAgents']
  const own = { tag, problems: commonProblems }
  return [
    {
      ...own,
      path: `/checks/${name}`,
      operationId: id,
      summary: `Check ${name}`,
      description: `${CHECKS} ${response.description}`,
      query,
      response,
      headers: linked,
      operation: listChecked(kind),
    },
    {
      ...own,
      path: `/checks/${name}.csv`,
      operationId: `${id}AsCsv`,
      summary: `Check ${name}, as a table`,
      description: `${CHECKS} ${name === 'entries' ? 'A row for each flag.' : 'A row for each agent.'}`,
      query: fileQuery,
      response: FILE,
      responseDescription: 'The table.',
      headers: { ...attached, ...tagged },
      types: [mediaTypes.csv],
      isTypeInPath: true,
      operation: checkedAsCsv(kind),
    },
  ]
}
