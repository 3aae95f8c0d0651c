// The queries of listEntries and getEntry. They are pure functions, without I/O.
import { Entry, EntryListItem, type EntryListQuery } from '../../schemas/entries.js'
import { embedAgent, embedDispatch, embedForm, embedProject, entryReferences } from './joins.js'
import { chosen, common } from './lists.js'
import { conditions, type FiltersFor, pick, Query, type Scope, sortedPage } from './stages.js'

const filters: FiltersFor<EntryListQuery> = {
  dispatch: (dispatch) => ({ dispatch }),
  form: (form) => ({ form }),
  project: (project) => ({ project }),
  agent: (agent) => ({ agent }),
  status: (status) => ({ status }),
  ...common,
}

const listFields = pick(EntryListItem)
const fields = pick(Entry)

export const listEntries = (scope: Scope, listing: EntryListQuery): Query =>
  Query.in(
    scope,
    'entries',
    conditions(filters, listing),
    [...sortedPage(listing), chosen(listFields, listing)],
    entryReferences(scope, new Set(listing.expand)),
  )

export const getEntry = (scope: Scope, id: string): Query =>
  Query.in(
    scope,
    'entries',
    [{ _id: id }],
    [...embedDispatch(scope), ...embedForm(scope), ...embedProject(scope), ...embedAgent(scope), fields],
  )
