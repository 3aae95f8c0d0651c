// What listProjects and getProject read. Pure: no driver, no I/O.
import { Project, type ProjectListQuery } from '../../schemas/projects.js'
import { addDispatches, embedAuthors } from './joins.js'
import { conditions, type FiltersFor, pick, Query, type Scope, sortedPage } from './stages.js'

const filters: FiltersFor<ProjectListQuery> = {
  name: (name) => ({ name }),
}

export const listProjects = (scope: Scope, listing: ProjectListQuery): Query =>
  Query.in(scope, 'projects', conditions(filters, listing), [
    ...sortedPage(listing),
    ...addDispatches(scope),
    ...embedAuthors(scope),
    pick(Project),
  ])

export const getProject = (scope: Scope, id: string): Query =>
  Query.in(scope, 'projects', [{ _id: id }], [...addDispatches(scope), ...embedAuthors(scope), pick(Project)])
