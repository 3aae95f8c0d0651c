// The OpenAPI 3.1 document, generated from the schemas of the routes, and Swagger UI at /docs.
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { namedSchemas } from '../../schemas/index.js'

/** What the page may load: its own files, and the images that stand in its style sheet. */
const CONTENT_SECURITY_POLICY = {
  'default-src': "'self'",
  'img-src': "'self' data:",
  'style-src': "'self' 'unsafe-inline'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
  'object-src': "'none'",
}

export const openapiPlugin = fp(
  async (app: FastifyInstance, { publicUrl }: { publicUrl: string | undefined }) => {
    for (const schema of namedSchemas.values()) app.addSchema(schema)
    await app.register(swagger, {
      openapi: {
        openapi: '3.1.0',
        info: {
          title: 'Field data API',
          version: '1.0.0',
          description:
            'Read-only access to the dispatches, projects and entries of your organisation. Every request under /v1 carries the header `Authorization: Bearer <API_KEY>`; the key tells the organisation. Errors are problems of RFC 9457.',
        },
        // Relative, so that "Try it out" works at whatever address the page was opened.
        servers: [{ url: publicUrl === undefined ? '/' : new URL(publicUrl).pathname, description: 'This service' }],
        components: {
          securitySchemes: {
            apiKey: { type: 'http', scheme: 'bearer', description: 'The API key of your organisation: fda_…' },
          },
        },
        security: [{ apiKey: [] }],
        tags: [
          { name: 'Dispatches', description: 'A form sent to recipient agents' },
          { name: 'Projects', description: 'Groups of dispatches' },
          { name: 'Entries', description: 'Answers to the form of a dispatch' },
          { name: 'Health', description: 'For what runs the service; no key is needed' },
        ],
      },
      refResolver: { buildLocalReference: ({ $id }) => $id as string },
    })
    await app.register(async (docs) => {
      docs.addHook('onRequest', (_request, reply, next) => {
        reply.header('x-content-type-options', 'nosniff')
        next()
      })
      await docs.register(swaggerUi, {
        routePrefix: '/docs',
        uiConfig: { layout: 'BaseLayout', docExpansion: 'list', persistAuthorization: true, tryItOutEnabled: true },
        staticCSP: CONTENT_SECURITY_POLICY,
        theme: { title: 'Field data API' },
      })
    })
  },
  { name: 'openapi', fastify: '5.x' },
)
