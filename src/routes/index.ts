// The routes of all resources, with their paging defaults.
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/config.js'
import { agentRoutes } from './agents.js'
import { dispatchRoutes } from './dispatches.js'
import { entryRoutes } from './entries.js'
import { formRoutes } from './forms.js'
import { meRoutes } from './me.js'
import { projectRoutes } from './projects.js'
import { syncRoutes } from './sync.js'
import { userRoutes } from './users.js'

export const resourceRoutes = (app: FastifyInstance, config: Config): void => {
  const { maxPerPage, projectDefaults } = config
  const usual = { page: 1, perPage: 50, maxPerPage }
  // The contract states the defaults of projects the other way round.
  const literal = { page: 50, perPage: 1, maxPerPage }
  dispatchRoutes(app, usual)
  projectRoutes(app, projectDefaults === 'literal' ? literal : usual)
  entryRoutes(app, usual)
  formRoutes(app, usual)
  agentRoutes(app, usual)
  userRoutes(app, usual)
  syncRoutes(app, config)
  meRoutes(app)
}
