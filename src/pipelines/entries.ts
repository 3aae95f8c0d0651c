// The queries of listEntries and getEntry. They are pure functions, without I/O.
import { Entry, EntryListItem, type EntryListQuery } from '../../schemas/entries.js'
import { embedAgent, embedDispatch, embedForm, embedProject } from './joins.js'
import { conditions, type FiltersFor, pick, Query, type Scope, sortedPage } from './stages.js'

const filters: FiltersFor<EntryListQuery> = {
  dispatch: (dispatch) => ({ dispatch }),
  form: (form) => ({ form }),
  project: (project) => ({ project }),
  agent: (agent) => ({ agent }),
  status: (status) => ({ status }),
}

const listFields = pick(EntryListItem)
const fields = pick(Entry)

export const listEntries = (scope: Scope, listing: EntryListQuery): Query =>
  Query.in(scope, 'entries', conditions(filters, listing), [...sortedPage(listing), listFields])

export const getEntry = (scope: Scope, id: string): Query =>
  Query.in(
    scope,
    'entries',
    [{ _id: id }],
    [...embedDispatch(scope), ...embedForm(scope), ...embedProject(scope), ...embedAgent(scope), fields],
  )
