// The application: all its plugins in their order, and its routes.
import { maxHeaderSize } from 'node:http'
import { hostname } from 'node:os'
import accepts from '@fastify/accepts'
import Fastify, { type FastifyInstance, LogController } from 'fastify'
import { capabilities } from './capabilities.js'
import { type Config, version } from './core/config/config.js'
import { admissionPlugin, schedulerFor } from './core/door/admission.js'
import { addOperations } from './core/door/capability.js'
import { healthRoutes } from './core/door/health.js'
import { openapiPlugin } from './core/door/openapi.js'
import { closingPlugin } from './core/http/closing.js'
import { compressionPlugin } from './core/http/compression.js'
import { corsPlugin } from './core/http/cors.js'
import { errorsPlugin } from './core/http/errors.js'
import { jsonOnlyPlugin } from './core/http/json-only.js'
import { clientErrorHandler, rawSocketsPlugin } from './core/http/raw-sockets.js'
import { requestChecksPlugin, routedUrl } from './core/http/request-checks.js'
import { requestId, requestLogPlugin } from './core/http/request-log.js'
import { requestMetricsPlugin } from './core/http/request-metrics.js'
import { httpServer } from './core/http/server.js'
import { slowReadersPlugin } from './core/http/slow-readers.js'
import { hiddenParametersPlugin } from './core/keys/hidden-parameters.js'
import { keyAuthPlugin } from './core/keys/key-auth.js'
import { keysOf } from './core/keys/keys.js'
import { rateLimitPlugin } from './core/keys/rate-limit.js'
import type { Metrics } from './core/metrics/catalogue.js'
import { measuredStore } from './core/metrics/measured-store.js'
import { withCache } from './core/store/cache.js'
import { watchOutages } from './core/store/outages.js'
import { type Cache, type Store, StoreUnavailable } from './core/store/store.js'
import { validatorCompiler } from './core/validation/parameters.js'
import { serializerCompiler } from './core/write/json.js'
import type { LogStream } from './log.js'
import { docsPage } from './pages/docs.js'
import { explorePage } from './pages/explore.js'
import { openapiRoutes } from './pages/openapi-files.js'

declare module 'fastify' {
  interface FastifyInstance {
    config: Config
    store: Store & Cache
    /** Undefined without METRICS_PORT. */
    metrics: Metrics | undefined
  }
}

/** The application over a store, which the caller closes. @param log where it logs; by default stdout, line by line */
export const buildApp = async (config: Config, store: Store, log?: LogStream): Promise<FastifyInstance> => {
  const { port } = config.metrics
  // The SDK of OpenTelemetry is imported only when needed.
  const metrics = port === undefined ? undefined : (await import('./core/metrics/exporter.js')).openMetrics(version)
  const app: FastifyInstance = Fastify({
    logger: {
      level: config.logLevel,
      base: { pid: process.pid, hostname: hostname(), release: version },
      ...(log && { stream: log }),
    },
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestId,
    rewriteUrl: routedUrl,
    trustProxy: config.trustProxy,
    serverFactory: (listener) => httpServer(listener, config.maxConnections),
    // While the service closes, it still serves requests that arrive, and then closes their connections.
    return503OnClosing: false,
    // The checks refuse a URL that is too long. No part of it is longer than all headers may be.
    routerOptions: { maxParamLength: maxHeaderSize },
    clientErrorHandler,
  })

  app.decorate('config', config)
  app.decorate('metrics', metrics)
  const scheduler = schedulerFor(app, store.capacity)
  const measured = metrics === undefined ? store : measuredStore(store, metrics)
  const watched = watchOutages(measured, app.log, (error) => scheduler.failAll(error))
  app.decorate('store', withCache(watched, config.totalMaxAgeMs))
  const onKeyError = (err: unknown, what: string) => {
    if (!(err instanceof StoreUnavailable)) app.log.warn({ err }, what)
  }
  const keys = keysOf(app.store, onKeyError, { scheduler })
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)

  // The order of the plugins is the order of their hooks. What a block registers applies to the routes in it alone.
  await app.register(accepts)
  await app.register(requestLogPlugin)
  await app.register(closingPlugin)
  if (metrics !== undefined) await app.register(requestMetricsPlugin, { metrics })
  // Before the checks, so that a page can read the problems that they give too.
  if (config.corsOrigins !== undefined) await app.register(corsPlugin, { origins: config.corsOrigins })
  await app.register(requestChecksPlugin)
  await app.register(errorsPlugin)
  await app.register(rawSocketsPlugin)
  await app.register(slowReadersPlugin)
  await app.register(openapiPlugin, { tags: capabilities.flatMap(({ tags = [] }) => tags) })
  await app.register(async (pages) => {
    // All who need no key have one share together.
    await pages.register(admissionPlugin, { scheduler, keyOf: () => '' })
    openapiRoutes(pages)
    await pages.register(docsPage)
    if (config.explore) await pages.register(explorePage)
  })
  await app.register(async (json) => {
    await json.register(jsonOnlyPlugin)
    await json.register(compressionPlugin)
    healthRoutes(json)
    await json.register(async (keyed) => {
      await keyed.register(keyAuthPlugin, { keys })
      if (config.rateLimit !== undefined) await keyed.register(rateLimitPlugin, { quota: config.rateLimit })
      await keyed.register(admissionPlugin, { scheduler, keyOf: ({ scope }) => scope.keyId })
      for (const { door } of capabilities) if (door) await keyed.register(async (own) => door(own, capabilities))
      await keyed.register(
        async (v1) => {
          await v1.register(hiddenParametersPlugin)
          addOperations(v1, capabilities)
        },
        { prefix: '/v1' },
      )
    })
  })
  return app
}
