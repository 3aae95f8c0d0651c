// The application: its plugins in order, then its routes, which have plugins of their own (src/routes/index.ts).
import Fastify, { type FastifyInstance, LogController } from 'fastify'
import type { Config } from './config/config.js'
import { MAX_URL_BYTES } from './http/problems.js'
import { httpServer } from './http/server.js'
import { keysOf } from './keys/keys.js'
import type { LogStream } from './log.js'
import { closingPlugin } from './plugins/closing.js'
import { openapiPlugin } from './plugins/openapi.js'
import { frameworkErrors, problemsPlugin } from './plugins/problems.js'
import { clientErrorHandler, rawSocketsPlugin } from './plugins/raw-sockets.js'
import { requestChecksPlugin } from './plugins/request-checks.js'
import { requestId, requestLogPlugin } from './plugins/request-log.js'
import { routes } from './routes/index.js'
import { serializerCompiler } from './serializer/compiler.js'
import type { Store } from './store/store.js'
import { keepTotals } from './store/totals.js'
import { validatorCompiler } from './validation/parameters.js'

declare module 'fastify' {
  interface FastifyInstance {
    config: Config
    store: Store
  }
}

/**
 * Builds the application over a store, which stays the caller's to close.
 * @param log where the log goes, if not to stdout line by line
 */
export const buildApp = async (config: Config, store: Store, log?: LogStream): Promise<FastifyInstance> => {
  const app: FastifyInstance = Fastify({
    logger: { level: config.logLevel, ...(log && { stream: log }) },
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestId,
    trustProxy: config.trustProxy,
    serverFactory: (listener) => httpServer(listener, { mostConnections: config.maxConnections }),
    // While it closes it serves what still comes in, and ends the connections.
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_URL_BYTES },
    frameworkErrors,
    clientErrorHandler,
  })
  const keys = keysOf(store, (err, what) => app.log.warn({ err }, what))

  app.decorate('config', config)
  app.decorate('store', keepTotals(store, config.totalMaxAgeMs))
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  await app.register(requestLogPlugin)
  await app.register(closingPlugin)
  await app.register(requestChecksPlugin)
  await app.register(problemsPlugin)
  await app.register(rawSocketsPlugin)
  await app.register(openapiPlugin, { publicUrl: config.publicUrl })
  await app.register(routes, { config, keys })
  return app
}
