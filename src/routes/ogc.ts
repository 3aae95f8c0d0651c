// OGC API - Features (https://ogcapi.ogc.org/features/), parts 1, 3 (queryables) and 5 (schemas): entries as features, for map programs
// such as QGIS, ArcGIS and GDAL. Entries are found as their list finds them.
import type { FastifyInstance, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { IdParams } from '../../schemas/common.js'
import type { EntryListQuery } from '../../schemas/entries.js'
import { ApiDocument, Feature, FeatureCollection, FeaturesQuery, FormatQuery } from '../../schemas/ogc.js'
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
import { mapFeatureWriter } from '../serializer/geojson.js'
import { jsonArray } from '../serializer/json.js'
import { Output } from '../serializer/output.js'
import { writeAll } from '../serializer/rows.js'
import { ogcDocument } from './ogc-document.js'
import { COLLECTION, GEOJSON, JSON_TYPE, linkTo, OPENAPI, type Page, pages } from './ogc-pages.js'
import { linker } from './page-metadata.js'
import { commonProblems, responses, tagged } from './responses.js'

/** What features show of entries: the fields as they are stored. */
const AS_STORED = { embed: 'false' } as const
const featuresFor = ({ without }: Scope) => projectionOf(entries, without, AS_STORED)

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
  for (const { path, response, mediaType = JSON_TYPE, isOfKey = false, body, ...described } of [...pages, api]) {
    const schema = {
      ...described,
      tags: ['OGC API'],
      querystring: FormatQuery,
      response: responses(response, commonProblems, { headers: tagged, types: [mediaType] }),
    }
    const config = { mediaType }
    const make = async (request: FastifyRequest) => Buffer.from(JSON.stringify(await body(rootOf(request), request)))
    const send = fileOf(make, isOfKey ? () => undefined : rootOf)
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
      await runInSlices(writeAll(page.rows, jsonArray(projection.compiled(mapFeatureWriter)), out), ticket.signal)
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
      projection.compiled(mapFeatureWriter)(document, out)
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
  ...(datetime && { sortBy: 'createdAt' }),
  ...(datetime?.from && { createdSince: datetime.from }),
  ...(datetime?.to && { createdBefore: new Date(datetime.to.getTime() + 1) }),
  ...filters,
  perPage: limit,
  cursor,
})
