// The OpenAPI 3.1 document, generated from the schemas of the routes, at /openapi.json and /openapi.yaml, and Swagger
// UI at /docs.
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { TObject, TSchema } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { namedSchemas } from '../../schemas/index.js'
import { excludedBy } from '../../schemas/kit.js'
import type { Config } from '../config/config.js'
import { withComponents } from './openapi-components.js'

/** The page may load only its own files, and the images that its style sheet embeds as data URLs. */
const CONTENT_SECURITY_POLICY = {
  'default-src': "'self'",
  'img-src': "'self' data:",
  'style-src': "'self' 'unsafe-inline'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
  'object-src': "'none'",
}

/**
 * A query as the document shows it. A parameter that must not be given with another has no default, because Swagger UI
 * would send the default with every request. Its description names the default.
 */
const shownQuery = (query: TObject): TObject => {
  const properties = { ...query.properties }
  for (const name of Object.values(properties).flatMap(excludedBy)) {
    const { default: _, ...parameter } = properties[name] as TSchema
    properties[name] = parameter as TSchema
  }
  return { ...query, properties }
}

export const openapiPlugin = fp(
  async (app: FastifyInstance, { publicUrl, contactUrl }: Pick<Config, 'publicUrl' | 'contactUrl'>) => {
    for (const schema of namedSchemas.values()) app.addSchema(schema)
    await app.register(swagger, {
      openapi: {
        openapi: '3.1.0',
        info: {
          title: 'Field data API',
          version: '1.0.0',
          description:
            'Read-only access to the data of your organisation: dispatches, projects, entries, forms, agents and users. Every request under /v1 needs the header `Authorization: Bearer <API_KEY>`; the key determines the organisation. Errors are problems as RFC 9457 defines them.',
          ...(contactUrl !== undefined && { contact: { url: contactUrl } }),
        },
        // Relative, so that "Try it out" works at any address under which the page is opened.
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
          { name: 'Forms', description: 'What dispatches send and entries answer' },
          { name: 'Agents', description: 'Who receives dispatches and submits entries' },
          { name: 'Users', description: 'The admins, who create dispatches and projects' },
          { name: 'Sync', description: 'Changes since the last run, and digests to check a copy' },
          { name: 'Key', description: 'What the key of a request may read' },
          { name: 'Health', description: 'For load balancers and orchestrators; no key is needed' },
        ],
      },
      transform: ({ schema, url }) => ({
        schema: schema.querystring ? { ...schema, querystring: shownQuery(schema.querystring as TObject) } : schema,
        url,
      }),
      transformObject: (described) => withComponents((described as { openapiObject: object }).openapiObject) as object,
      convertConstToEnum: false,
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
      let json: string | undefined
      docs.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) => {
        json ??= JSON.stringify(app.swagger())
        return reply.type('application/json; charset=utf-8').send(json)
      })
      docs.get('/openapi.yaml', { schema: { hide: true } }, async (_request, reply) =>
        reply.type('application/yaml; charset=utf-8').send(app.swagger({ yaml: true })),
      )
    })
  },
  { name: 'openapi', fastify: '5.x' },
)
