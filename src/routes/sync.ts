// GET /v1/sync/<resource>, the change feed, and GET /v1/sync/<resource>/digest. A new resource is one line here.
import type { TSchema } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { Agent } from '../../schemas/agents.js'
import { DispatchListItem } from '../../schemas/dispatches.js'
import { EntryListItem } from '../../schemas/entries.js'
import { Form } from '../../schemas/forms.js'
import { Project } from '../../schemas/projects.js'
import { DigestPage, DigestQuery, FeedQuery, feedPage } from '../../schemas/sync.js'
import { User } from '../../schemas/users.js'
import type { Config } from '../config/config.js'
import { FIRST_CURSOR } from '../paging/token.js'
import { listAgents } from '../pipelines/agents.js'
import { listDispatches } from '../pipelines/dispatches.js'
import { listEntries } from '../pipelines/entries.js'
import { listForms } from '../pipelines/forms.js'
import { listProjects } from '../pipelines/projects.js'
import type { FeedResource } from '../pipelines/sync.js'
import { listUsers } from '../pipelines/users.js'
import { compileResponse } from '../serializer/compiler.js'
import { databaseClock } from '../sync/clock.js'
import { decodeCursor, encodeCursor } from '../sync/cursor.js'
import { rangesOf, readDigests } from '../sync/digest.js'
import { Feeds } from '../sync/feed.js'
import { Waiting } from '../sync/waiting.js'
import { commonProblems } from './operations.js'
import { problemResponses, response } from './responses.js'

const PER_PAGE = 50
/** How often a feed is looked up for the requests that wait, and how old the clock of the database may be. */
const INTERVAL_MS = 1000
/** How many requests of one key may wait, and which part of all connections may: a half. */
const WAITING_PER_KEY = 100
const WAITING_SHARE = 2
/** How long the ranges of a digest may take together. */
const DIGEST_MS = 60_000

const FEED =
  'Records that were added or changed since the cursor, and ids of those that were deleted, in the order of the changes. Read page after page until `hasMore` is false, and save each `nextCursor` with its records: the next run goes on from there. A page costs the same however long the feed is, and one that finds nothing is a single look-up. A change comes about 10 seconds late (`settleMs` of `GET /v1/me`), and may come more than once. A cursor expires after `tombstoneDays`.'
const DIGEST =
  'Count of the records and sum of their `updatedAt` for each range of ids. Where they differ from those of a copy, replace that range of the copy by what the list has from `idFrom` to `idTo`. Changes of the last seconds, which the feed still holds back (`settleMs` of `GET /v1/me`), differ too. It reads every record of the ranges, so a key may have one digest at a time.'

interface SyncResource extends FeedResource {
  readonly item: TSchema
}

/** The resources that can be synced, by the names of their collections. */
const resources: readonly SyncResource[] = [
  { collection: 'entries', item: EntryListItem, list: listEntries },
  { collection: 'dispatches', item: DispatchListItem, list: listDispatches },
  { collection: 'projects', item: Project, list: listProjects },
  { collection: 'forms', item: Form, list: listForms },
  { collection: 'agents', item: Agent, list: listAgents },
  { collection: 'users', item: User, list: listUsers },
]

export const syncRoutes = (app: FastifyInstance, config: Config): void => {
  const { settleMs } = config.sync
  const clock = databaseClock(app.store, Math.min(INTERVAL_MS, settleMs))
  const feeds = new Feeds(app.store, clock, config.sync)
  const max = Math.floor(config.maxConnections / WAITING_SHARE)
  const waiting = new Waiting({ max, maxPerKey: WAITING_PER_KEY, intervalMs: INTERVAL_MS })
  app.closing.addEventListener('abort', () => waiting.close())

  for (const resource of resources) {
    feedOperation(app, resource, config, feeds, waiting)
    digestOperation(app, resource, clock)
  }
}

/** Registers the change feed of a resource. */
const feedOperation = (
  app: FastifyInstance,
  resource: SyncResource,
  { maxPerPage, sync }: Config,
  feeds: Feeds,
  waiting: Waiting,
): void => {
  const { collection, item } = resource
  const operationId = `sync${capitalised(collection)}`
  const page = feedPage(item)
  const serialize = compileResponse(page)

  app.get(
    `/sync/${collection}`,
    {
      schema: {
        operationId,
        summary: `Get what has changed in ${collection}`,
        description: FEED,
        tags: ['Sync'],
        querystring: FeedQuery({ page: 1, perPage: PER_PAGE, maxPerPage }),
        response: {
          200: response(page),
          ...problemResponses([...commonProblems, 'invalid_cursor', 'cursor_expired', 'response_too_large']),
        },
      },
    },
    async (request, reply) => {
      const { scope, share } = request
      const { cursor: text = FIRST_CURSOR, perPage, wait } = request.query as FeedQuery
      const binding = [scope.organisation, operationId, sync.stamp]
      const cursor = text === FIRST_CURSOR ? undefined : decodeCursor(binding, text)
      const patience = { place: share, waiting, waitMs: wait * 1000 }
      const found = await feeds.pageOrWait({ scope, resource }, cursor, perPage, patience)

      const isLarge = await share.claim(found.size)
      if (app.closing.aborted) reply.header('connection', 'close')
      const _metadata = { perPage, hasMore: found.hasMore, nextCursor: encodeCursor(binding, found.next) }
      const envelope = { success: true, data: found.items, _metadata }
      reply.type('application/json; charset=utf-8')
      return isLarge ? serialize.inSteps(envelope, share.reading.signal) : serialize(envelope)
    },
  )
}

/** Registers the digest of a resource. */
const digestOperation = (app: FastifyInstance, { collection }: SyncResource, clock: () => Promise<number>): void => {
  app.get(
    `/sync/${collection}/digest`,
    {
      config: { queue: 'digests' },
      schema: {
        operationId: `digest${capitalised(collection)}`,
        summary: `Check a copy of ${collection}`,
        description: DIGEST,
        tags: ['Sync'],
        querystring: DigestQuery,
        response: { 200: response(DigestPage), ...problemResponses(commonProblems) },
      },
    },
    async (request) => {
      const ranges = rangesOf(request.query as DigestQuery)
      const asOf = new Date(await clock()).toISOString()
      const options = { limitMs: DIGEST_MS, signal: request.share.reading.signal }
      return {
        success: true,
        data: await readDigests(app.store, request.scope, collection, ranges, options),
        _metadata: { asOf },
      }
    },
  )
}

const capitalised = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1)
