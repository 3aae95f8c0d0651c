// The queries of listDispatches and getDispatch. They are pure functions, without I/O.
import { Agent } from '../../schemas/agents.js'
import { Dispatch, DispatchListItem, type DispatchListQuery, dispatchStatusFilter } from '../../schemas/dispatches.js'
import { DispatchUser } from '../../schemas/users.js'
import {
  authorFields,
  authorReferences,
  embedAuthors,
  embedForm,
  embedProject,
  recipientReferences,
  recipientsField,
} from './joins.js'
import { chosen, common, shows } from './lists.js'
import {
  conditions,
  type Expression,
  type FiltersFor,
  pick,
  Query,
  type Scope,
  type Stage,
  sortedPage,
} from './stages.js'

const filters: FiltersFor<DispatchListQuery> = {
  dispatchType: (dispatchType) => ({ dispatchType }),
  name: (name) => ({ name }),
  status: (status) => ({ status: dispatchStatusFilter[status] }),
  form: (form) => ({ form }),
  project: (project) => ({ project }),
  agent: (agent) => ({ 'recipients.agents': agent }),
  ...common,
}

/**
 * The field, or an empty array if it is missing or null. The serializer reports any other value that is not an array.
 */
const orEmpty = (field: string): Expression => ({ $ifNull: [`$${field}`, []] })

/** Replaces each id in the array `field` by an object that holds it. */
const idObjects = (field: string): Stage => ({
  $set: {
    [field]: {
      $cond: [{ $isArray: `$${field}` }, { $map: { input: `$${field}`, in: { _id: '$$this' } } }, orEmpty(field)],
    },
  },
})

const recipientObjects = [idObjects(recipientsField), idObjects('recipients.agentGroups')]
const listFields = pick(DispatchListItem, authorFields)
const fields = pick(Dispatch)
const userFields = pick(DispatchUser)
const agentFields = pick(Agent)

export const listDispatches = (scope: Scope, listing: DispatchListQuery): Query => {
  const recipients = shows(listing, 'recipients') ? recipientObjects : []
  const stages = [...sortedPage(listing), ...recipients, chosen(listFields, listing)]
  return Query.in(scope, 'dispatches', conditions(filters, listing), stages, [authorReferences(scope, userFields)])
}

export const getDispatch = (scope: Scope, id: string): Query =>
  Query.in(
    scope,
    'dispatches',
    [{ _id: id }],
    [
      { $set: { [recipientsField]: orEmpty(recipientsField) } },
      idObjects('recipients.agentGroups'),
      ...embedForm(scope),
      ...embedProject(scope),
      ...embedAuthors(scope),
      fields,
    ],
    [recipientReferences(scope, agentFields)],
  )
