// The queries of listProjects and getProject. They are pure functions, without I/O.
import { Project, type ProjectListQuery } from '../../schemas/projects.js'
import { User } from '../../schemas/users.js'
import { addDispatches, authorFields, authorReferences, embedAuthors } from './joins.js'
import { chosen, common, shows } from './lists.js'
import { conditions, type FiltersFor, pick, Query, type Scope, sortedPage } from './stages.js'

const filters: FiltersFor<ProjectListQuery> = {
  name: (name) => ({ name }),
  ...common,
}

const listFields = pick(Project, authorFields)
const fields = pick(Project)
const userFields = pick(User)

export const listProjects = (scope: Scope, listing: ProjectListQuery): Query => {
  const dispatches = shows(listing, 'dispatches') ? addDispatches(scope) : []
  const stages = [...sortedPage(listing), ...dispatches, chosen(listFields, listing)]
  return Query.in(scope, 'projects', conditions(filters, listing), stages, [authorReferences(scope, userFields)])
}

export const getProject = (scope: Scope, id: string): Query =>
  Query.in(scope, 'projects', [{ _id: id }], [...addDispatches(scope), ...embedAuthors(scope), fields])
