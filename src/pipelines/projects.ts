// The queries of listProjects and getProject. They are pure functions, without I/O.
import { Project, type ProjectListQuery } from '../../schemas/projects.js'
import { ProjectUser } from '../../schemas/users.js'
import { addDispatches, authorFields, authorReferences, embedAuthors } from './joins.js'
import { conditions, type FiltersFor, pick, Query, type Scope, sortedPage } from './stages.js'

const filters: FiltersFor<ProjectListQuery> = {
  name: (name) => ({ name }),
}

const listFields = pick(Project, authorFields)
const fields = pick(Project)
const userFields = pick(ProjectUser)

export const listProjects = (scope: Scope, listing: ProjectListQuery): Query => {
  const stages = [...sortedPage(listing), ...addDispatches(scope), listFields]
  return Query.in(scope, 'projects', conditions(filters, listing), stages, authorReferences(scope, userFields))
}

export const getProject = (scope: Scope, id: string): Query =>
  Query.in(scope, 'projects', [{ _id: id }], [...addDispatches(scope), ...embedAuthors(scope), fields])
