// The resource projects.
import { Project, ProjectListItem, ProjectListQuery } from '../../../schemas/projects.js'
import { User } from '../../../schemas/users.js'
import { addDispatches, authorReferences, embedAuthors } from './joins.js'
import { defineResource, equal } from './resource.js'

export const projects = defineResource<ProjectListQuery>({
  collection: 'projects',
  name: 'project',
  article: 'a',
  tag: { name: 'Projects', description: 'Groups of dispatches' },
  descriptions: {
    list: 'Projects with the ids of their dispatches. The dispatches of a project can be many: to read them page by page, list the dispatches with the filter `project`.',
    get: 'A project, with the same fields as in the list.',
  },
  query: ProjectListQuery,
  filters: equal('name'),
  item: { schema: ProjectListItem, stages: { dispatches: addDispatches }, references: [authorReferences(User)] },
  record: { schema: Project, stages: { dispatches: addDispatches, ...embedAuthors } },
})
