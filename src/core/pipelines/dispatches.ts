// The resource dispatches.
import { Agent } from '../../../schemas/agents.js'
import { Dispatch, DispatchListItem, DispatchListQuery, dispatchStatusFilter } from '../../../schemas/dispatches.js'
import { Form } from '../../../schemas/forms.js'
import { select } from '../../../schemas/kit.js'
import { DispatchProject } from '../../../schemas/projects.js'
import { DispatchUser } from '../../../schemas/users.js'
import { authorReferences, embed, embedAuthors } from './joins.js'
import { defineResource, equal } from './resource.js'
import type { Expression, Stage } from './stages.js'

/** The field, or an empty array if it is missing or null. The writer reports other values that are no arrays. */
const orEmpty = (field: string): Expression => ({ $ifNull: [`$${field}`, []] })

/** Replaces each id in the array `field` by an object that holds it. */
const idObjects = (field: string): Stage => {
  const objects: Expression = { $map: { input: `$${field}`, in: { _id: '$$this' } } }
  return { $set: { [field]: { $cond: [{ $isArray: `$${field}` }, objects, orEmpty(field)] } } }
}

const recipientsField = 'recipients.agents'
const agentGroups = idObjects('recipients.agentGroups')

export const dispatches = defineResource<DispatchListQuery>({
  collection: 'dispatches',
  name: 'dispatch',
  article: 'a',
  tag: { name: 'Dispatches', description: 'A form sent to recipient agents' },
  descriptions: {
    list: 'Dispatches with their recipients as ids; `totalExpectedEntries` is here and not in the dispatch by id. To find the dispatches of a project or of a form, filter by `project` or `form`. `agent` finds the dispatches that name the agent, not those that name a group of the agent.',
    get: 'A dispatch with its instructions, and with its form, its project and its recipients in full. Recipients that no longer exist are left out.',
  },
  query: DispatchListQuery,
  filters: {
    ...equal('dispatchType', 'name', 'form', 'project'),
    status: (status) => ({ status: dispatchStatusFilter[status] }),
    agent: (agent) => ({ 'recipients.agents': agent }),
  },
  item: {
    schema: DispatchListItem,
    stages: { recipients: () => [idObjects(recipientsField), agentGroups] },
    references: [authorReferences(DispatchUser)],
    joined: {
      form: { from: 'forms', shown: select(Form, ['name']) },
      project: { from: 'projects', shown: select(DispatchProject, ['name']) },
    },
  },
  record: {
    schema: Dispatch,
    stages: {
      recipients: () => [{ $set: { [recipientsField]: orEmpty(recipientsField) } }, agentGroups],
      form: embed('forms'),
      project: embed('projects'),
      ...embedAuthors,
    },
    // There may be thousands of recipients. A $lookup returns them in the collection's order, and an expression that
    // restores the order of the dispatch takes quadratic time.
    references: [{ from: 'agents', fields: [recipientsField], shown: Agent }],
  },
})
