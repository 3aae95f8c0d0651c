// What tests know of the resources besides their declarations, for every test that goes through all of them.
import { type TObject, type TSchema, Type } from '@sinclair/typebox'
import { paging, sorting } from '../../schemas/common.js'
import type { RecordCollection } from '../../src/core/documents/collections.js'
import { resources as declared } from '../../src/core/pipelines/index.js'
import type { Resource as Declared } from '../../src/core/pipelines/resource.js'
import type { Query, Scope } from '../../src/core/pipelines/stages.js'
import { listQuery, recordQuery } from './queries.js'
import type { tenant } from './tenants.js'

/** A record of each resource that an organisation has. */
const idOf: Record<RecordCollection, (organisation: ReturnType<typeof tenant>) => string> = {
  dispatches: ({ dispatch }) => dispatch(1)._id,
  projects: ({ project }) => project(1)._id,
  entries: ({ entry }) => entry(1)._id,
  forms: ({ form }) => form._id,
  agents: ({ agent }) => agent(1)._id,
  users: ({ user }) => user._id,
}

const limits = { page: 1, perPage: 50, maxPerPage: 1000 }

export type ResourceName = RecordCollection

export interface Resource extends Omit<Declared, 'query'> {
  /** The parameters of its list. */
  readonly query: TObject
  readonly idOf: (organisation: ReturnType<typeof tenant>) => string
  /** The query of its list by some parameters, and that of a record by its id. */
  readonly list: (scope: Scope, parameters?: object) => Query
  readonly get: (scope: Scope, id: string) => Query
}

export const eachResource = (Object.keys(declared) as ResourceName[]).map((name): [ResourceName, Resource] => [
  name,
  {
    ...declared[name],
    query: declared[name].query(limits),
    idOf: idOf[name],
    list: (scope, parameters) => listQuery(declared[name], scope, parameters),
    get: (scope, id) => recordQuery(declared[name], scope, id),
  },
])

/** By their names in paths. */
export const resources = Object.fromEntries(eachResource) as Record<ResourceName, Resource>

/** The parameters of a list that are no filters. */
const notFilters = [
  ...Object.keys({ ...paging(limits), ...sorting('', Type.Object({}), []) }),
  'fields',
  'expand',
  'embed',
  'answers',
  'unreadable',
]

/** The filters of a list, each with its schema. */
export const filtersOf = ({ properties }: TObject): [string, TSchema][] =>
  Object.entries(properties).filter(([name]) => !notFilters.includes(name))

const isTime = ({ format }: TSchema): boolean => format === 'date-time'

/** Whether a filter is an end of a range of times or ids. It is served by an index only with the sort of its field. */
export const isRange = (name: string, schema: TSchema): boolean => isTime(schema) || ['idFrom', 'idTo'].includes(name)

/** The filters that no index serves in an order of the list. That of boxes on the map only finds the records. */
export const unserved = ['bbox', 'country', 'lga', 'city', 'answered']

/** The same, and that of ids, which finds at most 100 records. */
export const isUnordered = (name: string): boolean => ['ids', ...unserved].includes(name)

/** A value that a filter takes: one of its words, or else the text in the form that the filter has. */
export const filterValue = (schema: TSchema, text = 'x'): unknown => {
  if (isTime(schema)) return new Date(0)
  if (schema.format === 'bbox') return { west: -180, south: -90, east: 180, north: 90 }
  if (schema.items?.format === 'answered') return [{ key: '0123456789ab', question: text, answer: text }]
  return schema.type === 'array' ? [text] : (schema.enum?.[0] ?? text)
}
