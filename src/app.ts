// The application: its plugins in order, then its routes, which have plugins of their own (src/routes/index.ts).
import Fastify, { type FastifyInstance, LogController } from 'fastify'
import type { DestinationStream } from 'pino'
import type { Config } from './config.js'
import { keysOf } from './keys/keys.js'
import { closingPlugin } from './plugins/closing.js'
import { openapiPlugin } from './plugins/openapi.js'
import { clientErrorHandler, frameworkErrors, MAX_URL_BYTES, problemsPlugin } from './plugins/problems.js'
import { requestId, requestLogPlugin } from './plugins/request-log.js'
import { validatorCompiler } from './plugins/validator.js'
import { routes } from './routes/index.js'
import { serializerCompiler } from './serializer/compiler.js'
import type { Store } from './store/store.js'
import { keepTotals } from './store/totals.js'

declare module 'fastify' {
  interface FastifyInstance {
    config: Config
    store: Store
  }
}

const REQUEST_TIMEOUT_MS = 30_000

/**
 * Builds the application over a store, which stays the caller's to close.
 * @param log where the log goes, if not to stdout line by line
 */
export const buildApp = async (config: Config, store: Store, log?: DestinationStream): Promise<FastifyInstance> => {
  const app: FastifyInstance = Fastify({
    logger: { level: config.logLevel, ...(log && { stream: log }) },
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestId,
    trustProxy: config.trustProxy,
    requestTimeout: REQUEST_TIMEOUT_MS,
    // While it closes it answers what still comes in, and ends the connections.
    return503OnClosing: false,
    // Of HTTP/1.0 no host is asked; of HTTP/1.1 it is, and the answer is a problem.
    http: { requireHostHeader: false } as object,
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
  await app.register(problemsPlugin)
  await app.register(openapiPlugin, { publicUrl: config.publicUrl })
  await app.register(routes, { config, keys })
  return app
}
