// Queries of the service as its operations make them: of some rows of a list, and of a record by its id.
import type { Listing } from '../../schemas/common.js'
import type { Resource } from '../../src/core/pipelines/resource.js'
import type { Query, Scope, Slice } from '../../src/core/pipelines/stages.js'
import { projectionOf } from '../../src/core/read/projection.js'
import { rowsQuery, selectionOf } from '../../src/core/read/selection.js'

/** The parameters of a list as the service completes them. */
export const listing = (parameters: object = {}): Listing & Readonly<Record<string, unknown>> => ({
  ...{ sortBy: 'id', sortOrder: 'asc', page: 1, perPage: 50 },
  ...parameters,
})

/** The query of the page with the number `page`, or of a slice. */
export const listQuery = (
  resource: Pick<Resource, keyof Resource>,
  scope: Scope,
  parameters: object = {},
  slice?: Slice & { readonly isBackward?: boolean },
): Query => {
  const { page, perPage } = listing(parameters)
  const selection = selectionOf(resource, scope.without, listing(parameters))
  const { field, direction } = selection.order
  const { isBackward = false, ...some } = slice ?? { skip: (page - 1) * perPage, limit: perPage }
  return rowsQuery(scope, selection, { field, direction: isBackward ? (-direction as 1 | -1) : direction }, some)
}

export const recordQuery = (resource: Resource, scope: Scope, id: string): Query =>
  projectionOf(resource, scope.without, {}, 'record').query(scope, [{ _id: id }], [])
