// GET /v1/ogc: OGC API - Features (https://ogcapi.ogc.org/features/), parts 1, 3 and 5, for programs such as QGIS and GDAL.
import { IdParams } from '../../schemas/common.js'
import type { EntryListQuery } from '../../schemas/entries.js'
import { ApiDocument, Feature, FeatureCollection, FeaturesQuery, FormatQuery } from '../../schemas/ogc.js'
import type { Asked, RowsAnswer } from '../core/door/answer.js'
import type { Capability, Route } from '../core/door/capability.js'
import { commonProblems, tagged } from '../core/door/responses.js'
import { entries } from '../core/pipelines/entries.js'
import { linker } from '../core/read/page.js'
import type { Reader } from '../core/read/reader.js'
import { FIRST_CURSOR, tokensOf } from '../core/read/token.js'
import { mapFeatureWriter } from '../core/write/geojson.js'
import { jsonArray } from '../core/write/json.js'
import type { RowFormat } from '../core/write/rows.js'
import { ogcDocument } from './ogc-document.js'
import { COLLECTION, GEOJSON, JSON_TYPE, linkTo, type OgcPage, OPENAPI, ogcPages } from './ogc-pages.js'

/** What features show of entries: the fields as they are stored. */
const AS_STORED = { embed: 'false' } as const
const NO_FILTERS = ['limit', 'cursor', 'f']
const FEATURES = 'getFeatures'

/** The parameters of the list that finds the same entries. */
export const listingOf = ({ f, limit, cursor, datetime, ...filters }: FeaturesQuery): EntryListQuery => ({
  ...AS_STORED,
  sortBy: 'id',
  sortOrder: 'asc',
  page: 1,
  ...(datetime && { sortBy: 'createdAt' }),
  ...(datetime?.from && { createdSince: datetime.from }),
  ...(datetime?.to && { createdBefore: new Date(datetime.to.getTime() + 1) }),
  ...filters,
  perPage: limit,
  cursor: cursor ?? FIRST_CURSOR,
})

/** @param root the address of the landing page */
const getFeatures = async (reader: Reader, asked: Asked<FeaturesQuery>, root: string): Promise<RowsAnswer> => {
  const { query } = asked
  const listing = listingOf(query)
  const tokens = tokensOf(reader.scope, FEATURES, listing)
  const given = Object.keys(query).filter((name) => !NO_FILTERS.includes(name))
  const selection = { ...reader.select(entries, listing), given }
  const { rows, next } = await reader.page(selection, listing, tokens.start)
  const here = linker(asked)
  const cursor = next?.start && tokens.encode('cursor', next.start)
  const links = [
    linkTo(here({ cursor: query.cursor }), 'self', GEOJSON, 'This page'),
    ...(cursor === undefined ? [] : [linkTo(here({ cursor }), 'next', GEOJSON, 'Next page')]),
    linkTo(root + COLLECTION, 'collection', JSON_TYPE),
  ]
  return {
    mediaType: GEOJSON,
    rows,
    format: jsonArray(selection.projection.compiled(mapFeatureWriter)),
    envelope: {
      before: { type: 'FeatureCollection' },
      name: 'features',
      after: () => ({ links, timeStamp: new Date().toISOString(), numberReturned: rows.length }),
    },
  }
}

const getFeature = async (reader: Reader, { params }: Asked, root: string): Promise<RowsAnswer> => {
  const { projection } = reader.select(entries, AS_STORED)
  const document = await reader.record(entries, params.id as string, projection)
  const write = projection.compiled(mapFeatureWriter)
  const collection = root + COLLECTION
  const links = [
    linkTo(`${collection}/items/${encodeURIComponent(params.id as string)}`, 'self', GEOJSON, 'This entry'),
    linkTo(collection, 'collection', JSON_TYPE),
  ]
  const format: RowFormat = {
    write(entry, out) {
      write(entry, out)
      out.length -= '}'.length
      out.text(`,${JSON.stringify({ links }).slice('{'.length)}`)
    },
  }
  return { mediaType: GEOJSON, rows: [document], format }
}

/** @param root the path of the landing page @param describe the OpenAPI 3.1 document of the service */
const ogcRoutes = (root: string, maxPerPage: number, describe: () => object): Route[] => {
  const rootOf = ({ base }: Asked): string => base() + root
  const tag = 'OGC API'
  let document: object | undefined
  const api: OgcPage = {
    path: '/api',
    operationId: 'getOgcApi',
    summary: 'Get the description of the map service',
    description: 'These operations as OpenAPI 3.0, which map programs read. It refers to nothing outside of itself.',
    response: ApiDocument,
    mediaType: OPENAPI,
    body: (url) => {
      document ??= ogcDocument(describe(), root)
      return { ...document, servers: [{ url }] }
    },
  }
  const pageRoutes = [...ogcPages, api].map(({ path, mediaType = JSON_TYPE, body, ...page }): Route => {
    const operation: Route['operation'] = async (reader, asked) => {
      const value = await body(rootOf(asked), reader)
      return { value, mediaType, tag: { values: value } }
    }
    return { ...page, path: `/ogc${path}`, tag, query: FormatQuery, headers: tagged, types: [mediaType], operation }
  })
  return [
    ...pageRoutes,
    // Some programs add a slash to the address that they are given.
    { ...(pageRoutes[0] as Route), path: '/ogc/', isHidden: true },
    {
      path: `/ogc${COLLECTION}/items`,
      operationId: FEATURES,
      summary: 'Get entries as features',
      description:
        'A page of the entries that match every given filter, as GeoJSON. With `datetime` they are in the order of `createdAt`, else in that of their ids. The link `next` goes on.',
      tag,
      query: FeaturesQuery(maxPerPage),
      response: FeatureCollection,
      problems: [...commonProblems, 'invalid_cursor', 'response_too_large'],
      types: [GEOJSON],
      operation: (reader, asked) => getFeatures(reader, asked, rootOf(asked)),
    },
    {
      path: `/ogc${COLLECTION}/items/:id`,
      operationId: 'getFeature',
      summary: 'Get an entry as a feature by its id',
      description:
        'An entry as GeoJSON. An id that another organisation has gets the same response as one that nobody has.',
      tag,
      params: IdParams('entry'),
      query: FormatQuery,
      response: Feature,
      problems: [...commonProblems, 'not_found'],
      types: [GEOJSON],
      operation: (reader, asked) => getFeature(reader, asked, rootOf(asked)),
    },
  ]
}

export const maps: Capability = {
  tags: [
    {
      name: 'OGC API',
      description: 'Entries as features, for map programs such as QGIS, ArcGIS and GDAL',
      hasFiltersOfLists: true,
    },
  ],
  routes: (app) => ogcRoutes(`${app.prefix}/ogc`, app.config.maxPerPage, () => app.swagger()),
}
