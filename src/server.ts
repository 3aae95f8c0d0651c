// The process: reads the settings, opens the store, starts the application, and shuts down on signals.
import type { AddressInfo } from 'node:net'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import closeWithGrace from 'close-with-grace'
import type { FastifyInstance } from 'fastify'
import { buildApp } from './app.js'
import { type Config, ConfigError, loadConfig, openMongo } from './core/config/config.js'
import { recordCollections } from './core/documents/collections.js'
import { readiness } from './core/door/health.js'
import { metricsServer } from './core/http/metrics-server.js'
import { cutOffAll } from './core/http/server.js'
import type { Metrics } from './core/metrics/catalogue.js'
import { type Store, StoreUnavailable } from './core/store/store.js'
import { startWorker } from './core/workers/pool.js'
import type { DemoKey } from './demo.js'
import { openLog } from './log.js'

// Between two full garbage collections the memory may grow by 300 % of what the last one kept. Each stops all requests for some
// milliseconds, and by default V8 collects once every two pages of 1,000 records, because the buffers of the database's replies
// count. Close to the limit of the heap, it collects earlier all the same.
setFlagsFromString('--heap-growing-percent=300')

/** How long running requests may take to end once the process was told to stop. */
const GRACE_MS = 12_000
/** How long before this end they are cut off: when a process ends, the system closes connections as after a whole response. */
const CUT_OFF_MS = 500
/** The request of a closed connection ends within this many iterations of the event loop. */
const MAX_LAST_ITERATIONS = 10
/** A signal that comes again within this time counts once: npm passes on a signal that its whole process group has got. */
const REPEATED_MS = 250
const RETRY_MS = 2000
/** How many files the process opens besides the connections of callers and those to the database. */
const OTHER_FILES = 64
/** As few connections from callers are of use, the least that MAX_CONNECTIONS may be. */
const MIN_CONNECTIONS = 16

const start = async (settings: Config): Promise<void> => {
  const { store, demoKeys } =
    settings.mongo === undefined ? await openDemo(settings) : { store: openMongo(settings.mongo), demoKeys: [] }
  const poolSize = settings.mongo === undefined ? 0 : store.capacity
  const config = {
    ...settings,
    maxConnections: Math.min(settings.maxConnections, ...freeFiles(poolSize)),
    // No write to the embedded store commits late, so its feeds show everything at once.
    ...(settings.mongo === undefined && { sync: { ...settings.sync, settleMs: 0 } }),
  }
  const app = await buildApp(config, store, openLog())

  if (app.metrics !== undefined) await listenForMetrics(app, app.metrics, config.metrics)
  const { host, port, shutdownDelayMs } = config
  // A burst of connections waits in the system until Node takes them over, one in each iteration of the event loop.
  await app.listen({ host, port, backlog: config.maxConnections }).catch(cannotListen(`HOST ${host}, PORT ${port}`))
  startWorker((err) => app.log.error({ err }, 'the worker has ended'))
  const grace = closeWithGrace(
    { delay: GRACE_MS, logger: app.log, skip: ['SIGTERM', 'SIGINT'] },
    async ({ err, signal, manual }) => {
      if (!manual) app.log.info({ err, signal }, 'closing')
      setTimeout(() => cutOffAll(app.server), GRACE_MS - CUT_OFF_MS)
      await app.close()
      await afterLastLine(app)
      await app.store.close()
    },
  )
  closeOnSignals(app, shutdownDelayMs, grace.close)
  // The service already responds while the banner waits for the database, for a second if it cannot be reached.
  const [ping] = await Promise.allSettled([app.store.ping()])
  if (app.closing.aborted) return
  process.stdout.write(banner(config, app, demoKeys, ping.status === 'fulfilled'))
  app.log.info({ connections: config.maxConnections }, 'the largest number of connections from callers')
  prepareDatabase(app, config.mongo?.ensureIndexes === true)
}

/** An error of the system is caused by the settings, such as a port in use. Any other error is a bug. */
const cannotListen = (settings: string) => (error: NodeJS.ErrnoException) => {
  throw error.syscall ? new ConfigError([`${settings}: ${error.message}`]) : error
}

const listenForMetrics = async (app: FastifyInstance, metrics: Metrics, { host, port = 0 }: Config['metrics']) => {
  const told = { text: metrics.text, requireReady: readiness(app) }
  const server = metricsServer(told, (err) => app.log.error({ err }, 'the metrics cannot be read'))
  app.addHook('onClose', () => server.close())
  await server.listen({ host, port }).catch(cannotListen(`METRICS_HOST ${host}, METRICS_PORT ${port}`))
  const { address, port: opened } = server.server.address() as AddressInfo
  app.log.info({ host: address, port: opened }, 'metrics')
}

/**
 * On SIGTERM the service is no longer ready, and closes after a delay or at the next signal. On SIGINT it closes at once; a
 * SIGINT while it closes ends the process. The listeners stay: a signal that finds none, even for a moment, kills the process.
 */
const closeOnSignals = (app: FastifyInstance, delayMs: number, close: () => void): void => {
  let hasBegun = false
  /** Other signals and errors close it too. */
  const isClosing = (): boolean => hasBegun || app.closing.aborted
  let last: { signal: string; at: number } | undefined
  let delay: NodeJS.Timeout | undefined
  const begin = (signal: NodeJS.Signals): void => {
    clearTimeout(delay)
    if (isClosing()) return
    hasBegun = true
    app.log.info({ signal }, 'closing')
    close()
  }
  const onSignal = (signal: NodeJS.Signals): void => {
    const at = performance.now()
    if (signal === last?.signal && at - last.at < REPEATED_MS) return
    last = { signal, at }
    if (isClosing()) {
      if (signal !== 'SIGINT') return
      // The closing that goes on may end the process first, and with 0.
      process.once('exit', () => {
        process.exitCode = 1
      })
      cutOffAll(app.server)
      afterLastLine(app).then(() => process.exit())
      return
    }
    if (signal === 'SIGINT' || delayMs === 0 || delay !== undefined) begin(signal)
    else {
      app.isLeaving = true
      app.log.info({ signal, ms: delayMs }, 'closing after a delay')
      delay = setTimeout(begin, delayMs, signal)
    }
  }
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
}

/** Waits until requests whose connections were closed have ended. They have their lines in the log then. */
const afterLastLine = async (app: FastifyInstance): Promise<void> => {
  for (let n = 0; app.activeRequests > 0 && n < MAX_LAST_ITERATIONS; n++) await setImmediate()
}

/** How many files are left for callers, if the system limits how many the process may open. */
const freeFiles = (poolSize: number): number[] => {
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files: { soft: number | 'unlimited' } } }
  const files = Number(userLimits?.open_files.soft)
  const least = OTHER_FILES + poolSize + MIN_CONNECTIONS
  if (files < least) {
    throw new ConfigError([
      `maxPoolSize ${poolSize} of MONGODB_URI needs ${least} open files, but the process may open only ${files}: lower it, or raise the limit as with ulimit -n`,
    ])
  }
  return [files - OTHER_FILES - poolSize].filter(Number.isFinite)
}

/** Opens the embedded store with its demo data. It is imported only when needed, because it is a third of all code. */
const openDemo = async ({ demoScenario }: Config): Promise<{ store: Store; demoKeys: readonly DemoKey[] }> => {
  const { embeddedStore } = await import('./core/store/embedded.js')
  const { loadDemo } = await import('./demo.js')
  const store = embeddedStore()
  return { store, demoKeys: await loadDemo(store, { scenario: demoScenario }) }
}

/** Creates missing indexes while the service is already running, as soon as the database can be reached, and looks at all. */
const prepareDatabase = async (app: FastifyInstance, ensureIndexes: boolean): Promise<void> => {
  const { store, log } = app
  try {
    const refused = ensureIndexes ? await store.ensureIndexes() : []
    await Promise.all(recordCollections.map((name) => store.indexes(name)))
    if (refused.length > 0) log.error({ refused }, 'the database refuses to create or change indexes')
    else if (ensureIndexes) log.info('the indexes exist')
  } catch (err) {
    if (!(err instanceof StoreUnavailable)) return log.error({ err }, 'the indexes cannot be listed')
    await sleep(RETRY_MS, undefined, { ref: false })
    return prepareDatabase(app, ensureIndexes)
  }
}

const banner = (config: Config, app: FastifyInstance, demoKeys: readonly DemoKey[], isReachable: boolean): string => {
  const url = config.publicUrl ?? app.listeningOrigin
  const first = demoKeys[0]
  return [
    '',
    `field-data-api on ${url} (${app.store.description}${isReachable ? '' : ', which cannot be reached'})`,
    `  Docs  ${url}/docs`,
    ...(config.explore ? [`  Look  ${url}/explore${first ? `#key=${first.key}` : ''}`] : []),
    ...(first ? [`  Try   curl -H 'Authorization: Bearer ${first.key}' '${url}/v1/entries?perPage=1'`] : []),
    ...demoKeys.map(({ organisation, key }) => `  Key   ${key}  ${organisation.name}`),
    ...(config.mongo ? ['  Key   npx field-data-api keys issue --organisation ID --name NAME'] : []),
    '\n',
  ].join('\n')
}

try {
  await start(loadConfig())
} catch (error) {
  // A user can correct a setting with the message alone. A bug needs its stack trace.
  console.error(error instanceof ConfigError ? error.message : error)
  process.exitCode = 1
}
