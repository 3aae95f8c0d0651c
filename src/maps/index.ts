// GET /v1/ogc: OGC API - Features (https://ogcapi.ogc.org/features/), parts 1, 3 (queryables) and 5 (schemas), for map programs such
// as QGIS, ArcGIS and GDAL.
import { IdParams } from '../../schemas/common.js'
import { ApiDocument, Feature, FeatureCollection, FeaturesQuery, FormatQuery } from '../../schemas/ogc.js'
import type { Asked } from '../core/door/answer.js'
import type { Capability } from '../core/door/capability.js'
import { commonProblems, tagged } from '../core/door/responses.js'
import type { Route } from '../core/door/table.js'
import { getFeature, getFeatures } from './features.js'
import { ogcDocument } from './ogc-document.js'
import { COLLECTION, GEOJSON, JSON_TYPE, type OgcPage, OPENAPI, ogcPages } from './ogc-pages.js'

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
      return { value, mediaType, tag: { besides: value } }
    }
    return { ...page, path: `/ogc${path}`, tag, query: FormatQuery, headers: tagged, types: [mediaType], operation }
  })
  const operationId = 'getFeatures'
  return [
    ...pageRoutes,
    // Some programs add a slash to the address that they are given.
    { ...(pageRoutes[0] as Route), path: '/ogc/', isHidden: true },
    {
      path: `/ogc${COLLECTION}/items`,
      operationId,
      summary: 'Get entries as features',
      description:
        'A page of the entries that match every given filter, as GeoJSON. With `datetime` they are in the order of `createdAt`, else in that of their ids. The link `next` goes on.',
      tag,
      query: FeaturesQuery(maxPerPage),
      response: FeatureCollection,
      problems: [...commonProblems, 'invalid_cursor', 'response_too_large'],
      types: [GEOJSON],
      operation: (reader, asked) => getFeatures(reader, asked, rootOf(asked), operationId),
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
