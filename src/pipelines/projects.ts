// What listProjects and getProject read. Pure: no driver, no I/O.
import { Project, type ProjectListQuery } from '../../schemas/projects.js'
import { ProjectUser } from '../../schemas/users.js'
import { addDispatches, authorReferences, embedAuthors } from './joins.js'
import { conditions, type FiltersFor, pick, Query, type Scope, sortedPage } from './stages.js'

const filters: FiltersFor<ProjectListQuery> = {
  name: (name) => ({ name }),
}

export const listProjects = (scope: Scope, listing: ProjectListQuery): Query => {
  const authors = authorReferences(scope, ProjectUser)
  const stages = [...sortedPage(listing), ...addDispatches(scope), pick(Project, authors)]
  return Query.in(scope, 'projects', conditions(filters, listing), stages, authors)
}

export const getProject = (scope: Scope, id: string): Query =>
  Query.in(scope, 'projects', [{ _id: id }], [...addDispatches(scope), ...embedAuthors(scope), pick(Project)])
