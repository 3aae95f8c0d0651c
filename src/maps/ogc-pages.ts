// The pages of OGC API - Features: what its one collection is, has and can be asked. They show no entry.
import type { TProperties, TSchema } from '@sinclair/typebox'
import {
  Collection,
  Collections,
  Conformance,
  FeatureParts,
  FeatureSchema,
  LandingPage,
  Queryables,
  queryables,
} from '../../schemas/ogc.js'
import { viewOf } from '../../schemas/views.js'
import type { Reader } from '../core/read/reader.js'
import { extentOf } from './extent.js'

export const JSON_TYPE = 'application/json'
export const GEOJSON = 'application/geo+json'
const JSON_SCHEMA = 'application/schema+json'
export const OPENAPI = 'application/vnd.oai.openapi+json;version=3.0'
const CRS84 = 'http://www.opengis.net/def/crs/OGC/1.3/CRS84'
/** The path of the only collection, behind the path of the landing page. */
export const COLLECTION = '/collections/entries'
const TITLE = 'Field data'
const DESCRIPTION = 'Entries of your organisation, each with the answers that an agent gave to a form.'

const classesOf = (part: string, ...names: string[]) =>
  names.map((name) => `http://www.opengis.net/spec/ogcapi-${part}/1.0/conf/${name}`)
const conformsTo = [
  ...classesOf('features-1', 'core', 'geojson', 'oas30'),
  ...classesOf('features-3', 'queryables', 'queryables-query-parameters'),
  ...classesOf('common-3', 'schemas', 'advanced-property-roles', 'returnables-and-receivables'),
  // The names of the same in drafts of part 5, by which QGIS knows that there is a schema.
  ...classesOf('features-5', 'schemas', 'core-roles-features', 'returnables-and-receivables'),
]

export const linkTo = (href: string, rel: string, type: string, title?: string) => ({ href, rel, type, title })

const collection = async (root: string, reader: Reader) => {
  const self = root + COLLECTION
  return {
    id: 'entries',
    title: 'Entries',
    description: DESCRIPTION,
    itemType: 'feature',
    extent: await extentOf(reader),
    crs: [CRS84],
    links: [
      linkTo(self, 'self', JSON_TYPE, 'This collection'),
      linkTo(`${self}/items`, 'items', GEOJSON, 'The entries'),
      linkTo(`${self}/queryables`, 'http://www.opengis.net/def/rel/ogc/1.0/queryables', JSON_SCHEMA, 'The filters'),
      linkTo(`${self}/schema`, 'http://www.opengis.net/def/rel/ogc/1.0/schema', JSON_SCHEMA, 'The fields'),
      // GDAL 3.6 knows the second spelling alone.
      linkTo(`${self}/schema/geojson`, 'describedby', JSON_SCHEMA, 'A feature'),
      linkTo(`${self}/schema/geojson`, 'describedBy', JSON_SCHEMA, 'A feature'),
    ],
  }
}

const jsonSchema = (address: string, properties: object, more?: object) => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: address,
  title: 'Entries',
  type: 'object',
  properties,
  ...more,
})

/** The geometry and the fields of features in their order, as far as a key sees them. */
const propertiesOf = ({ scope: { without } }: Reader): TProperties => {
  // Without the id, which GDAL has of the feature already: it would add a second column.
  const { id, ...properties } = viewOf(without).shown(FeatureParts).properties
  const inOrder = Object.entries(properties).map(([name, each], i) => [name, { ...each, 'x-ogc-propertySeq': i + 1 }])
  return Object.fromEntries(inOrder)
}

export interface OgcPage {
  /** Behind that address. */
  readonly path: string
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly response: TSchema
  readonly mediaType?: string
  /** @param root the address of the landing page */
  readonly body: (root: string, reader: Reader) => object | Promise<object>
}

export const ogcPages: readonly OgcPage[] = [
  {
    path: '',
    operationId: 'getOgcLandingPage',
    summary: 'Begin with a map program',
    description: 'Give the address of this page to QGIS, ArcGIS or GDAL, with the API key as the password.',
    response: LandingPage,
    body: (root) => ({
      title: TITLE,
      description: DESCRIPTION,
      links: [
        linkTo(root, 'self', JSON_TYPE, 'This page'),
        linkTo(`${root}/api`, 'service-desc', OPENAPI, 'The operations'),
        linkTo(`${root}/conformance`, 'conformance', JSON_TYPE, 'What is met'),
        linkTo(`${root}/collections`, 'data', JSON_TYPE, 'The collections'),
      ],
    }),
  },
  {
    path: '/conformance',
    operationId: 'getOgcConformance',
    summary: 'Get the standards that the map service meets',
    description: 'The classes of requirements of OGC API - Features that the service meets.',
    response: Conformance,
    body: () => ({ conformsTo }),
  },
  {
    path: '/collections',
    operationId: 'getOgcCollections',
    summary: 'Get the collections of features',
    description: 'There is one collection: entries.',
    response: Collections,
    body: async (root, reader) => ({
      links: [linkTo(`${root}/collections`, 'self', JSON_TYPE, 'This page')],
      collections: [await collection(root, reader)],
    }),
  },
  {
    path: COLLECTION,
    operationId: 'getOgcCollection',
    summary: 'Get the collection of entries',
    description: 'What the collection has, and where its items are.',
    response: Collection,
    body: collection,
  },
  {
    path: `${COLLECTION}/queryables`,
    operationId: 'getOgcQueryables',
    summary: 'Get the filters of the collection of entries',
    description: 'The parameters that filter items by a property, as JSON Schema.',
    response: Queryables,
    mediaType: JSON_SCHEMA,
    body: (root) => jsonSchema(`${root}${COLLECTION}/queryables`, queryables, { additionalProperties: false }),
  },
  {
    path: `${COLLECTION}/schema`,
    operationId: 'getOgcSchema',
    summary: 'Get the fields of features',
    description: 'The geometry and the fields that the key sees, as JSON Schema of OGC API - Features, part 5.',
    response: FeatureSchema,
    mediaType: JSON_SCHEMA,
    body: (root, reader) => jsonSchema(`${root}${COLLECTION}/schema`, propertiesOf(reader)),
  },
  {
    path: `${COLLECTION}/schema/geojson`,
    operationId: 'getOgcGeoJsonSchema',
    summary: 'Get the schema of a feature',
    description: 'A feature as GeoJSON has it, as JSON Schema. GDAL and R make the columns of a layer by it.',
    response: FeatureSchema,
    mediaType: JSON_SCHEMA,
    body(root, reader) {
      const { geometry, ...properties } = propertiesOf(reader)
      const feature = { type: { const: 'Feature' }, geometry, properties: { type: 'object', properties } }
      return jsonSchema(`${root}${COLLECTION}/schema/geojson`, feature)
    },
  },
]
