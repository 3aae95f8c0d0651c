// OGC API - Features: what its responses and parameters are. Entries are its one collection.
import { type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { exampleIds } from './common.js'
import { EntryListItem, EntryLocation, entryFilters } from './entries.js'
import { capped, defaulted, filter, flat, literals, place, strict } from './kit.js'

const Link = Type.Object(
  {
    href: Type.String({ format: 'uri', description: 'Absolute URL.' }),
    rel: Type.String({ description: 'What the link leads to.', examples: ['self'] }),
    type: Type.Optional(Type.String({ description: 'Media type.', examples: ['application/geo+json'] })),
    title: Type.Optional(Type.String({ description: 'A name for people.' })),
  },
  { title: 'OgcLink', description: 'A link (RFC 8288).' },
)
export type Link = Static<typeof Link>
const links = Type.Array(Link, { description: 'Links, among them one to this response.' })

export const LandingPage = Type.Object(
  {
    title: Type.String({ description: 'Name of the service.' }),
    description: Type.String({ description: 'What the service has.' }),
    links,
  },
  { title: 'OgcLandingPage', description: 'Where a map program begins.' },
)

export const Conformance = Type.Object(
  { conformsTo: Type.Array(Type.String({ format: 'uri' }), { description: 'The classes of requirements.' }) },
  { title: 'OgcConformance', description: 'The parts of the standards that the service meets.' },
)

const Extent = Type.Object(
  {
    spatial: Type.Optional(
      Type.Object(
        {
          bbox: Type.Array(Type.Array(Type.Number()), {
            description: 'The box around all places: its west, south, east and north in degrees (WGS 84).',
            examples: [[[2.68, 4.27, 14.68, 13.89]]],
          }),
        },
        { title: 'OgcSpatialExtent', description: 'Where its items are. Not visible to a key without places.' },
      ),
    ),
    temporal: Type.Optional(
      Type.Object(
        {
          interval: Type.Array(Type.Array(Type.String({ format: 'date-time' })), {
            description: 'The first and the last `createdAt`.',
            examples: [[['2024-01-01T00:00:00.000Z', '2024-12-31T23:59:59.999Z']]],
          }),
        },
        { title: 'OgcTemporalExtent', description: 'When its items were created.' },
      ),
    ),
  },
  {
    title: 'OgcExtent',
    description:
      'Where and when its items are. Left out of a collection without items, and where it takes too long to find.',
  },
)

export const Collection = Type.Object(
  {
    id: Type.String({ description: 'Id of the collection.', examples: ['entries'] }),
    title: Type.String({ description: 'Name of the collection.' }),
    description: Type.String({ description: 'What the collection has.' }),
    itemType: Type.String({ description: 'What its items are.', examples: ['feature'] }),
    extent: Type.Optional(Extent),
    crs: Type.Array(Type.String({ format: 'uri' }), { description: 'The coordinate systems of responses.' }),
    links,
  },
  { title: 'OgcCollection', description: 'A collection of features.' },
)

export const Collections = Type.Object(
  { links, collections: Type.Array(Collection, { description: 'The collections.' }) },
  { title: 'OgcCollections', description: 'The collections of features.' },
)

const jsonSchema = (title: string, description: string, properties: string, more: TProperties = {}) =>
  Type.Object(
    {
      title: Type.String({ description: 'Name of the collection.' }),
      type: Type.String({ description: 'What the schema describes.', examples: ['object'] }),
      properties: Type.Unknown({ description: properties }),
      ...more,
    },
    // It also has `$schema` and `$id`, but @fastify/swagger fails at a property called `$id`.
    { title, description, unevaluatedProperties: true },
  )

export const Queryables = jsonSchema(
  'OgcQueryables',
  'The properties by which items can be filtered, as JSON Schema.',
  'The parameters that filter items, each with its schema.',
  { additionalProperties: Type.Boolean({ description: 'Whether other parameters filter items.' }) },
)

export const FeatureSchema = jsonSchema(
  'OgcSchema',
  'What a feature has, as JSON Schema.',
  'What the key sees of a feature, each with its schema.',
)

export const ApiDocument = Type.Object(
  {
    openapi: Type.String({ description: 'The version of OpenAPI.', examples: ['3.0.3'] }),
    info: Type.Unknown({ description: 'About the service.' }),
    paths: Type.Unknown({ description: 'The operations.' }),
  },
  { title: 'OgcApiDocument', description: 'The operations of the collections, as OpenAPI 3.0.' },
)

/** An entry as it is stored. */
export const EntryRecord = Type.Object(flat(EntryListItem))
const { location, ...own } = EntryRecord.properties
const { coordinates, ...whereabouts } = EntryLocation.properties
const named = (prefix: string, properties: TProperties): TProperties =>
  Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [`${prefix}.${name}`, Type.Optional(place(schema as TSchema))]),
  )

/** The fields of an entry. What is inside of its location stands beside the others, because map programs show a table. */
const FeatureProperties = Type.Object(
  {
    ...own,
    // QGIS shows nothing of a value that is not a text or a number.
    answers: Type.String({
      description: 'Answers, in the order of the questions, as the text of a JSON array.',
      examples: [
        '[{"type":"singleChoice","question":"What is your main source of drinking water?","answer":"Borehole"}]',
      ],
    }),
    // GDAL asks for any time of a filter as `datetime`, which is createdAt. It compares texts itself.
    updatedAt: Type.String({
      description: 'When the entry was last changed, as a text: ISO 8601 in UTC with milliseconds, and a small `t`.',
      examples: ['2025-03-14t09:26:53.589Z'],
    }),
    ...named('location', whereabouts),
    ...named('location.coordinates', coordinates.properties),
  },
  { title: 'EntryFeatureProperties', description: 'The fields of the entry.' },
)

/** The geometry and the fields of a feature beside each other, as part 5 of the standard describes them. */
export const FeatureParts: TObject = Type.Object({
  geometry: place(
    Type.Unsafe({
      description: 'Where the entry was made.',
      'x-ogc-role': 'primary-geometry',
      format: 'geometry-point',
    }),
  ),
  ...FeatureProperties.properties,
  createdAt: Type.Unsafe({ ...own.createdAt, 'x-ogc-role': 'primary-instant' }),
})

const Point = Type.Object(
  {
    type: Type.String({ const: 'Point', description: 'Always `Point`.', examples: ['Point'] }),
    coordinates: Type.Array(Type.Number(), {
      minItems: 2,
      maxItems: 2,
      description: 'Longitude and latitude in degrees (WGS 84).',
      examples: [[8.5387, 11.9805]],
    }),
  },
  { title: 'OgcPoint', description: 'A point (RFC 7946).' },
)

const feature = {
  type: Type.String({ const: 'Feature', description: 'Always `Feature`.', examples: ['Feature'] }),
  id: Type.String({ description: 'Id of the entry.', examples: [exampleIds.entry] }),
  geometry: Type.Union([Point, Type.Null()], {
    description: 'Where the entry was made; null if it has no coordinates, or its coordinates are not on the earth.',
  }),
  properties: FeatureProperties,
}
const FeatureItem = Type.Object(feature, { title: 'EntryFeatureItem', description: 'An entry on the map (RFC 7946).' })

export const Feature = Type.Object(
  { ...feature, links },
  { title: 'EntryFeature', description: 'An entry on the map (RFC 7946), with links.' },
)

export const FeatureCollection = Type.Object(
  {
    type: Type.String({ const: 'FeatureCollection', description: 'Always `FeatureCollection`.' }),
    features: Type.Array(FeatureItem, { description: 'The entries of this page.' }),
    links: Type.Array(Link, { description: 'Links to this page and, if there is one, to the next one.' }),
    timeStamp: Type.String({ format: 'date-time', description: 'When the response was made.' }),
    numberReturned: Type.Integer({ description: 'How many features this page has.' }),
  },
  { title: 'EntryFeatureCollection', description: 'A page of entries on the map (RFC 7946).' },
)

/** The parameter of all operations. */
const format = {
  f: filter(
    literals(['json'], {
      title: 'OgcFormat',
      description: 'The format of the response. There is but JSON, so it may be left out.',
    }),
  ),
}
export const FormatQuery = strict(format)

/** The milliseconds from one to another. Both belong to it. Without one, it is open at this end. */
export interface Interval {
  readonly from?: Date
  readonly to?: Date
}

const { bbox, ...filters } = entryFilters
/** The filters by a property of features. */
export const queryables: TProperties = filters

/** How many features a page has by default, as the standard proposes. */
const DEFAULT_LIMIT = 10

export type FeaturesQuery = Static<ReturnType<typeof FeaturesQuery>>
export const FeaturesQuery = (maxPerPage: number) =>
  strict(
    {
      bbox,
      datetime: filter(
        Type.Unsafe<Interval>(
          Type.String({
            format: 'interval',
            description:
              'Only entries that were created at this time, or within this interval: `2025-03-14T09:26:53Z`, `2025-03-01/2025-03-31`, or with an end left open `2025-03-01T00:00:00Z/..`. Both ends belong to it: a day as all of it in UTC, and a time without a fraction as all of its second.',
          }),
        ),
      ),
      limit: defaulted(
        capped(
          Type.Integer({
            minimum: 1,
            maximum: maxPerPage,
            description: 'Page size: the maximum number of features on a page. A larger number stands for the largest.',
          }),
        ),
        DEFAULT_LIMIT,
      ),
      cursor: filter(Type.String({ minLength: 1, description: 'Goes on after a page, as its link `next` has it.' })),
      ...filters,
      ...format,
    },
    { explode: false },
  ) satisfies TObject
