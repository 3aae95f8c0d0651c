// All resources, in the order of the documentation. Those with more than their fields have files of their own.
import { Agent, AgentListQuery } from '../../../schemas/agents.js'
import { Form, FormListQuery } from '../../../schemas/forms.js'
import { Project, ProjectListItem, ProjectListQuery } from '../../../schemas/projects.js'
import { User, UserListQuery } from '../../../schemas/users.js'
import type { RecordCollection } from '../documents/collections.js'
import { dispatches } from './dispatches.js'
import { entries } from './entries.js'
import { addDispatches, authorReferences, embedAuthors } from './joins.js'
import { defineResource, equal, type Resource } from './resource.js'

const projects = defineResource<ProjectListQuery>({
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

const forms = defineResource<FormListQuery>({
  collection: 'forms',
  name: 'form',
  article: 'a',
  tag: { name: 'Forms', description: 'What dispatches send and entries answer' },
  descriptions: {
    list: 'Forms by their names and sectors, without their questions: an answer carries its own question.',
    get: 'A form, with the same fields as in the list.',
  },
  query: FormListQuery,
  filters: equal('name', 'status'),
  item: { schema: Form },
  record: { schema: Form },
})

const agents = defineResource<AgentListQuery>({
  collection: 'agents',
  name: 'agent',
  article: 'an',
  tag: { name: 'Agents', description: 'Who receives dispatches and submits entries' },
  descriptions: {
    list: 'Agents with their e-mail address and phone number, which are personal data. To read the agents of some entries at once, use `ids`.',
    get: 'An agent, with the same fields as in the list.',
  },
  query: AgentListQuery,
  filters: equal('status'),
  item: { schema: Agent },
  record: { schema: Agent },
})

const users = defineResource<UserListQuery>({
  collection: 'users',
  name: 'user',
  article: 'a',
  tag: { name: 'Users', description: 'The admins, who create dispatches and projects' },
  descriptions: {
    list: 'Users with their role and e-mail address, which is personal data.',
    get: 'A user, with the same fields as in the list.',
  },
  query: UserListQuery,
  filters: equal('status'),
  item: { schema: User },
  record: { schema: User },
})

export const resources: { readonly [C in RecordCollection]: Resource } = {
  dispatches,
  projects,
  entries,
  forms,
  agents,
  users,
}
