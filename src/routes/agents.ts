// GET /v1/agents and GET /v1/agents/:id.
import type { FastifyInstance } from 'fastify'
import { Agent, AgentListQuery } from '../../schemas/agents.js'
import type { PageLimits } from '../../schemas/common.js'
import { getAgent, listAgents } from '../pipelines/agents.js'
import { getOperation, listOperation } from './operations.js'

export const agentRoutes = (app: FastifyInstance, limits: PageLimits): void => {
  listOperation(app, {
    operationId: 'listAgents',
    url: '/agents',
    tag: 'Agents',
    summary: 'Get agents',
    description:
      'Agents with their e-mail address and phone number, which are personal data. To read the agents of some entries at once, use `ids`.',
    query: AgentListQuery(limits),
    item: Agent,
    pipeline: listAgents,
  })
  getOperation(app, {
    operationId: 'getAgent',
    url: '/agents/:id',
    tag: 'Agents',
    summary: 'Get an agent by its id',
    description: 'An agent, with the same fields as in the list.',
    resource: Agent,
    pipeline: getAgent,
  })
}
