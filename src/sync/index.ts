// GET /v1/sync/<resource>, the change feed, and GET /v1/sync/<resource>/digest.
import { DigestPage, DigestQuery, FeedQuery, feedPage, parts } from '../../schemas/sync.js'
import { hasParts } from '../core/documents/collections.js'
import { type Asked, pageAnswer, type RowsAnswer } from '../core/door/answer.js'
import type { Capability, Route } from '../core/door/capability.js'
import { problemsOn } from '../core/door/responses.js'
import { resources } from '../core/pipelines/index.js'
import type { Resource } from '../core/pipelines/resource.js'
import { narrowed, restrictionsOn } from '../core/pipelines/stages.js'
import { invalidParameter } from '../core/problems/problems.js'
import { projectionOf } from '../core/read/projection.js'
import type { Reader } from '../core/read/reader.js'
import { bindingOf, FIRST_CURSOR } from '../core/read/token.js'
import { compileDocuments } from '../core/write/writer.js'
import { Feeds } from './changes.js'
import { type Clock, databaseClock } from './clock.js'
import { decodeCursor, encodeCursor } from './cursor.js'
import { rangesOf, readDigests } from './digest.js'
import { type FeedItem, feedItems, writeUnreadable } from './feed-items.js'
import { pageOrWait, Waiting } from './waiting.js'

const DIGEST_MS = 60_000
/** How often a feed is looked up for the requests that wait. */
const INTERVAL_MS = 1000
/** How many requests of one key may wait, and which part of all connections may: a half. */
const WAITING_PER_KEY = 100
const WAITING_SHARE = 2
const FEED =
  'Records that were added or changed since the cursor, and ids of those that were deleted, in the order of the changes. Read page after page until `hasMore` is false, and save each `nextCursor` with its records: the next run goes on from there. A page costs the same however long the feed is, and one that finds nothing is a single look-up. A change comes at once, and once more when it has settled (`settleMs` of `GET /v1/me`). A cursor expires after `tombstoneDays`. Tools that keep a time instead of a cursor begin with `changedSince`.'
const DIGEST =
  'Count of the records and sum of their `updatedAt` for each range of ids. Where they differ from those of a copy, replace that range of the copy by what the list has from `idFrom` to `idTo`. Changes that came since the copy was made differ too. It reads every record of the ranges, so a key may have one digest at a time.'

const digestParts = ({ collection }: Resource) => (hasParts(collection) ? parts : {})

const feedRoute = (resource: Resource, maxPerPage: number, feeds: Feeds, waiting: Waiting): Route => ({
  path: `/sync/${resource.collection}`,
  operationId: resource.operationIds.sync,
  summary: `Get what has changed in ${resource.collection}`,
  description: FEED,
  tag: 'Sync',
  query: FeedQuery({ page: 1, perPage: 50, maxPerPage }, { ...resource.parameters, ...digestParts(resource) }),
  response: feedPage(resource.item.schema),
  problems: [
    ...problemsOn(resource.collection),
    'invalid_cursor',
    'records_without_stamp',
    'cursor_expired',
    'response_too_large',
  ],
  operation: (reader, asked) => getChanges(reader, resource, asked, feeds, waiting),
})

const digestRoute = (resource: Resource, clock: Clock): Route => ({
  path: `/sync/${resource.collection}/digest`,
  operationId: resource.operationIds.digest,
  summary: `Check a copy of ${resource.collection}`,
  description: DIGEST,
  tag: 'Sync',
  query: DigestQuery(digestParts(resource)),
  response: DigestPage,
  problems: problemsOn(resource.collection),
  async operation({ store, scope, ticket }, { query }: Asked<DigestQuery>) {
    const ranges = rangesOf(query)
    const asOf = new Date((await clock()).now).toISOString()
    const reader = { store, scope: narrowed(scope, query), ticket }
    const data = await readDigests(reader, resource.collection, ranges, DIGEST_MS)
    return { value: { success: true, data, _metadata: { asOf } } }
  },
})

const getChanges = async (
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
    return changedSince && feeds.beginAt(feed, changedSince, ticket.reading)
  }
  const patience = { ticket, waiting, waitMs: wait * 1000, equal: [binding, answers] }
  const page = await pageOrWait(feeds, feed, await cursorOf(), perPage, patience)
  const metadata = { perPage, hasMore: page.hasMore, nextCursor: encodeCursor(binding, page.next) }
  const items = feedItems(projection.compiled(compileDocuments))
  return { ...pageAnswer(page.items, items, metadata, unreadable), onFailure: writeUnreadable }
}

export const sync: Capability = {
  tags: [{ name: 'Sync', description: 'Changes since the last run, and digests to check a copy' }],
  routes(app) {
    const { maxPerPage, sync, maxConnections } = app.config
    const clock = databaseClock(app.store)
    const feeds = new Feeds(app.store, clock, sync)
    const max = Math.floor(maxConnections / WAITING_SHARE)
    const waiting = new Waiting({ max, maxPerKey: WAITING_PER_KEY, intervalMs: INTERVAL_MS })
    app.closing.addEventListener('abort', () => waiting.close())
    app.metrics?.observe('field_data.feed.waiting', () => waiting.size)
    // Most copies are of entries, so they stand first in the documentation.
    const { entries, ...others } = resources
    return [entries, ...Object.values(others)].flatMap((resource) => [
      feedRoute(resource, maxPerPage, feeds, waiting),
      digestRoute(resource, clock),
    ])
  },
}
