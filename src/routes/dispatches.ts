// GET /v1/dispatches and GET /v1/dispatches/:id.
import type { FastifyInstance } from 'fastify'
import type { PageLimits } from '../../schemas/common.js'
import { Dispatch, DispatchListItem, DispatchListQuery } from '../../schemas/dispatches.js'
import { getDispatch, listDispatches } from '../pipelines/dispatches.js'
import { getOperation, listOperation } from './operations.js'

export const dispatchRoutes = (app: FastifyInstance, limits: PageLimits): void => {
  listOperation(app, {
    operationId: 'listDispatches',
    url: '/dispatches',
    tag: 'Dispatches',
    summary: 'Get dispatches',
    description:
      'Dispatches with their recipients as ids; `totalExpectedEntries` is here and not in the dispatch by id. To find the dispatches of a project or of a form, filter by `project` or `form`. `agent` finds the dispatches that name the agent, not those that name a group of the agent.',
    query: DispatchListQuery(limits),
    item: DispatchListItem,
    pipeline: listDispatches,
  })
  getOperation(app, {
    operationId: 'getDispatch',
    url: '/dispatches/:id',
    tag: 'Dispatches',
    summary: 'Get a dispatch by its id',
    description:
      'A dispatch with its instructions, and with its form, its project and its recipients in full. Recipients that no longer exist are left out.',
    resource: Dispatch,
    pipeline: getDispatch,
  })
}
