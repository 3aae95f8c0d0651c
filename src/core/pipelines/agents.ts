// The resource agents.
import { Agent, AgentListQuery } from '../../../schemas/agents.js'
import { defineResource, equal } from './resource.js'

export const agents = defineResource<AgentListQuery>({
  collection: 'agents',
  name: 'agent',
  article: 'an',
  tag: { name: 'Agents', description: 'Who receives dispatches and submits entries' },
  descriptions: {
    list: 'Agents with their e-mail address and phone number, which are personal data. To read the agents of some entries at once, use `ids`.',
    get: 'An agent, with the same fields as in the list.',
  },
  query: AgentListQuery,
  filters: equal('status'),
  item: { schema: Agent },
  record: { schema: Agent },
})
