// GET /v1/projects and GET /v1/projects/:id.
import type { FastifyInstance } from 'fastify'
import type { PageLimits } from '../../schemas/common.js'
import { Project, ProjectListQuery } from '../../schemas/projects.js'
import { getProject, listProjects } from '../pipelines/projects.js'
import { getOperation, listOperation } from './operations.js'

export const projectRoutes = (app: FastifyInstance, limits: PageLimits): void => {
  listOperation(app, {
    operationId: 'listProjects',
    url: '/projects',
    tag: 'Projects',
    summary: 'Get projects',
    query: ProjectListQuery(limits),
    item: Project,
    pipeline: listProjects,
  })
  getOperation(app, {
    operationId: 'getProject',
    url: '/projects/:id',
    tag: 'Projects',
    summary: 'Get a project by its id',
    resource: Project,
    pipeline: getProject,
  })
}
