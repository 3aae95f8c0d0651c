// What a request selects of a resource: which records, in which order, and what it sees of each.
import type { Listing } from '../../../schemas/common.js'
import type { Without } from '../../../schemas/views.js'
import type { Resource } from '../pipelines/resource.js'
import { type Condition, type Order, type Query, type Scope, type Slice, sortedSlice } from '../pipelines/stages.js'
import { type Choice, type Projection, projectionOf } from './projection.js'

export interface Selection {
  readonly resource: Resource
  /** By the names of the filters that they come from. */
  readonly conditions: Readonly<Record<string, Condition>>
  readonly order: Order
  readonly projection: Projection
  /** The fields that the caller's scope narrows. */
  readonly within?: readonly string[]
  /** The names of the caller's parameters, if the operation has others than the list. */
  readonly given?: readonly string[]
}

/** What selects records, besides the filters of the resource. */
export type Parameters = Choice & Partial<Pick<Listing, 'sortBy' | 'sortOrder'>>

/** Selects records, without what the caller does not see. Without `sortBy` they are in the order of their ids. */
export const selectionOf = (resource: Resource, without: Without, parameters: Parameters): Selection => {
  const { sortBy = 'id', sortOrder = 'asc' } = parameters
  return {
    resource,
    conditions: resource.conditions(parameters),
    order: { field: sortBy === 'id' ? '_id' : sortBy, direction: sortOrder === 'asc' ? 1 : -1 },
    projection: projectionOf(resource, without, parameters),
  }
}

/** The query of some rows. The sort field tells where a page ends, so it is always read. */
export const rowsQuery = (
  scope: Scope,
  { conditions, projection }: Selection,
  order: Order,
  { range, ...slice }: Slice,
): Query => {
  const all = [...Object.values(conditions), ...(range === undefined ? [] : [range])]
  return projection.query(scope, all, sortedSlice(order, slice), order.field === '_id' ? {} : { [order.field]: 1 })
}
