// GET /v1/sync/<resource>, the change feed, and GET /v1/sync/<resource>/digest.
import type { FastifyInstance } from 'fastify'
import { DigestPage, DigestQuery, FeedQuery, feedPage } from '../../schemas/sync.js'
import { resources } from '../pipelines/index.js'
import type { Resource } from '../pipelines/resource.js'
import { projectionOf } from '../reading/projection.js'
import { FIRST_CURSOR } from '../reading/token.js'
import { feedItems, writeUnreadable } from '../serializer/feed.js'
import { compileDocuments } from '../serializer/writer.js'
import { type Clock, databaseClock } from '../sync/clock.js'
import { decodeCursor, encodeCursor } from '../sync/cursor.js'
import { rangesOf, readDigests } from '../sync/digest.js'
import { Feeds } from '../sync/feed.js'
import { pageOrWait, Waiting } from '../sync/waiting.js'
import { sendPage } from './operations.js'
import { commonProblems, responses } from './responses.js'

const PER_PAGE = 50
/** How often a feed is looked up for the requests that wait. */
const INTERVAL_MS = 1000
/** How many requests of one key may wait, and which part of all connections may: a half. */
const WAITING_PER_KEY = 100
const WAITING_SHARE = 2
/** How long the ranges of a digest may take together. */
const DIGEST_MS = 60_000

const FEED =
  'Records that were added or changed since the cursor, and ids of those that were deleted, in the order of the changes. Read page after page until `hasMore` is false, and save each `nextCursor` with its records: the next run goes on from there. A page costs the same however long the feed is, and one that finds nothing is a single look-up. A change comes at once, and once more when it has settled (`settleMs` of `GET /v1/me`). A cursor expires after `tombstoneDays`. Tools that keep a time instead of a cursor begin with `changedSince`.'
const DIGEST =
  'Count of the records and sum of their `updatedAt` for each range of ids. Where they differ from those of a copy, replace that range of the copy by what the list has from `idFrom` to `idTo`. Changes that came since the copy was made differ too. It reads every record of the ranges, so a key may have one digest at a time.'

export const syncRoutes = (app: FastifyInstance): void => {
  const { sync, maxConnections } = app.config
  const clock = databaseClock(app.store)
  const feeds = new Feeds(app.store, clock, sync)
  const max = Math.floor(maxConnections / WAITING_SHARE)
  const waiting = new Waiting({ max, maxPerKey: WAITING_PER_KEY, intervalMs: INTERVAL_MS })
  app.closing.addEventListener('abort', () => waiting.close())
  app.metrics?.observe('field_data.feed.waiting', () => waiting.size)

  // Most copies are of entries, so they stand first in the documentation.
  const { entries, ...others } = resources
  for (const resource of [entries, ...Object.values(others)]) {
    feedOperation(app, resource, feeds, waiting)
    digestOperation(app, resource, clock)
  }
}

const feedOperation = (app: FastifyInstance, resource: Resource, feeds: Feeds, waiting: Waiting): void => {
  const { maxPerPage, sync } = app.config
  const { collection, item, operationIds, parameters } = resource
  const operationId = operationIds.sync
  const page = feedPage(item.schema)

  app.get(
    `/sync/${collection}`,
    {
      schema: {
        operationId,
        summary: `Get what has changed in ${collection}`,
        description: FEED,
        tags: ['Sync'],
        querystring: FeedQuery({ page: 1, perPage: PER_PAGE, maxPerPage }, parameters),
        response: responses(page, [
          ...commonProblems,
          'invalid_cursor',
          'records_without_stamp',
          'cursor_expired',
          'response_too_large',
        ]),
      },
    },
    async (request, reply) => {
      const { scope, ticket } = request
      const { cursor: text, changedSince, perPage, wait, answers } = request.query as FeedQuery
      // A copy by a key that sees otherwise would lack fields, or keep them.
      const binding = [scope.organisation, operationId, sync.stamp, ...(scope.without ?? [])]
      const projection = projectionOf(resource, scope.without, { embed: 'false', ...(answers && { answers }) })
      const feed = { scope, collection, projection }
      const cursorOf = async () => {
        if (text !== undefined) return text === FIRST_CURSOR ? undefined : decodeCursor(binding, text)
        return changedSince && feeds.beginAt(feed, changedSince, ticket)
      }
      const patience = { ticket, waiting, waitMs: wait * 1000 }
      const page = await pageOrWait(feeds, feed, await cursorOf(), perPage, patience)
      if (wait > 0) await app.requireKey(request, reply)
      if (app.closing.aborted) reply.header('connection', 'close')

      const items = feedItems(projection.compiled(compileDocuments))
      const metadata = { perPage, hasMore: page.hasMore, nextCursor: encodeCursor(binding, page.next) }
      return sendPage(request, reply, page.items, items, metadata, writeUnreadable)
    },
  )
}

const digestOperation = (app: FastifyInstance, resource: Resource, clock: Clock): void => {
  const { collection, operationIds } = resource
  app.get(
    `/sync/${collection}/digest`,
    {
      config: { isLarge: () => true },
      schema: {
        operationId: operationIds.digest,
        summary: `Check a copy of ${collection}`,
        description: DIGEST,
        tags: ['Sync'],
        querystring: DigestQuery,
        response: responses(DigestPage, commonProblems),
      },
    },
    async (request, reply) => {
      const ranges = rangesOf(request.query as DigestQuery)
      const asOf = new Date((await clock()).now).toISOString()
      const options = { limitMs: DIGEST_MS, ticket: request.ticket }
      const data = await readDigests(app.store, request.scope, collection, ranges, options)
      await app.requireKey(request, reply)
      return { success: true, data, _metadata: { asOf } }
    },
  )
}
