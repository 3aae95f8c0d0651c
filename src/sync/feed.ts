// What has changed in the records of a resource, and the digests by which a partner checks its copy.
import type { DigestQuery, FeedQuery } from '../../schemas/sync.js'
import { type Asked, pageAnswer, type RowsAnswer, type ValueAnswer } from '../core/door/answer.js'
import type { Resource } from '../core/pipelines/resource.js'
import { narrowed, restrictionsOn } from '../core/pipelines/stages.js'
import { invalidParameter } from '../core/problems/problems.js'
import { projectionOf } from '../core/read/projection.js'
import type { Reader } from '../core/read/reader.js'
import { bindingOf, FIRST_CURSOR } from '../core/read/token.js'
import { compileDocuments } from '../core/write/writer.js'
import type { Feeds } from './changes.js'
import type { Clock } from './clock.js'
import { decodeCursor, encodeCursor } from './cursor.js'
import { rangesOf, readDigests } from './digest.js'
import { type FeedItem, feedItems, writeUnreadable } from './feed-items.js'
import { pageOrWait, type Waiting } from './waiting.js'

/** How long the ranges of a digest may take together, in milliseconds. */
const DIGEST_MS = 60_000

/**
 * @throws the problems `invalid_cursor`, `cursor_expired`, `records_without_stamp`, and `invalid_parameter` for a copy of
 * another organisation
 */
export const getChanges = async (
  { scope: whole, ticket }: Reader,
  resource: Resource,
  { query }: Asked<FeedQuery>,
  feeds: Feeds,
  waiting: Waiting,
): Promise<RowsAnswer<FeedItem>> => {
  const { cursor: text, changedSince, organisation = whole.organisation, perPage, wait, answers, unreadable } = query
  const scope = narrowed(whole, query)
  if (organisation !== scope.organisation)
    throw invalidParameter('organisation', `must be ${scope.organisation}, the organisation of the key`)
  const { collection, operationIds } = resource
  // A feed without changes reads no rows, and must be refused all the same.
  restrictionsOn(collection, scope)
  // A copy by a key that sees otherwise would lack fields, or keep them.
  const binding = bindingOf(scope, operationIds.sync, feeds.settings.stamp)
  const projection = projectionOf(resource, scope.without, { embed: 'false', ...(answers && { answers }) })
  const feed = { scope, collection, projection }
  const cursorOf = async () => {
    if (text !== undefined) return text === FIRST_CURSOR ? undefined : decodeCursor(binding, text)
    return changedSince && feeds.beginAt(feed, changedSince, ticket)
  }
  const patience = { ticket, waiting, waitMs: wait * 1000 }
  const page = await pageOrWait(feeds, feed, await cursorOf(), perPage, patience)
  const metadata = { perPage, hasMore: page.hasMore, nextCursor: encodeCursor(binding, page.next) }
  const items = feedItems(projection.compiled(compileDocuments))
  return { ...pageAnswer(page.items, items, metadata, unreadable), onFailure: writeUnreadable }
}

/** @throws the problem `query_timeout` */
export const getDigest = async (
  { store, scope, ticket }: Reader,
  { collection }: Resource,
  { query }: Asked<DigestQuery>,
  clock: Clock,
): Promise<ValueAnswer> => {
  const ranges = rangesOf(query)
  const asOf = new Date((await clock()).now).toISOString()
  const reader = { store, scope: narrowed(scope, query), ticket }
  const data = await readDigests(reader, collection, ranges, DIGEST_MS)
  return { value: { success: true, data, _metadata: { asOf } } }
}
