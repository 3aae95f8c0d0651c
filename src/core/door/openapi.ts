// The OpenAPI 3.1 document, generated from the schemas of the routes.
import swagger from '@fastify/swagger'
import type { TObject, TSchema } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { namedSchemas } from '../../../schemas/index.js'
import { annotationOf } from '../../../schemas/kit.js'
import { resources } from '../pipelines/index.js'
import type { Tag } from './capability.js'
import { withComponents } from './openapi-components.js'

/** The numbers of a box. The service reads them as one text, which is how they are sent. */
const BOX = { type: 'array', items: { type: 'number' }, minItems: 4, maxItems: 6 }

/**
 * A query as the document shows it. A parameter that must not be given with another has no default, because Swagger UI
 * would send the default with every request. Its description names the default.
 */
const shownQuery = (query: TObject): TObject => {
  const properties = { ...query.properties }
  for (const name of Object.values(properties).flatMap((schema) => annotationOf(schema).excludes ?? [])) {
    const { default: _, ...parameter } = properties[name] as TSchema
    properties[name] = parameter as TSchema
  }
  for (const [name, { format, ...parameter }] of Object.entries(properties)) {
    if (format === 'bbox') properties[name] = { ...parameter, ...BOX } as TSchema
    // The formats of items are known to this service alone, and Swagger UI would look for them in vain.
    if (parameter.items?.format) properties[name] = { ...parameter, items: { type: 'string' } } as TSchema
  }
  return { ...query, properties }
}

const plugin = async (app: FastifyInstance, { tags }: { tags: readonly Tag[] }) => {
  const { publicUrl, contactUrl } = app.config
  const borrowing = tags.flatMap(({ name, hasFiltersOfLists }) => (hasFiltersOfLists ? [name] : []))
  const names = new Intl.ListFormat('en-GB').format(Object.keys(resources))
  for (const schema of namedSchemas.values()) app.addSchema(schema)
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Field data API',
        version: '1.0.0',
        description: `Read-only access to the data of your organisation: ${names}. Every request under /v1 needs the header \`Authorization: Bearer <API_KEY>\`, or HTTP Basic with the key as the password; the key determines the organisation. Errors are problems as RFC 9457 defines them.`,
        ...(contactUrl !== undefined && { contact: { url: contactUrl } }),
      },
      servers: [{ url: publicUrl ?? '/', description: 'This service' }],
      components: {
        securitySchemes: {
          apiKey: { type: 'http', scheme: 'bearer', description: 'The API key of your organisation: fda_…' },
          basic: {
            type: 'http',
            scheme: 'basic',
            description:
              'For programs that know only names and passwords: the key as the password, with any user name, or as the user name with an empty password.',
          },
        },
      },
      security: [{ apiKey: [] }, { basic: [] }],
      tags: [
        ...tags.map(({ name, description }) => ({ name, description })),
        { name: 'Health', description: 'For load balancers and orchestrators; no key is needed' },
      ],
    },
    transform: ({ schema, url }) => ({
      schema: schema.querystring ? { ...schema, querystring: shownQuery(schema.querystring as TObject) } : schema,
      url,
    }),
    transformObject: (described) =>
      withComponents((described as { openapiObject: object }).openapiObject, borrowing) as object,
    convertConstToEnum: false,
    refResolver: { buildLocalReference: ({ $id }) => $id as string },
  })
}
export const openapiPlugin = fp(plugin, { name: 'openapi', fastify: '5.x' })
