// The process: settings, store, application, listening, and an orderly end on signals.
import closeWithGrace from 'close-with-grace'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { buildApp } from './app.js'
import { type Config, ConfigError, loadConfig } from './config/config.js'
import { openMongo } from './config/open-mongo.js'
import type { DemoKey } from './demo.js'
import { openLog } from './log.js'
import { type Store, StoreUnavailable } from './store/store.js'

/** How long requests under way may take to end once the process was told to, in milliseconds. */
const GRACE_MS = 12_000
/** How long until a database that is not there is tried again, in milliseconds. */
const RETRY_MS = 2000

/** Files that the process opens beside the connections of callers and of the pool. */
const OTHER_FILES = 64

const start = async (settings: Config): Promise<void> => {
  const config = { ...settings, maxConnections: Math.min(settings.maxConnections, ...freeFiles(settings)) }
  const { store, demoKeys } =
    config.mongo === undefined ? await openDemo() : { store: openMongo(config.mongo), demoKeys: [] }
  const app = await buildApp(config, store, openLog())

  await app.listen({ host: config.host, port: config.port }).catch((error) => {
    // What the system refuses is a matter of the settings; anything else is a fault of the program.
    throw error.syscall ? new ConfigError([`HOST ${config.host}, PORT ${config.port}: ${error.message}`]) : error
  })
  process.stdout.write(banner(config, app, demoKeys))
  app.log.info({ connections: config.maxConnections }, 'the most connections of callers')

  if (config.mongo?.ensureIndexes) ensureIndexes(store, app.log)
  closeWithGrace({ delay: GRACE_MS, logger: app.log }, async ({ err, signal }) => {
    app.log.info({ err, signal }, 'closing')
    await app.close()
    await store.close()
  })
}

/** How many files are left for callers, where the system limits how many the process may open. */
const freeFiles = ({ mongo }: Config): number[] => {
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files: { soft: number | 'unlimited' } } }
  const left = Number(userLimits?.open_files.soft) - OTHER_FILES - (mongo?.poolSize ?? 0)
  return [Math.max(1, left)].filter(Number.isFinite)
}

/** The embedded store with its demo data: loaded when it is needed, since its libraries are a third of all code. */
const openDemo = async (): Promise<{ store: Store; demoKeys: readonly DemoKey[] }> => {
  const { embeddedStore } = await import('./store/embedded.js')
  const { loadDemo } = await import('./demo.js')
  const store = embeddedStore()
  return { store, demoKeys: await loadDemo(store) }
}

/** Makes the missing indexes while the service runs already, and waits for a database that is not there yet. */
const ensureIndexes = async (store: Store, log: FastifyBaseLogger): Promise<void> => {
  try {
    await store.ensureIndexes()
    log.info('the indexes are there')
  } catch (err) {
    log.error({ err }, 'the indexes cannot be made now: filters and sorts may be slow')
    if (err instanceof StoreUnavailable) setTimeout(ensureIndexes, RETRY_MS, store, log).unref()
  }
}

const banner = (config: Config, app: FastifyInstance, demoKeys: readonly DemoKey[]): string => {
  const url = config.publicUrl ?? app.listeningOrigin
  const first = demoKeys[0]
  return [
    '',
    `field-data-api on ${url} (${app.store.description})`,
    `  Docs  ${url}/docs`,
    ...(first ? [`  Try   curl -H 'Authorization: Bearer ${first.key}' '${url}/v1/entries?perPage=1'`] : []),
    ...demoKeys.map(({ organisation, key }) => `  Key   ${key}  ${organisation.name}`),
    '\n',
  ].join('\n')
}

try {
  await start(loadConfig())
} catch (error) {
  // What the user can mend is said in words; a fault of the program keeps its stack.
  console.error(error instanceof ConfigError ? error.message : error)
  process.exitCode = 1
}
