// Every route of the service, the plugins that they have in common, in order, and which of them need a key.
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/config.js'
import type { Keys } from '../keys/keys.js'
import { admissionPlugin } from '../plugins/admission.js'
import { bearerAuthPlugin } from '../plugins/bearer-auth.js'
import { compressionPlugin } from '../plugins/compression.js'
import { jsonOnlyPlugin } from '../plugins/json-only.js'
import { responseBuffersPlugin } from '../plugins/response-buffers.js'
import { dispatchRoutes } from './dispatches.js'
import { entryRoutes } from './entries.js'
import { healthRoutes } from './health.js'
import { projectRoutes } from './projects.js'

export const routes = async (app: FastifyInstance, { config, keys }: { config: Config; keys: Keys }): Promise<void> => {
  const { maxPerPage, projectDefaults, responseMemory } = config
  const usual = { page: 1, perPage: 50, maxPerPage }
  // As the contract states them, the defaults of the two parameters are reversed.
  const literal = { page: 50, perPage: 1, maxPerPage }

  await app.register(jsonOnlyPlugin)
  await app.register(responseBuffersPlugin)
  await app.register(compressionPlugin)
  healthRoutes(app)
  await app.register(
    async (v1) => {
      await v1.register(bearerAuthPlugin, { keys })
      await v1.register(admissionPlugin, { memory: responseMemory })
      dispatchRoutes(v1, usual)
      projectRoutes(v1, projectDefaults === 'literal' ? literal : usual)
      entryRoutes(v1, usual)
    },
    { prefix: '/v1' },
  )
}
