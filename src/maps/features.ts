// Entries as features of OGC API - Features, for map programs. Entries are found as their list finds them.
import type { EntryListQuery } from '../../schemas/entries.js'
import type { FeaturesQuery } from '../../schemas/ogc.js'
import type { Asked, RowsAnswer } from '../core/door/answer.js'
import { linker } from '../core/door/page-metadata.js'
import { entries } from '../core/pipelines/entries.js'
import { tokensOf } from '../core/read/page-tokens.js'
import type { Reader } from '../core/read/reader.js'
import { FIRST_CURSOR } from '../core/read/token.js'
import { mapFeatureWriter } from '../core/write/geojson.js'
import { jsonArray } from '../core/write/json.js'
import type { RowFormat } from '../core/write/rows.js'
import { COLLECTION, GEOJSON, JSON_TYPE, linkTo } from './ogc-pages.js'

/** What features show of entries: the fields as they are stored. */
const AS_STORED = { embed: 'false' } as const
/** The parameters that select no entries. */
const NO_FILTERS = ['limit', 'cursor', 'f']

/** The parameters of the list that finds the same entries. */
export const listingOf = ({
  f,
  limit,
  cursor = FIRST_CURSOR,
  datetime,
  ...filters
}: FeaturesQuery): EntryListQuery => ({
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

/** @param root the address of the landing page */
export const getFeatures = async (
  reader: Reader,
  asked: Asked<FeaturesQuery>,
  root: string,
  operationId: string,
): Promise<RowsAnswer> => {
  const { query } = asked
  const listing = listingOf(query)
  const tokens = tokensOf(reader.scope, operationId, listing)
  const given = Object.keys(query).filter((name) => !NO_FILTERS.includes(name))
  const selection = { ...reader.select(entries, listing), given }
  const { rows, next } = await reader.page(selection, { page: 1, perPage: query.limit, isWalk: true }, tokens.start)
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

/** @throws the problem `not_found` */
export const getFeature = async (reader: Reader, { params }: Asked, root: string): Promise<RowsAnswer> => {
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
