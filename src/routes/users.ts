// GET /v1/users and GET /v1/users/:id.
import type { FastifyInstance } from 'fastify'
import type { PageLimits } from '../../schemas/common.js'
import { User, UserListQuery } from '../../schemas/users.js'
import { getUser, listUsers } from '../pipelines/users.js'
import { getOperation, listOperation } from './operations.js'

export const userRoutes = (app: FastifyInstance, limits: PageLimits): void => {
  listOperation(app, {
    operationId: 'listUsers',
    url: '/users',
    tag: 'Users',
    summary: 'Get users',
    description: 'Users with their role and e-mail address, which is personal data.',
    query: UserListQuery(limits),
    item: User,
    pipeline: listUsers,
  })
  getOperation(app, {
    operationId: 'getUser',
    url: '/users/:id',
    tag: 'Users',
    summary: 'Get a user by its id',
    description: 'A user, with the same fields as in the list.',
    resource: User,
    pipeline: getUser,
  })
}
