// The resources of the service, for every test that goes through all of them. A new resource is added here once.
import type { TObject, TSchema } from '@sinclair/typebox'
import { paging, sorting } from '../../schemas/common.js'
import { Dispatch, DispatchListItem, DispatchListQuery } from '../../schemas/dispatches.js'
import { Entry, EntryListItem, EntryListQuery } from '../../schemas/entries.js'
import { Project, ProjectListQuery } from '../../schemas/projects.js'
import { getDispatch, listDispatches } from '../../src/pipelines/dispatches.js'
import { getEntry, listEntries } from '../../src/pipelines/entries.js'
import { getProject, listProjects } from '../../src/pipelines/projects.js'
import type { Query, Scope } from '../../src/pipelines/stages.js'
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
} satisfies Record<string, Resource>

export type ResourceName = keyof typeof resources

export const eachResource = Object.entries(resources) as [ResourceName, Resource][]

/** The parameters of a list that are filters. */
export const filtersOf = ({ properties }: TObject): Record<string, TSchema> => {
  const others = Object.keys({ ...paging(limits), ...sorting([]) })
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !others.includes(name)))
}
