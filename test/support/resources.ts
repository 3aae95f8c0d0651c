// The resources of the service, for every test that goes through all of them. A new resource is added here once.
import type { TObject, TSchema } from '@sinclair/typebox'
import { Agent, AgentListQuery } from '../../schemas/agents.js'
import { paging, sorting } from '../../schemas/common.js'
import { Dispatch, DispatchListItem, DispatchListQuery } from '../../schemas/dispatches.js'
import { Entry, EntryListItem, EntryListQuery } from '../../schemas/entries.js'
import { Form, FormListQuery } from '../../schemas/forms.js'
import { Project, ProjectListQuery } from '../../schemas/projects.js'
import { User, UserListQuery } from '../../schemas/users.js'
import { getAgent, listAgents } from '../../src/pipelines/agents.js'
import { getDispatch, listDispatches } from '../../src/pipelines/dispatches.js'
import { getEntry, listEntries } from '../../src/pipelines/entries.js'
import { getForm, listForms } from '../../src/pipelines/forms.js'
import { getProject, listProjects } from '../../src/pipelines/projects.js'
import type { Query, Scope } from '../../src/pipelines/stages.js'
import { getUser, listUsers } from '../../src/pipelines/users.js'
import type { tenant } from './tenants.js'

export interface Resource {
  /** The parameters of its list. */
  readonly query: TObject
  /** What its list shows of each record, and the record by its id. */
  readonly item: TObject
  readonly record: TObject
  readonly list: (scope: Scope, listing: never) => Query
  readonly get: (scope: Scope, id: string) => Query
  /** A record of it that an organisation has. */
  readonly idOf: (organisation: ReturnType<typeof tenant>) => string
}

const limits = { page: 1, perPage: 50, maxPerPage: 1000 }

/** By their names in paths. */
export const resources = {
  dispatches: {
    query: DispatchListQuery(limits),
    item: DispatchListItem,
    record: Dispatch,
    list: listDispatches,
    get: getDispatch,
    idOf: ({ dispatch }) => dispatch(1)._id,
  },
  projects: {
    query: ProjectListQuery(limits),
    item: Project,
    record: Project,
    list: listProjects,
    get: getProject,
    idOf: ({ project }) => project(1)._id,
  },
  entries: {
    query: EntryListQuery(limits),
    item: EntryListItem,
    record: Entry,
    list: listEntries,
    get: getEntry,
    idOf: ({ entry }) => entry(1)._id,
  },
  forms: {
    query: FormListQuery(limits),
    item: Form,
    record: Form,
    list: listForms,
    get: getForm,
    idOf: ({ form }) => form._id,
  },
  agents: {
    query: AgentListQuery(limits),
    item: Agent,
    record: Agent,
    list: listAgents,
    get: getAgent,
    idOf: ({ agent }) => agent(1)._id,
  },
  users: {
    query: UserListQuery(limits),
    item: User,
    record: User,
    list: listUsers,
    get: getUser,
    idOf: ({ user }) => user._id,
  },
} satisfies Record<string, Resource>

export type ResourceName = keyof typeof resources

export const eachResource = Object.entries(resources) as [ResourceName, Resource][]

/** The parameters of a list that are no filters. */
const notFilters = [...Object.keys({ ...paging(limits), ...sorting('', []) }), 'fields', 'expand']

/** The filters of a list, each with its schema. */
export const filtersOf = ({ properties }: TObject): [string, TSchema][] =>
  Object.entries(properties).filter(([name]) => !notFilters.includes(name))

const isTime = ({ format }: TSchema): boolean => format === 'date-time'

/** Whether a filter is an end of a range of times or ids. It is served by an index only with the sort of its field. */
export const isRange = (name: string, schema: TSchema): boolean => isTime(schema) || ['idFrom', 'idTo'].includes(name)

/** A value that a filter takes: one of its words, or else the text in the form that the filter has. */
export const filterValue = (schema: TSchema, text = 'x'): unknown => {
  if (isTime(schema)) return new Date(0)
  return schema.type === 'array' ? [text] : (schema.enum?.[0] ?? text)
}
