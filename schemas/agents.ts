// Agents: the people who receive dispatches and submit entries.
import { type Static, Type } from '@sinclair/typebox'
import { exampleIds, Id, listQuery, type PageLimits, StatusFilter, Text, Timestamp } from './common.js'
import { personal, place } from './kit.js'

const AgentLocation = Type.Object(
  {
    country: Type.Optional(Text('Country.', 'Nigeria')),
    zone: Type.Optional(Text('Geopolitical zone.', 'North West')),
    state: Type.Optional(Text('State.', 'Kano')),
    city: Type.Optional(Text('City.', 'Kano')),
  },
  { title: 'AgentLocation', description: 'A place where the agent works.' },
)

const fields = {
  id: Id('Id of the agent.', exampleIds.agent),
  status: Text('Status of the agent’s account.', 'active'),
  firstName: personal(Text('Given name.', 'Chidi')),
  lastName: personal(Text('Family name.', 'Okafor')),
  email: Type.Optional(personal(Text('Email address.', 'chidi.okafor@example.org'))),
  phone: Type.Optional(personal(Text('Telephone number.', '+2348030000000'))),
  location: place(Type.Array(AgentLocation, { description: 'Places where the agent works.' })),
  createdAt: Timestamp('When the agent was created.'),
  updatedAt: Timestamp('When the agent was last changed.'),
}

export type Agent = Static<typeof Agent>
export const Agent = Type.Object(
  {
    ...fields,
    lastLogin: Type.Optional(Timestamp('When the agent last logged in. Left out before the first login.')),
  },
  { $id: 'Agent', description: 'An agent.' },
)

export type EntryAgent = Static<typeof EntryAgent>
/** The agent who submitted an entry. It has no `lastLogin`. */
export const EntryAgent = Type.Object(fields, {
  $id: 'EntryAgent',
  description: 'The agent who submitted an entry, without lastLogin.',
})

export type AgentListQuery = Static<ReturnType<typeof AgentListQuery>>
export const AgentListQuery = (limits: PageLimits) =>
  listQuery('Agent', Agent, limits, ['createdAt', 'updatedAt'], {
    status: StatusFilter('agent', 'active'),
  })
