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
    description:
      'Projects with the ids of their dispatches. The dispatches of a project can be many: to read them page by page, list the dispatches with the filter `project`.',
    query: ProjectListQuery(limits),
    item: Project,
    pipeline: listProjects,
  })
  getOperation(app, {
    operationId: 'getProject',
    url: '/projects/:id',
    tag: 'Projects',
    summary: 'Get a project by its id',
    description: 'A project, with the same fields as in the list.',
    resource: Project,
    pipeline: getProject,
  })
}
