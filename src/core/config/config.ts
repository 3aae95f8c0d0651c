// The settings of the process, and the only reader of the environment; and what package.json says of the release.
import { readFileSync } from 'node:fs'
import { isIPv4 } from 'node:net'
import { type TSchema, Type } from '@sinclair/typebox'
import { defaulted } from '../../../schemas/kit.js'
import { scenarioNames } from '../../../seed/options.js'
import { mongoStore } from '../store/mongo.js'
import type { Store } from '../store/store.js'
import { textChecker } from '../validation/text.js'

export const { description, version } = JSON.parse(
  readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8'),
) as { description: string; version: string }

/** A setting: the environment variable that it is read from, and the schema of that. */
class Setting<V> {
  constructor(
    readonly name: string,
    readonly schema: TSchema,
    readonly from: (checked: never) => V,
  ) {}

  about(description: string): Setting<V> {
    return new Setting(this.name, { ...this.schema, description }, this.from)
  }

  as<W>(convert: (value: V) => W): Setting<W> {
    return new Setting(this.name, this.schema, (checked) => convert(this.from(checked)))
  }
}

const setting = <V>(name: string, schema: TSchema) => new Setting(name, schema, (checked: V) => checked)

const optionalInteger = (name: string, [minimum, maximum]: readonly [number, number]) =>
  setting<number | undefined>(name, Type.Optional(Type.Integer({ minimum, maximum })))

const integer = (name: string, value: number, [minimum, maximum]: readonly [number, number]) =>
  setting<number>(name, defaulted(Type.Integer({ minimum, maximum }), value))

const oneOf = <const W extends string>(name: string, value: NoInfer<W>, words: readonly W[]) =>
  setting<W>(name, defaulted(Type.Unsafe<string>({ type: 'string', enum: words }), value))

const flag = (name: string) => oneOf(name, 'true', ['true', 'false']).as((word) => word === 'true')

const text = (name: string, format: string) => setting<string | undefined>(name, Type.Optional(Type.String({ format })))

const listOf = (list: string): string[] => list.split(/\s*,\s*/)

const settings = {
  host: setting<string>('HOST', defaulted(Type.String(), '127.0.0.1')).about('Address to listen on.'),
  port: integer('PORT', 3000, [0, 65_535]).about('Port to listen on. With 0 the system chooses a free port.'),
  mongo: {
    uri: text('MONGODB_URI', 'mongodb-uri').about(
      'URI of the database to serve. Its path is the name of the database, and its [options](#mongodb) are those of the driver. If it is not set, the embedded store serves demo data, on loopback only.',
    ),
    queryTimeoutMs: integer('QUERY_TIMEOUT_MS', 10_000, [1, 600_000]).about(
      'How long a query may take in the database, in milliseconds.',
    ),
    ensureIndexes: flag('ENSURE_INDEXES').about('Whether the service creates missing indexes when it starts.'),
  },
  demoScenario: oneOf('DEMO_SCENARIO', 'demo', scenarioNames).about(
    'Which demo data the embedded store serves. The command `seed` writes the same to a database.',
  ),
  publicUrl: text('PUBLIC_URL', 'base-url')
    .about(
      'URL under which callers reach the service, for page links and the OpenAPI document. If it is not set, these use the host and protocol of the request, which a caller can choose.',
    )
    .as((url) => url?.replace(/\/+$/, '')),
  contactUrl: text('CONTACT_URL', 'base-url').about(
    'URL where callers learn how to get a key. The description of the API shows it.',
  ),
  trustProxy: text('TRUST_PROXY', 'address-list')
    .about('Proxies whose X-Forwarded headers are trusted: IP addresses or CIDR ranges, separated by commas.')
    .as((list) => list !== undefined && listOf(list)),
  corsOrigins: text('CORS_ORIGINS', 'origin-list')
    .about(
      'Origins whose pages may call the service from a browser, separated by commas, or `*` for all. If it is not set, no page of another origin may.',
    )
    .as((list) => (list === undefined || list === '*' ? list : listOf(list))),
  maxConnections: integer('MAX_CONNECTIONS', 1000, [16, 100_000]).about(
    'Largest number of open connections from callers. It is lower if the system limits how many files the process may open.',
  ),
  responseMemory: integer('RESPONSE_MEMORY_MB', 256, [64, 100_000])
    .about(
      'Memory for responses that their callers have not read yet, in MiB. While the responses of a key hold a third of what is left of it, further requests of the key fail with 503: so it holds a quarter if it is alone. Checks and questions have as much of their own.',
    )
    .as((mib) => mib * 1024 * 1024),
  rateLimit: optionalInteger('RATE_LIMIT', [1, 1_000_000]).about(
    'How many requests a minute one key may send to this instance. Further ones fail with 429. If it is not set, there is no such limit.',
  ),
  maxPerPage: integer('MAX_PER_PAGE', 1000, [50, 10_000]).about('Largest page size that a request may ask for.'),
  totalMaxAgeMs: integer('TOTAL_MAX_AGE_MS', 30_000, [0, 600_000]).about(
    'How old the `total` of a list may be, in milliseconds. With 0 it is counted for every request. Whatever the setting, no total is older than twenty times the time that counting it took.',
  ),
  sync: {
    settleMs: integer('SYNC_SETTLE_MS', 10_000, [0, 600_000]).about(
      'How long after its change stamp a write may be committed, in milliseconds. The change feed shows a change at once, and again after this time. A write that takes longer may be missing from a copy. Without MONGODB_URI it is 0.',
    ),
    stamp: oneOf('SYNC_STAMP', 'changedAt', ['changedAt', 'updatedAt']).about(
      'The field that orders the change feed. `updatedAt` is for databases whose writers cannot keep `changedAt`; its promise is weaker. Changing it makes all cursors invalid, so partners copy again.',
    ),
    tombstoneDays: integer('TOMBSTONE_DAYS', 90, [1, 3650]).about(
      'How long the change feed tells of a deletion, in days. An older cursor gets a 410. The service sets it in the database when it starts; commands use it only where nothing is set yet.',
    ),
  },
  explore: flag('EXPLORE').about(
    'Whether the service has the page `/explore`, which shows the entries of an organisation to anyone who has its key.',
  ),
  mcp: flag('MCP').about('Whether assistants may ask at `/mcp` what their key sees.'),
  shutdownDelayMs: integer('SHUTDOWN_DELAY_MS', 0, [0, 600_000]).about(
    'How long the service goes on as before after a SIGTERM, in milliseconds. Meanwhile only `/health/ready` fails, so that proxies stop sending requests. A second SIGTERM ends this time, and so does a SIGINT.',
  ),
  projectDefaults: oneOf('PROJECT_DEFAULTS', 'usual', ['usual', 'literal']).about(
    'Paging defaults of the project list: `usual` is page 1 with 50 records, `literal` is page 50 with 1 record, as the contract states them.',
  ),
  logLevel: oneOf('LOG_LEVEL', 'info', ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).about(
    'Lowest level that is logged.',
  ),
  metrics: {
    host: setting<string>('METRICS_HOST', defaulted(Type.String(), '127.0.0.1')).about(
      'Address to listen on for `/metrics` and, there, `/health`.',
    ),
    port: optionalInteger('METRICS_PORT', [0, 65_535]).about(
      'Port of [`/metrics`](#metrics), which answers [`/health`](#health) too. If it is not set, nothing is measured. With 0 the system chooses a free port.',
    ),
  },
  isProduction: oneOf('NODE_ENV', 'development', ['production', 'development', 'test'])
    .about(
      'With `production` the service does not start without MONGODB_URI, so that it never serves demo data, nor without PUBLIC_URL, so that no caller can choose where page links lead.',
    )
    .as((word) => word === 'production'),
}

type Values<T> = T extends Setting<infer V> ? V : { [P in keyof T]: Values<T[P]> }
type Table = { readonly [property: string]: Setting<unknown> | Table }

const settingsIn = (table: Table): Setting<unknown>[] =>
  Object.values(table).flatMap((entry) => (entry instanceof Setting ? entry : settingsIn(entry)))

/** The schemas of all settings, under the names of their environment variables. */
export const Settings = Type.Object(Object.fromEntries(settingsIn(settings).map(({ name, schema }) => [name, schema])))

/** Invalid settings, which stop startup. The message names each of them. */
export class ConfigError extends Error {
  constructor(errors: readonly string[]) {
    super(['These settings are invalid:', ...errors].join('\n  '))
    this.name = 'ConfigError'
  }
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))

const checkSettings = textChecker(Settings)

const valuesOf = (table: Table, checked: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(
    Object.entries(table).map(([property, entry]) => [
      property,
      entry instanceof Setting ? entry.from(checked[entry.name] as never) : valuesOf(entry, checked),
    ]),
  )

export type Config = ReturnType<typeof loadConfig>

/**
 * Reads the settings from environment variables. An empty variable counts as not set. A word may be written in any case, and
 * one that is not known is an error, because `NODE_ENV=Production` must not start the demo.
 */
export const loadConfig = (env: Readonly<Record<string, string | undefined>> = process.env) => {
  const input = settingsIn(settings).flatMap(({ name, schema }) => {
    const given = env[name]?.trim()
    const words: readonly string[] = schema.enum ?? []
    return given ? [[name, words.find((word) => word.toLowerCase() === given.toLowerCase()) ?? given]] : []
  })
  const checked = checkSettings(Object.fromEntries(input))
  if ('errors' in checked) throw new ConfigError(checked.errors.map(({ name, message }) => `${name} ${message}`))
  const values = valuesOf(settings, checked.value as Record<string, unknown>) as Values<typeof settings>
  const { host, publicUrl, sync, isProduction } = values
  const { uri, ...mongo } = values.mongo
  const isDemo = uri === undefined
  const errors = [
    isDemo && isProduction && 'MONGODB_URI is missing: with NODE_ENV=production no demo data is served',
    // The keys of the demo are public, so only callers on this machine may use them.
    isDemo &&
      !isLoopback(host) &&
      `HOST ${host} is not loopback: without MONGODB_URI the service serves demo data, to this machine only`,
    isProduction &&
      publicUrl === undefined &&
      'PUBLIC_URL is missing: with NODE_ENV=production page links do not use the Host header of a request',
  ].filter((error) => error !== false)
  if (errors.length > 0) throw new ConfigError(errors)
  const { settleMs, tombstoneDays } = sync
  return { ...values, mongo: uri === undefined ? undefined : { uri, ...mongo, settleMs, tombstoneDays } }
}

/** Opens the store on MongoDB. A URI that the driver rejects is an invalid setting. */
export const openMongo = (settings: NonNullable<Config['mongo']>): Store => {
  try {
    return mongoStore(settings)
  } catch (error) {
    throw new ConfigError([`MONGODB_URI cannot be used: ${(error as Error).message}`])
  }
}
