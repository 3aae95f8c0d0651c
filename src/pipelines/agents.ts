// The queries of listAgents and getAgent. They are pure functions, without I/O.
import { Agent, type AgentListQuery } from '../../schemas/agents.js'
import { chosen, common } from './lists.js'
import { conditions, type FiltersFor, pick, Query, type Scope, sortedPage } from './stages.js'

const filters: FiltersFor<AgentListQuery> = {
  status: (status) => ({ status }),
  ...common,
}

const fields = pick(Agent)

export const listAgents = (scope: Scope, listing: AgentListQuery): Query =>
  Query.in(scope, 'agents', conditions(filters, listing), [...sortedPage(listing), chosen(fields, listing)])

export const getAgent = (scope: Scope, id: string): Query => Query.in(scope, 'agents', [{ _id: id }], [fields])
