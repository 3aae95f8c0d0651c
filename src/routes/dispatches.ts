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
    query: DispatchListQuery(limits),
    item: DispatchListItem,
    pipeline: listDispatches,
  })
  getOperation(app, {
    operationId: 'getDispatch',
    url: '/dispatches/:id',
    tag: 'Dispatches',
    summary: 'Get a dispatch by its id',
    resource: Dispatch,
    pipeline: getDispatch,
  })
}
