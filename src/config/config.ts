// The settings of the process, and the only reader of the environment.
import { isIPv4 } from 'node:net'
import { type Static, Type } from '@sinclair/typebox'
import { defaulted, literals } from '../../schemas/kit.js'
import { type Scenario, scenarioNames } from '../../seed/options.js'
import type { MongoSettings } from '../store/mongo.js'
import { textChecker } from '../validation/text.js'

type Settings = Static<typeof Settings>
/** Every setting, under the name of its environment variable. */
export const Settings = Type.Object({
  HOST: defaulted(Type.String({ description: 'Address to listen on.' }), '127.0.0.1'),
  PORT: defaulted(
    Type.Integer({
      minimum: 0,
      maximum: 65_535,
      description: 'Port to listen on. With 0 the system chooses a free port.',
    }),
    3000,
  ),
  MONGODB_URI: Type.Optional(
    Type.String({
      format: 'mongodb-uri',
      description:
        'URI of the database to serve. Its path is the name of the database, and its options override the settings below. If it is not set, the embedded store serves demo data, on loopback only.',
    }),
  ),
  DEMO_SCENARIO: defaulted(
    literals(scenarioNames, {
      description: 'Which demo data the embedded store serves. The command `seed` writes the same to a database.',
    }),
    'demo',
  ),
  MONGODB_POOL_SIZE: defaulted(
    Type.Integer({ minimum: 1, maximum: 10_000, description: 'Largest number of connections to each MongoDB server.' }),
    100,
  ),
  MONGODB_TIMEOUT_MS: defaulted(
    Type.Integer({
      minimum: 1,
      maximum: 600_000,
      description:
        'How long a request waits for a MongoDB server that cannot be reached before it fails with 503, in milliseconds.',
    }),
    1000,
  ),
  MONGODB_READ_PREFERENCE: defaulted(
    literals(['primary', 'primaryPreferred', 'secondary', 'secondaryPreferred', 'nearest'], {
      description: 'Which members of a replica set the service reads from.',
    }),
    'primary',
  ),
  QUERY_TIMEOUT_MS: defaulted(
    Type.Integer({
      minimum: 1,
      maximum: 600_000,
      description: 'How long a query may take in the database, in milliseconds.',
    }),
    10_000,
  ),
  ENSURE_INDEXES: defaulted(
    literals(['true', 'false'], { description: 'Whether the service creates missing indexes when it starts.' }),
    'true',
  ),
  PUBLIC_URL: Type.Optional(
    Type.String({
      format: 'base-url',
      description:
        'URL under which callers reach the service, for page links. If it is not set, links use the host and protocol of the request, which a caller can choose.',
    }),
  ),
  CONTACT_URL: Type.Optional(
    Type.String({
      format: 'base-url',
      description: 'URL where callers learn how to get a key. The description of the API shows it.',
    }),
  ),
  TRUST_PROXY: Type.Optional(
    Type.String({
      format: 'address-list',
      description: 'Proxies whose X-Forwarded headers are trusted: IP addresses or CIDR ranges, separated by commas.',
    }),
  ),
  CORS_ORIGINS: Type.Optional(
    Type.String({
      format: 'origin-list',
      description:
        'Origins whose pages may call the service from a browser, separated by commas, or `*` for all. If it is not set, no page of another origin may.',
    }),
  ),
  MAX_CONNECTIONS: defaulted(
    Type.Integer({
      minimum: 16,
      maximum: 100_000,
      description:
        'Largest number of open connections from callers. It is lower if the system limits how many files the process may open.',
    }),
    1000,
  ),
  RESPONSE_MEMORY_MB: defaulted(
    Type.Integer({
      minimum: 64,
      maximum: 100_000,
      description:
        'Memory for responses that their callers have not read yet, in MiB. One key may use a quarter of it. Requests beyond it fail with 503.',
    }),
    256,
  ),
  MAX_PER_PAGE: defaulted(
    Type.Integer({ minimum: 50, maximum: 10_000, description: 'Largest page size that a request may ask for.' }),
    1000,
  ),
  TOTAL_MAX_AGE_MS: defaulted(
    Type.Integer({
      minimum: 0,
      maximum: 600_000,
      description:
        'How old the `total` of a list may be, in milliseconds. With 0 it is counted for every request. Whatever the setting, no total is older than twenty times the time that counting it took.',
    }),
    30_000,
  ),
  SYNC_SETTLE_MS: defaulted(
    Type.Integer({
      minimum: 0,
      maximum: 600_000,
      description:
        'How long the change feed holds a change back, in milliseconds. A write that takes longer from its change stamp to its commit may be missing from a copy. Without MONGODB_URI nothing is held back.',
    }),
    10_000,
  ),
  SYNC_STAMP: defaulted(
    literals(['changedAt', 'updatedAt'], {
      description:
        'The field that orders the change feed. `updatedAt` is for databases whose writers cannot keep `changedAt`; its promise is weaker. Changing it makes all cursors invalid, so partners copy again.',
    }),
    'changedAt',
  ),
  TOMBSTONE_DAYS: defaulted(
    Type.Integer({
      minimum: 1,
      maximum: 3650,
      description:
        'How long the change feed tells of a deletion, in days. An older cursor gets a 410. The service sets it in the database when it starts; commands use it only where nothing is set yet.',
    }),
    90,
  ),
  PROJECT_DEFAULTS: defaulted(
    literals(['usual', 'literal'], {
      description:
        'Paging defaults of the project list: `usual` is page 1 with 50 records, `literal` is page 50 with 1 record, as the contract states them.',
    }),
    'usual',
  ),
  LOG_LEVEL: defaulted(
    literals(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
      description: 'Lowest level that is logged.',
    }),
    'info',
  ),
  NODE_ENV: Type.Optional(
    Type.String({
      description:
        'With `production` the service does not start without MONGODB_URI, so that it never serves demo data, nor without PUBLIC_URL, so that no caller can choose where page links lead.',
    }),
  ),
})

export interface Config {
  host: string
  port: number
  /** Undefined for the embedded store with demo data. */
  mongo: (MongoSettings & { ensureIndexes: boolean }) | undefined
  demoScenario: Scenario
  /** Without a slash at its end. */
  publicUrl: string | undefined
  contactUrl: string | undefined
  trustProxy: string[] | false
  /** Origins, or `*`. Undefined if no page of another origin may call the service. */
  corsOrigins: string[] | '*' | undefined
  maxConnections: number
  /** In bytes. */
  responseMemory: number
  maxPerPage: number
  totalMaxAgeMs: number
  /** The change feed. */
  sync: { settleMs: number; stamp: 'changedAt' | 'updatedAt'; tombstoneDays: number }
  projectDefaults: 'usual' | 'literal'
  logLevel: string
}

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

/** Reads the settings from environment variables. An empty variable counts as not set. */
export const loadConfig = (env: Readonly<Record<string, string | undefined>> = process.env): Config => {
  const settings = check(
    Object.fromEntries(
      Object.keys(Settings.properties).flatMap((name) => {
        const value = env[name]?.trim()
        return value ? [[name, value]] : []
      }),
    ),
  )
  const { HOST, MONGODB_URI, PUBLIC_URL, NODE_ENV } = settings
  const errors = MONGODB_URI === undefined ? demoErrors(HOST, NODE_ENV) : []
  if (NODE_ENV === 'production' && PUBLIC_URL === undefined) {
    errors.push('PUBLIC_URL is missing: with NODE_ENV=production page links do not use the Host header of a request')
  }
  if (errors.length > 0) throw new ConfigError(errors)
  return {
    host: HOST,
    port: settings.PORT,
    mongo: MONGODB_URI === undefined ? undefined : mongoOf(MONGODB_URI, settings),
    demoScenario: settings.DEMO_SCENARIO,
    publicUrl: PUBLIC_URL?.replace(/\/+$/, ''),
    contactUrl: settings.CONTACT_URL,
    trustProxy: settings.TRUST_PROXY?.split(/\s*,\s*/) ?? false,
    corsOrigins: settings.CORS_ORIGINS === '*' ? '*' : settings.CORS_ORIGINS?.split(/\s*,\s*/),
    maxConnections: settings.MAX_CONNECTIONS,
    responseMemory: settings.RESPONSE_MEMORY_MB * 1024 * 1024,
    maxPerPage: settings.MAX_PER_PAGE,
    totalMaxAgeMs: settings.TOTAL_MAX_AGE_MS,
    sync: {
      settleMs: settings.SYNC_SETTLE_MS,
      stamp: settings.SYNC_STAMP,
      tombstoneDays: settings.TOMBSTONE_DAYS,
    },
    projectDefaults: settings.PROJECT_DEFAULTS,
    logLevel: settings.LOG_LEVEL,
  }
}

const mongoOf = (uri: string, settings: Settings): Config['mongo'] => ({
  uri,
  poolSize: settings.MONGODB_POOL_SIZE,
  timeoutMs: settings.MONGODB_TIMEOUT_MS,
  readPreference: settings.MONGODB_READ_PREFERENCE,
  queryTimeoutMs: settings.QUERY_TIMEOUT_MS,
  tombstoneDays: settings.TOMBSTONE_DAYS,
  ensureIndexes: settings.ENSURE_INDEXES === 'true',
})

const check = (input: Record<string, string>): Settings => {
  const checked = checkSettings(input)
  if ('value' in checked) return checked.value as Settings
  throw new ConfigError(checked.errors.map(({ name, message }) => `${name} ${message}`))
}

/** The keys of the demo are public, so only callers on this machine may use them. */
const demoErrors = (host: string, nodeEnv: string | undefined): string[] => [
  ...(nodeEnv === 'production' ? ['MONGODB_URI is missing: with NODE_ENV=production no demo data is served'] : []),
  ...(isLoopback(host)
    ? []
    : [`HOST ${host} is not loopback: without MONGODB_URI the service serves demo data, to this machine only`]),
]
