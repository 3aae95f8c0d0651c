// The OpenAPI 3.1 document, generated from the schemas of the routes.
import swagger from '@fastify/swagger'
import type { TObject, TSchema } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { namedSchemas } from '../../../schemas/index.js'
import { annotationOf } from '../../../schemas/kit.js'
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

/** A resource, with its part of the document. */
interface Described {
  readonly collection: string
  readonly tag: { name: string; description: string }
}

export const openapiPlugin = fp(
  async (app: FastifyInstance, { resources }: { resources: readonly Described[] }) => {
    const { publicUrl, contactUrl } = app.config
    const names = new Intl.ListFormat('en-GB').format(resources.map(({ collection }) => collection))
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
          ...resources.map(({ tag }) => tag),
          { name: 'Checks', description: 'Which entries and agents need a second look: high-frequency checks' },
          { name: 'Exports', description: 'Whole lists as files: XLSX, CSV, Parquet, GeoJSON and NDJSON' },
          { name: 'Sync', description: 'Changes since the last run, and digests to check a copy' },
          { name: 'OGC API', description: 'Entries as features, for map programs such as QGIS, ArcGIS and GDAL' },
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
  },
  { name: 'openapi', fastify: '5.x' },
)
