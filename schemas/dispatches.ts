// Dispatches: each sends a form to agents, its recipients.
import { type Static, Type } from '@sinclair/typebox'
import { Agent } from './agents.js'
import {
  exampleIds,
  Id,
  IdFilter,
  listQuery,
  NameFilter,
  type PageLimits,
  reference,
  Text,
  Timestamp,
} from './common.js'
import { Form } from './forms.js'
import { filter, joined, literals, refTo, whole, word } from './kit.js'
import { DispatchProject } from './projects.js'
import { authors, DispatchUser } from './users.js'

export const dispatchTypes = ['basic', 'prefilled', 'hybrid', 'survey'] as const

/** The statuses of a dispatch, as responses spell them. */
export const dispatchStatuses = ['draft', 'supended', 'dispatched', 'completed'] as const

/** The values that the `status` filter allows, and the status that each one matches. */
export const dispatchStatusFilter = {
  draft: 'draft',
  supended: 'supended',
  dispatch: 'dispatched',
  completed: 'completed',
  suspended: 'supended',
  dispatched: 'dispatched',
} as const satisfies Record<string, (typeof dispatchStatuses)[number]>

const id = Id('Id of the dispatch.', exampleIds.dispatch)
const dispatchType = word(dispatchTypes, { title: 'DispatchType', description: 'Type of the dispatch.' })
const status = word(dispatchStatuses, {
  title: 'DispatchStatus',
  description: 'Status of the dispatch. The spelling `supended` (for suspended) is part of the contract.',
})
const name = Text('Name of the dispatch.', 'Kano households, round 2')
const totalExpectedEntries = Type.Optional(
  whole(Type.Number({ description: 'Number of entries that the dispatch is expected to receive.', examples: [250] })),
)
const createdBy = Type.Optional(joined(refTo(DispatchUser, 'Who created the dispatch.')))
const modifiedBy = Type.Optional(joined(refTo(DispatchUser, 'Who last changed the dispatch.')))
const createdAt = Timestamp('When the dispatch was created.')
const updatedAt = Timestamp('When the dispatch was last changed.')
const agentGroups = Type.Array(reference('AgentGroup', '64d6f2e3a5b4c3001c7d6f51'), {
  description: 'Agent groups that received the dispatch.',
})

export type DispatchListItem = Static<typeof DispatchListItem>
export const DispatchListItem = Type.Object(
  {
    id,
    recipients: Type.Object(
      {
        agents: Type.Array(reference('Agent', exampleIds.agent), {
          description: 'Agents that received the dispatch, only by their ids.',
        }),
        agentGroups,
      },
      { title: 'RecipientIds', description: 'Who received the dispatch.' },
    ),
    dispatchType,
    status,
    name,
    form: Type.Optional(Id('Id of the form.', exampleIds.form)),
    project: Type.Optional(Id('Id of the project.', exampleIds.project)),
    totalExpectedEntries,
    ...authors(DispatchUser, 'dispatch'),
    createdAt,
    updatedAt,
  },
  { $id: 'DispatchListItem', description: 'A dispatch in a list. Other records are referred to by their ids.' },
)

export type Dispatch = Static<typeof Dispatch>
export const Dispatch = Type.Object(
  {
    id,
    instructions: Type.Optional(
      Type.Object(
        {
          instructions: Type.Optional(Text('Text for the agents.', 'Visit each household in the morning.')),
          attachments: Type.Array(Type.Unknown(), {
            description: 'Attachments of the instructions, exactly as they are stored.',
            examples: [[]],
          }),
        },
        { title: 'DispatchInstructions', description: 'Instructions to the agents.' },
      ),
    ),
    recipients: Type.Object(
      {
        agents: joined(
          Type.Array(refTo(Agent), {
            description: 'Agents that received the dispatch, in the order in which they were named.',
          }),
        ),
        agentGroups,
      },
      { title: 'Recipients', description: 'Who received the dispatch.' },
    ),
    dispatchType,
    status,
    name,
    startDate: Type.Optional(Timestamp('When the dispatch starts.')),
    dueDate: Type.Optional(Timestamp('When the entries are due.', '2025-04-14T09:26:53.589Z')),
    form: Type.Optional(joined(refTo(Form, 'The form that is sent.'))),
    project: Type.Optional(joined(refTo(DispatchProject, 'The project that the dispatch belongs to.'))),
    createdBy,
    modifiedBy,
    createdAt,
    updatedAt,
  },
  { $id: 'Dispatch', description: 'A dispatch with the records that it refers to embedded.' },
)

export type EntryDispatch = Static<typeof EntryDispatch>
/** The dispatch that an entry answers. */
export const EntryDispatch = Type.Object(
  { id, dispatchType, status, name, totalExpectedEntries, createdAt, updatedAt },
  { $id: 'EntryDispatch', description: 'The dispatch of an entry.' },
)

export type DispatchListQuery = Static<ReturnType<typeof DispatchListQuery>>
export const DispatchListQuery = (limits: PageLimits) =>
  listQuery('Dispatch', DispatchListItem, limits, ['createdAt', 'name', 'dispatchType', 'updatedAt'], {
    dispatchType: filter(
      literals(dispatchTypes, { title: 'DispatchTypeFilter', description: 'Type of the dispatch.' }),
    ),
    name: NameFilter('dispatch'),
    status: filter(
      literals(Object.keys(dispatchStatusFilter) as (keyof typeof dispatchStatusFilter)[], {
        title: 'DispatchStatusFilter',
        description:
          'Status of the dispatch. `dispatch` matches `dispatched`, and `suspended` matches `supended`, which is how responses spell it.',
      }),
    ),
    form: IdFilter('Id of the dispatch form.'),
    project: IdFilter('Id of the dispatch project.'),
    agent: IdFilter('Id of an agent that was a recipient.'),
  })
