// The table of all routes under /v1, with their paging defaults.
import type { FastifyInstance } from 'fastify'
import { MAX_IDS, MAX_URL_BYTES } from '../schemas/common.js'
import { one } from '../schemas/envelope.js'
import { strict } from '../schemas/kit.js'
import { Me } from '../schemas/me.js'
import { MAX_WAIT_S } from '../schemas/sync.js'
import { checkRoutes } from './checks/routes.js'
import { sender } from './core/door/send.js'
import { type Route, register } from './core/door/table.js'
import { resources } from './core/pipelines/index.js'
import { summaryRoutes } from './counts/routes.js'
import { allExported } from './exports/index.js'
import { exportRoute } from './exports/routes.js'
import { getMe } from './lists/me.js'
import { listRoute, recordRoute } from './lists/routes.js'
import { ogcRoutes } from './maps/routes.js'
import { Feeds } from './sync/changes.js'
import { databaseClock } from './sync/clock.js'
import { digestRoute, feedRoute } from './sync/routes.js'
import { Waiting } from './sync/waiting.js'

/** How often a feed is looked up for the requests that wait. */
const INTERVAL_MS = 1000
/** How many requests of one key may wait, and which part of all connections may: a half. */
const WAITING_PER_KEY = 100
const WAITING_SHARE = 2

export const resourceRoutes = (app: FastifyInstance): void => {
  const send = sender(app)
  for (const route of routesOf(app)) register(app, send, route)
}

const routesOf = (app: FastifyInstance): Route[] => {
  const { maxPerPage, projectDefaults, sync, maxConnections } = app.config
  const usual = { page: 1, perPage: 50, maxPerPage }
  // The contract states the defaults of projects the other way round.
  const literal = { page: 50, perPage: 1, maxPerPage }
  const limitsOf = (resource: unknown) =>
    resource === resources.projects && projectDefaults === 'literal' ? literal : usual

  const clock = databaseClock(app.store)
  const feeds = new Feeds(app.store, clock, sync)
  const max = Math.floor(maxConnections / WAITING_SHARE)
  const waiting = new Waiting({ max, maxPerKey: WAITING_PER_KEY, intervalMs: INTERVAL_MS })
  app.closing.addEventListener('abort', () => waiting.close())
  app.metrics?.observe('field_data.feed.waiting', () => waiting.size)

  const all = Object.values(resources)
  // Most copies are of entries, so they stand first in the documentation.
  const { entries, ...others } = resources
  const copied = [entries, ...Object.values(others)]
  return [
    ...all.flatMap((resource) => [listRoute(resource, limitsOf(resource)), recordRoute(resource)]),
    ...allExported.map(exportRoute),
    ...summaryRoutes,
    ...checkRoutes(usual),
    ...copied.flatMap((resource) => [feedRoute(resource, maxPerPage, feeds, waiting), digestRoute(resource, clock)]),
    ...ogcRoutes(`${app.prefix}/ogc`, maxPerPage, () => app.swagger()),
    meRoute(app),
  ]
}

const meRoute = ({ config: { maxPerPage, rateLimit, sync } }: FastifyInstance): Route => {
  const limits = {
    perPage: maxPerPage,
    ids: MAX_IDS,
    wait: MAX_WAIT_S,
    ...(rateLimit !== undefined && { requestsPerMinute: rateLimit }),
    urlBytes: MAX_URL_BYTES,
    settleMs: sync.settleMs,
    tombstoneDays: sync.tombstoneDays,
  }
  return {
    path: '/me',
    operationId: 'getMe',
    summary: 'Get the organisation and the limits of the key',
    description:
      'For a first request: whose data the key reads, what it does not see of them, when it expires, and the largest page, number of ids, wait and URL that the service accepts. For change feeds, it tells how long changes are held back and deletions are remembered. It costs almost nothing.',
    tag: 'Key',
    query: strict({}),
    response: one(Me),
    operation: (_reader, _asked, key) => getMe(key, limits),
  }
}
