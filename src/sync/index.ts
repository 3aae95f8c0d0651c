// GET /v1/sync/<resource>, the change feed, and GET /v1/sync/<resource>/digest.
import { DigestPage, DigestQuery, FeedQuery, feedPage, parts } from '../../schemas/sync.js'
import { hasParts } from '../core/documents/collections.js'
import type { Capability } from '../core/door/capability.js'
import { problemsOn } from '../core/door/responses.js'
import type { Route } from '../core/door/table.js'
import { resources } from '../core/pipelines/index.js'
import type { Resource } from '../core/pipelines/resource.js'
import { Feeds } from './changes.js'
import { type Clock, databaseClock } from './clock.js'
import { getChanges, getDigest } from './feed.js'
import { Waiting } from './waiting.js'

const PER_PAGE = 50
/** How often a feed is looked up for the requests that wait. */
const INTERVAL_MS = 1000
/** How many requests of one key may wait, and which part of all connections may: a half. */
const WAITING_PER_KEY = 100
const WAITING_SHARE = 2
const FEED =
  'Records that were added or changed since the cursor, and ids of those that were deleted, in the order of the changes. Read page after page until `hasMore` is false, and save each `nextCursor` with its records: the next run goes on from there. A page costs the same however long the feed is, and one that finds nothing is a single look-up. A change comes at once, and once more when it has settled (`settleMs` of `GET /v1/me`). A cursor expires after `tombstoneDays`. Tools that keep a time instead of a cursor begin with `changedSince`.'
const DIGEST =
  'Count of the records and sum of their `updatedAt` for each range of ids. Where they differ from those of a copy, replace that range of the copy by what the list has from `idFrom` to `idTo`. Changes that came since the copy was made differ too. It reads every record of the ranges, so a key may have one digest at a time.'

const partsOf = ({ collection }: Resource) => (hasParts(collection) ? parts : {})

const feedRoute = (resource: Resource, maxPerPage: number, feeds: Feeds, waiting: Waiting): Route => ({
  path: `/sync/${resource.collection}`,
  operationId: resource.operationIds.sync,
  summary: `Get what has changed in ${resource.collection}`,
  description: FEED,
  tag: 'Sync',
  query: FeedQuery({ page: 1, perPage: PER_PAGE, maxPerPage }, { ...resource.parameters, ...partsOf(resource) }),
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
  query: DigestQuery(partsOf(resource)),
  response: DigestPage,
  problems: problemsOn(resource.collection),
  operation: (reader, asked) => getDigest(reader, resource, asked, clock),
})

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
