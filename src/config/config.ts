// The settings of the process, and the only reader of the environment.
import { isIPv4 } from 'node:net'
import { type Static, Type } from '@sinclair/typebox'
import { defaulted, literals } from '../../schemas/kit.js'
import type { MongoSettings } from '../store/mongo.js'
import { type InvalidInput, textChecker } from '../validation/text.js'

type Settings = Static<typeof Settings>
/** Every setting, as the environment names it. */
export const Settings = Type.Object({
  HOST: defaulted(Type.String({ description: 'Address to listen on.' }), '127.0.0.1'),
  PORT: defaulted(
    Type.Integer({ minimum: 0, maximum: 65_535, description: 'Port to listen on; 0 takes any free one.' }),
    3000,
  ),
  MONGODB_URI: Type.Optional(
    Type.String({
      format: 'a URI that begins with mongodb:// or mongodb+srv:// and names a database, as in mongodb://host/database',
      description:
        'Database to serve, with its name as the path; its options go before the settings below. Without it the embedded store serves demo data, on loopback only.',
    }),
  ),
  MONGODB_POOL_SIZE: defaulted(
    Type.Integer({ minimum: 1, maximum: 10_000, description: 'Most connections to each server of MongoDB.' }),
    100,
  ),
  MONGODB_TIMEOUT_MS: defaulted(
    Type.Integer({
      minimum: 1,
      maximum: 600_000,
      description:
        'How long a request waits for a server of MongoDB that is not there, before it is a 503, in milliseconds.',
    }),
    1000,
  ),
  MONGODB_READ_PREFERENCE: defaulted(
    literals(['primary', 'primaryPreferred', 'secondary', 'secondaryPreferred', 'nearest'], {
      description: 'Which members of a replica set are read.',
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
    literals(['true', 'false'], { description: 'Whether the indexes that the database lacks are made at start.' }),
    'true',
  ),
  PUBLIC_URL: Type.Optional(
    Type.String({
      format: 'an absolute http or https URL without user, query and fragment',
      description:
        'URL under which callers reach the service, for page links. Without it: host and protocol of the request, which a caller can set.',
    }),
  ),
  TRUST_PROXY: Type.Optional(
    Type.String({
      format: 'a list of IP addresses or CIDR ranges, separated by commas',
      description: 'Proxies whose X-Forwarded headers count: IP addresses or CIDR ranges, separated by commas.',
    }),
  ),
  MAX_CONNECTIONS: defaulted(
    Type.Integer({
      minimum: 16,
      maximum: 100_000,
      description: 'Most connections of callers; fewer where the system lets the process open few files.',
    }),
    1000,
  ),
  RESPONSE_MEMORY_MB: defaulted(
    Type.Integer({
      minimum: 64,
      maximum: 100_000,
      description:
        'Memory for responses that their callers have not read yet, in MiB; one key gets a quarter. Beyond it requests are a 503.',
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
        'How old the `total` of a list may be at the most, in milliseconds; 0 counts for every request. However large, no total is older than twenty times what it took to count.',
    }),
    30_000,
  ),
  PROJECT_DEFAULTS: defaulted(
    literals(['usual', 'literal'], {
      description:
        'Paging defaults of the project list: `usual` is page 1 with 50 a page, `literal` is page 50 with 1 a page, as the contract states them.',
    }),
    'usual',
  ),
  LOG_LEVEL: defaulted(
    literals(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
      description: 'Least level that is logged.',
    }),
    'info',
  ),
  NODE_ENV: Type.Optional(
    Type.String({
      description:
        '`production` refuses to start without MONGODB_URI, so that no demo data is served, and without PUBLIC_URL, so that no caller chooses where page links lead.',
    }),
  ),
})

export interface Config {
  host: string
  port: number
  /** Undefined: the embedded store with demo data. */
  mongo: (MongoSettings & { ensureIndexes: boolean }) | undefined
  /** Without a slash at its end. */
  publicUrl: string | undefined
  trustProxy: string[] | false
  maxConnections: number
  /** In bytes. */
  responseMemory: number
  maxPerPage: number
  totalMaxAgeMs: number
  projectDefaults: 'usual' | 'literal'
  logLevel: string
}

/** Settings with which the process cannot start; the message names each of them. */
export class ConfigError extends Error {
  constructor(faults: readonly string[]) {
    super(['These settings are wrong:', ...faults].join('\n  '))
    this.name = 'ConfigError'
  }
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))

const checkSettings = textChecker(Settings)

/** Reads the settings from environment variables; an empty variable is one that is not set. */
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
  const faults = MONGODB_URI === undefined ? faultsOfDemo(HOST, NODE_ENV) : []
  if (NODE_ENV === 'production' && PUBLIC_URL === undefined) {
    faults.push('PUBLIC_URL is missing: NODE_ENV is production, where the Host of a request is not put into page links')
  }
  if (faults.length > 0) throw new ConfigError(faults)
  return {
    host: HOST,
    port: settings.PORT,
    mongo: MONGODB_URI === undefined ? undefined : mongoOf(MONGODB_URI, settings),
    publicUrl: PUBLIC_URL?.replace(/\/+$/, ''),
    trustProxy: settings.TRUST_PROXY?.split(/\s*,\s*/) ?? false,
    maxConnections: settings.MAX_CONNECTIONS,
    responseMemory: settings.RESPONSE_MEMORY_MB * 1024 * 1024,
    maxPerPage: settings.MAX_PER_PAGE,
    totalMaxAgeMs: settings.TOTAL_MAX_AGE_MS,
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
  ensureIndexes: settings.ENSURE_INDEXES === 'true',
})

const check = (input: Record<string, string | undefined>): Settings => {
  try {
    return checkSettings(input) as Settings
  } catch (error) {
    throw new ConfigError((error as InvalidInput).faults.map(({ name, message }) => `${name} ${message}`))
  }
}

/** The keys of the demo are known to everybody: nobody but this machine may use them. */
const faultsOfDemo = (host: string, nodeEnv: string | undefined): string[] => [
  ...(nodeEnv === 'production' ? ['MONGODB_URI is missing: NODE_ENV is production, where no demo data is served'] : []),
  ...(isLoopback(host)
    ? []
    : [`HOST ${host} is not loopback: without MONGODB_URI demo data is served, to this machine only`]),
]
