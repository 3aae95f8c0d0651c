// The settings: their defaults, and that invalid ones are refused with a message that names each.
import t from 'tap'
import { ConfigError, loadConfig } from '../../src/config/config.js'

t.test('without any setting the service serves the demo on loopback', async (t) => {
  t.same(loadConfig({}), {
    host: '127.0.0.1',
    port: 3000,
    mongo: undefined,
    demoScenario: 'demo',
    publicUrl: undefined,
    trustProxy: false,
    maxConnections: 1000,
    responseMemory: 256 * 1024 * 1024,
    rateLimit: undefined,
    maxPerPage: 1000,
    totalMaxAgeMs: 30_000,
    sync: { settleMs: 10_000, stamp: 'changedAt', tombstoneDays: 90 },
    explore: true,
    shutdownDelayMs: 0,
    projectDefaults: 'usual',
    logLevel: 'info',
    metrics: { host: '127.0.0.1', port: undefined },
    isProduction: false,
  })
})

t.test('every setting is read from the environment', async (t) => {
  t.same(
    loadConfig({
      HOST: '0.0.0.0',
      PORT: '8080',
      MONGODB_URI: 'mongodb://db.example.org/field',
      DEMO_SCENARIO: 'tiny',
      MONGODB_POOL_SIZE: '20',
      MONGODB_TIMEOUT_MS: '900',
      MONGODB_READ_PREFERENCE: 'nearest',
      QUERY_TIMEOUT_MS: '2500',
      ENSURE_INDEXES: 'false',
      PUBLIC_URL: 'https://api.example.org/field//',
      CONTACT_URL: 'https://example.org/keys',
      TRUST_PROXY: ' 10.0.0.0/8 , ::1 ',
      CORS_ORIGINS: 'https://app.example.org, http://localhost:5173',
      MAX_CONNECTIONS: '500',
      RESPONSE_MEMORY_MB: '128',
      RATE_LIMIT: '600',
      MAX_PER_PAGE: '200',
      TOTAL_MAX_AGE_MS: '0',
      SYNC_SETTLE_MS: '0',
      SYNC_STAMP: 'updatedAt',
      TOMBSTONE_DAYS: '30',
      EXPLORE: 'false',
      SHUTDOWN_DELAY_MS: '5000',
      PROJECT_DEFAULTS: 'literal',
      LOG_LEVEL: 'warn',
      METRICS_HOST: '0.0.0.0',
      METRICS_PORT: '9464',
      NODE_ENV: 'production',
      SHELL: '/bin/sh',
    }),
    {
      host: '0.0.0.0',
      port: 8080,
      mongo: {
        uri: 'mongodb://db.example.org/field',
        poolSize: 20,
        timeoutMs: 900,
        readPreference: 'nearest',
        queryTimeoutMs: 2500,
        settleMs: 0,
        tombstoneDays: 30,
        ensureIndexes: false,
      },
      demoScenario: 'tiny',
      publicUrl: 'https://api.example.org/field',
      contactUrl: 'https://example.org/keys',
      trustProxy: ['10.0.0.0/8', '::1'],
      corsOrigins: ['https://app.example.org', 'http://localhost:5173'],
      maxConnections: 500,
      responseMemory: 128 * 1024 * 1024,
      rateLimit: 600,
      maxPerPage: 200,
      totalMaxAgeMs: 0,
      sync: { settleMs: 0, stamp: 'updatedAt', tombstoneDays: 30 },
      explore: false,
      shutdownDelayMs: 5000,
      projectDefaults: 'literal',
      logLevel: 'warn',
      metrics: { host: '0.0.0.0', port: 9464 },
      isProduction: true,
    },
  )
})

t.test('an empty setting counts as not set', async (t) => {
  t.same(loadConfig({ PORT: '', MONGODB_URI: '', PUBLIC_URL: '' }), loadConfig({}))
})

t.test('a word may be written in any case, and with spaces around it', async (t) => {
  const MONGODB_URI = 'mongodb://db.example.org/field'
  for (const NODE_ENV of ['Production', 'PRODUCTION', ' production\t']) {
    t.throws(() => loadConfig({ NODE_ENV }), { message: /MONGODB_URI is missing/ }, NODE_ENV)
  }
  t.match(
    loadConfig({
      MONGODB_URI,
      MONGODB_READ_PREFERENCE: 'SecondaryPREFERRED',
      ENSURE_INDEXES: 'FALSE',
      SYNC_STAMP: 'UpdatedAt',
      LOG_LEVEL: 'WARN',
      NODE_ENV: 'Test',
    }),
    {
      mongo: { readPreference: 'secondaryPreferred', ensureIndexes: false },
      sync: { stamp: 'updatedAt' },
      logLevel: 'warn',
      isProduction: false,
    },
  )
  for (const NODE_ENV of ['prod', '"production"', 'production;', 'live']) {
    t.throws(() => loadConfig({ NODE_ENV, MONGODB_URI }), { message: /NODE_ENV must be one of/ }, NODE_ENV)
  }
})

t.test('all invalid settings are named, each with what is allowed', async (t) => {
  const invalid = {
    PORT: '70000',
    DEMO_SCENARIO: 'huge',
    MONGODB_POOL_SIZE: '0',
    MONGODB_TIMEOUT_MS: '1.5',
    MONGODB_READ_PREFERENCE: 'fastest',
    QUERY_TIMEOUT_MS: 'soon',
    MONGODB_URI: 'postgres://x',
    PUBLIC_URL: 'api.example.org',
    CONTACT_URL: 'keys@example.org',
    TRUST_PROXY: 'yes please',
    CORS_ORIGINS: 'everyone',
    MAX_CONNECTIONS: '1',
    RESPONSE_MEMORY_MB: '1',
    MAX_PER_PAGE: '10',
    TOTAL_MAX_AGE_MS: '-1',
    SYNC_SETTLE_MS: '600001',
    SYNC_STAMP: 'modifiedAt',
    TOMBSTONE_DAYS: '0',
    EXPLORE: 'off',
    PROJECT_DEFAULTS: 'both',
    LOG_LEVEL: 'loud',
    METRICS_PORT: '-1',
    NODE_ENV: 'prod',
  }
  try {
    loadConfig(invalid)
    t.fail('accepted')
  } catch (error) {
    t.ok(error instanceof ConfigError)
    t.same((error as Error).message.split('\n').sort(), [
      '  CONTACT_URL must be an absolute http or https URL without user, query and fragment',
      '  CORS_ORIGINS must be origins separated by commas, such as https://app.example.org, or *',
      '  DEMO_SCENARIO must be one of tiny, demo, survey, campaign, worst-case',
      '  EXPLORE must be one of true, false',
      '  LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent',
      '  MAX_CONNECTIONS must be an integer from 16 to 100000',
      '  MAX_PER_PAGE must be an integer from 50 to 10000',
      '  METRICS_PORT must be an integer from 0 to 65535',
      '  MONGODB_POOL_SIZE must be an integer from 1 to 10000',
      '  MONGODB_READ_PREFERENCE must be one of primary, primaryPreferred, secondary, secondaryPreferred, nearest',
      '  MONGODB_TIMEOUT_MS must be an integer from 1 to 600000',
      '  MONGODB_URI must be a URI that begins with mongodb:// or mongodb+srv:// and names a database, as in mongodb://host/database',
      '  NODE_ENV must be one of production, development, test',
      '  PORT must be an integer from 0 to 65535',
      '  PROJECT_DEFAULTS must be one of usual, literal',
      '  PUBLIC_URL must be an absolute http or https URL without user, query and fragment',
      '  QUERY_TIMEOUT_MS must be an integer from 1 to 600000',
      '  RESPONSE_MEMORY_MB must be an integer from 64 to 100000',
      '  SYNC_SETTLE_MS must be an integer from 0 to 600000',
      '  SYNC_STAMP must be one of changedAt, updatedAt',
      '  TOMBSTONE_DAYS must be an integer from 1 to 3650',
      '  TOTAL_MAX_AGE_MS must be an integer from 0 to 600000',
      '  TRUST_PROXY must be a list of IP addresses or CIDR ranges, separated by commas',
      'These settings are invalid:',
    ])
  }
})

t.test('addresses and URLs are fully validated', async (t) => {
  for (const [name, bad] of [
    ['TRUST_PROXY', ['999.1.1.1', '10.0.0.0/99', '10.0.0.0/8/8', '0.0.0.0/0', '10.0.0.1,', 'loopback', '::1/129']],
    [
      'PUBLIC_URL',
      [
        'http://[bad',
        'http://x:99999',
        'ftp://x',
        'https://x/?a=b',
        'https://x/#a',
        'https://u:p@x',
        'https://x/%zz',
        'https://x/a b',
      ],
    ],
    ['CORS_ORIGINS', ['https://x/', 'https://x:443', 'x', '*,https://x', 'https://x,', 'null', 'https://*.x']],
    [
      'MONGODB_URI',
      [
        'mongodb://host',
        'mongodb://host/',
        'mongodb://host/?ssl=true',
        'http://host/db',
        `mongodb://host/${'x'.repeat(64)}`,
      ],
    ],
  ] as const) {
    for (const value of bad)
      t.throws(() => loadConfig({ [name]: value }), { message: new RegExp(`${name} must be`) }, value)
  }
  t.equal(loadConfig({ CORS_ORIGINS: '*' }).corsOrigins, '*')
  t.same(loadConfig({ TRUST_PROXY: 'fd00::/8' }).trustProxy, ['fd00::/8'])
  t.ok(loadConfig({ MONGODB_URI: 'mongodb+srv://u:p@host/db?retryReads=true' }).mongo)
})

t.test('the service and its metrics need two ports', async (t) => {
  t.throws(() => loadConfig({ PORT: '4110', METRICS_PORT: '4110' }), {
    message: 'These settings are invalid:\n  PORT and METRICS_PORT are both 4110: they must be different ports',
  })
  t.match(loadConfig({ PORT: '0', METRICS_PORT: '0' }), { port: 0 }, 'the system chooses two')
})

t.test('production needs a database and a public URL, and the demo is served to this machine only', async (t) => {
  t.throws(() => loadConfig({ NODE_ENV: 'production' }), {
    message: /MONGODB_URI is missing.*PUBLIC_URL is missing/s,
  })
  const MONGODB_URI = 'mongodb://db.example.org/field'
  t.throws(() => loadConfig({ NODE_ENV: 'production', MONGODB_URI }), { message: /PUBLIC_URL is missing/ })
  for (const HOST of ['0.0.0.0', '::', '192.168.1.5', 'example.org', '127.0.0.1.example.org', '127.0.0.999']) {
    t.throws(() => loadConfig({ HOST }), { message: /is not loopback/ }, HOST)
  }
  for (const HOST of ['127.0.0.1', '127.8.9.1', '::1', 'localhost']) t.equal(loadConfig({ HOST }).host, HOST)
})
