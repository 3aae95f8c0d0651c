// Registers the paths of all resources, with their paging defaults, and the path of the key.
import type { FastifyInstance } from 'fastify'
import { resources } from '../pipelines/index.js'
import { exportRoutes } from './exports.js'
import { meRoutes } from './me.js'
import { ogcRoutes } from './ogc.js'
import { getOperation, listOperation } from './operations.js'
import { summaryRoutes } from './summaries.js'
import { syncRoutes } from './sync.js'

export const resourceRoutes = (app: FastifyInstance): void => {
  const { maxPerPage, projectDefaults } = app.config
  const usual = { page: 1, perPage: 50, maxPerPage }
  // The contract states the defaults of projects the other way round.
  const literal = { page: 50, perPage: 1, maxPerPage }
  for (const resource of Object.values(resources)) {
    listOperation(app, resource, resource === resources.projects && projectDefaults === 'literal' ? literal : usual)
    getOperation(app, resource)
  }
  exportRoutes(app)
  summaryRoutes(app)
  syncRoutes(app)
  ogcRoutes(app)
  meRoutes(app)
}
