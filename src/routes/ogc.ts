// OGC API - Features (https://ogcapi.ogc.org/features/), parts 1 and 3 (queryables): entries as features, for map programs
// such as QGIS, ArcGIS and GDAL. Entries are found as their list finds them.
import type { TSchema } from '@sinclair/typebox'
import type { FastifyInstance, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { IdParams } from '../../schemas/common.js'
import type { EntryListQuery } from '../../schemas/entries.js'
import {
  ApiDocument,
  Collection,
  Collections,
  Conformance,
  Feature,
  FeatureCollection,
  FeaturesQuery,
  FormatQuery,
  type Interval,
  LandingPage,
  Queryables,
  queryables,
} from '../../schemas/ogc.js'
import { runInSlices } from '../limits/work.js'
import { entries } from '../pipelines/entries.js'
import type { Scope } from '../pipelines/stages.js'
import { baseOf } from '../plugins/address.js'
import { fileOf } from '../plugins/page-files.js'
import { problem } from '../problems/problems.js'
import { isLargeListing } from '../reading/cost.js'
import { tokensOf } from '../reading/list-tokens.js'
import { readRecord, sliceReader } from '../reading/listing.js'
import { projectionOf } from '../reading/projection.js'
import { FIRST_CURSOR } from '../reading/token.js'
import { readPage } from '../reading/walk.js'
import { featureWriter } from '../serializer/geojson.js'
import { jsonArray } from '../serializer/json.js'
import { Output } from '../serializer/output.js'
import { writeAll } from '../serializer/rows.js'
import { ogcDocument } from './ogc-document.js'
import { linker } from './page-metadata.js'
import { commonProblems, responses, tagged } from './responses.js'

const JSON_TYPE = 'application/json'
const GEOJSON = 'application/geo+json'
const JSON_SCHEMA = 'application/schema+json'
const OPENAPI = 'application/vnd.oai.openapi+json;version=3.0'
const CRS84 = 'http://www.opengis.net/def/crs/OGC/1.3/CRS84'
/** The path of the only collection, behind the path of the landing page. */
const COLLECTION = '/collections/entries'
const TITLE = 'Field data'
const DESCRIPTION = 'Entries of your organisation, each with the answers that an agent gave to a form.'

const conformsTo = [
  ...['core', 'geojson', 'oas30'].map((name) => `http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/${name}`),
  ...['queryables', 'queryables-query-parameters'].map(
    (name) => `http://www.opengis.net/spec/ogcapi-features-3/1.0/conf/${name}`,
  ),
]

const linkTo = (href: string, rel: string, type: string, title?: string) => ({ href, rel, type, title })

/** What features show of entries: the fields as they are stored. */
const AS_STORED = { embed: 'false' } as const
const featuresFor = ({ without }: Scope) => projectionOf(entries, without, AS_STORED)

const collection = (root: string) => {
  const self = root + COLLECTION
  return {
    id: 'entries',
    title: 'Entries',
    description: DESCRIPTION,
    itemType: 'feature',
    crs: [CRS84],
    links: [
      linkTo(self, 'self', JSON_TYPE, 'This collection'),
      linkTo(`${self}/items`, 'items', GEOJSON, 'The entries'),
      linkTo(`${self}/queryables`, 'http://www.opengis.net/def/rel/ogc/1.0/queryables', JSON_SCHEMA, 'The filters'),
    ],
  }
}

/** An operation whose response depends on nothing but the address of the landing page, which is `root`. */
interface Page {
  /** Behind that address. */
  readonly path: string
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly response: TSchema
  /** Undefined for JSON. */
  readonly mediaType?: string
  readonly body: (root: string) => object
}

const pages: readonly Page[] = [
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
    body: (root) => ({
      links: [linkTo(`${root}/collections`, 'self', JSON_TYPE, 'This page')],
      collections: [collection(root)],
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
    body: (root) => ({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: `${root}${COLLECTION}/queryables`,
      title: 'Entries',
      type: 'object',
      properties: queryables,
      additionalProperties: false,
    }),
  },
]

export const ogcRoutes = (app: FastifyInstance): void => {
  const { publicUrl, maxPerPage } = app.config
  const root = `${app.prefix}/ogc`
  const rootOf = (request: FastifyRequest): string => baseOf(request, publicUrl) + root
  let document: object | undefined
  const api: Page = {
    path: '/api',
    operationId: 'getOgcApi',
    summary: 'Get the description of the map service',
    description: 'These operations as OpenAPI 3.0, which map programs read. It refers to nothing outside of itself.',
    response: ApiDocument,
    mediaType: OPENAPI,
    body: (url) => {
      document ??= ogcDocument(app.swagger(), root)
      return { ...document, servers: [{ url }] }
    },
  }
  for (const { path, response, mediaType = JSON_TYPE, body, ...described } of [...pages, api]) {
    const schema = {
      ...described,
      tags: ['OGC API'],
      querystring: FormatQuery,
      response: responses(response, commonProblems, { headers: tagged, types: [mediaType] }),
    }
    const config = { mediaType }
    const send = fileOf((address) => Buffer.from(JSON.stringify(body(address))), rootOf)
    const handle: RouteHandlerMethod = (request, reply) => send(request, reply.type(mediaType))
    app.get(`/ogc${path}`, { config, schema }, handle)
    // Some programs add a slash to the address that they are given.
    if (path === '') app.get('/ogc/', { config, schema: { ...schema, hide: true } }, handle)
  }

  const operationId = 'getFeatures'
  app.get(
    `/ogc${COLLECTION}/items`,
    {
      config: {
        mediaType: GEOJSON,
        isLarge: ({ query }) => isLargeListing(app.store, entries, listingOf(query as FeaturesQuery)),
      },
      schema: {
        operationId,
        summary: 'Get entries as features',
        description:
          'A page of the entries that match every given filter, as GeoJSON. With `datetime` they are in the order of `createdAt`, else in that of their ids. The link `next` goes on.',
        tags: ['OGC API'],
        querystring: FeaturesQuery(maxPerPage),
        response: responses(FeatureCollection, [...commonProblems, 'invalid_cursor', 'response_too_large'], {
          types: [GEOJSON],
        }),
      },
    },
    async (request, reply) => {
      const { scope, ticket } = request
      const query = request.query as FeaturesQuery
      const listing = listingOf(query)
      const tokens = tokensOf(scope, operationId, listing)
      const projection = featuresFor(scope)
      const given = Object.keys(query).filter((name) => !['limit', 'cursor', 'f'].includes(name))
      const read = sliceReader(app.store, { ...entries, given }, scope, listing, ticket)
      const page = await readPage(listing, tokens.start, read)
      const here = linker(request, baseOf(request, publicUrl))
      const next = page.next?.start && tokens.encode('cursor', page.next.start)
      const links = [
        linkTo(here({ cursor: query.cursor }), 'self', GEOJSON, 'This page'),
        ...(next === undefined ? [] : [linkTo(here({ cursor: next }), 'next', GEOJSON, 'Next page')]),
        linkTo(rootOf(request) + COLLECTION, 'collection', JSON_TYPE),
      ]
      const rest = { links, timeStamp: new Date().toISOString(), numberReturned: page.rows.length }
      const out = new Output()
      out.text('{"type":"FeatureCollection","features":')
      await runInSlices(writeAll(page.rows, jsonArray(projection.compiled(featureWriter)), out), ticket.signal)
      out.text(`,${JSON.stringify(rest).slice('{'.length)}`)
      return reply.type(GEOJSON).send(out.take())
    },
  )

  app.get(
    `/ogc${COLLECTION}/items/:id`,
    {
      config: { mediaType: GEOJSON },
      schema: {
        operationId: 'getFeature',
        summary: 'Get an entry as a feature by its id',
        description:
          'An entry as GeoJSON. An id that another organisation has gets the same response as one that nobody has.',
        tags: ['OGC API'],
        params: IdParams('entry'),
        querystring: FormatQuery,
        response: responses(Feature, [...commonProblems, 'not_found'], { types: [GEOJSON] }),
      },
    },
    async (request, reply) => {
      const { scope, ticket } = request
      const { id } = request.params as { id: string }
      const projection = featuresFor(scope)
      const document = await readRecord(app.store, projection.query(scope, [{ _id: id }], []), ticket)
      if (document === undefined) throw problem('not_found', 'No entry has this id')
      const collection = rootOf(request) + COLLECTION
      const links = [
        linkTo(`${collection}/items/${encodeURIComponent(id)}`, 'self', GEOJSON, 'This entry'),
        linkTo(collection, 'collection', JSON_TYPE),
      ]
      const out = new Output()
      projection.compiled(featureWriter)(document, out)
      out.length -= '}'.length
      out.text(`,${JSON.stringify({ links }).slice('{'.length)}`)
      return reply.type(GEOJSON).send(out.take())
    },
  )
}

const listingOf = ({ f, limit, cursor = FIRST_CURSOR, datetime, ...filters }: FeaturesQuery): EntryListQuery => ({
  ...AS_STORED,
  sortBy: 'id',
  sortOrder: 'asc',
  page: 1,
  ...(datetime && { sortBy: 'createdAt', ...rangeOf(datetime) }),
  ...filters,
  perPage: limit,
  cursor,
})

/** The end of an interval belongs to it, and a filter with `Before` leaves its time out. The database has whole milliseconds. */
const rangeOf = ({ from, to }: Interval): Pick<EntryListQuery, 'createdSince' | 'createdBefore'> => ({
  ...(from && { createdSince: from }),
  ...(to && { createdBefore: new Date(to.getTime() + 1) }),
})
