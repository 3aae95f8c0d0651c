// The settings: where each is read from, and that invalid ones are refused with a message that names each.
import t from 'tap'
import { ConfigError, loadConfig, openMongo } from '../../../src/core/config/config.js'

const url = 'an absolute http or https URL without user, query and fragment'
const uri = 'a URI that begins with mongodb:// or mongodb+srv:// and names a database, as in mongodb://host/database'
const origins = 'origins separated by commas, such as https://app.example.org, or *'

/** Each setting: a value, and where it is then; and an invalid value, and what is allowed instead. */
const settings: readonly (readonly [name: string, value: string, read: object, invalid?: string, allowed?: string])[] =
  [
    ['HOST', '0.0.0.0', { host: '0.0.0.0' }],
    ['PORT', '8080', { port: 8080 }, '70000', 'an integer from 0 to 65535'],
    ['MONGODB_URI', 'mongodb://h/field', { mongo: { uri: 'mongodb://h/field' } }, 'postgres://x', uri],
    ['DEMO_SCENARIO', 'tiny', { demoScenario: 'tiny' }, 'huge', 'one of tiny, demo, survey, campaign, worst-case'],
    ['QUERY_TIMEOUT_MS', '2500', { mongo: { queryTimeoutMs: 2500 } }, 'soon', 'an integer from 1 to 600000'],
    ['ENSURE_INDEXES', 'false', { mongo: { ensureIndexes: false } }, 'no', 'one of true, false'],
    ['PUBLIC_URL', 'https://h/field//', { publicUrl: 'https://h/field' }, 'api.example.org', url],
    ['CONTACT_URL', 'https://h/keys', { contactUrl: 'https://h/keys' }, 'keys@example.org', url],
    [
      'TRUST_PROXY',
      ' 10.0.0.0/8 , ::1 ',
      { trustProxy: ['10.0.0.0/8', '::1'] },
      'yes',
      'a list of IP addresses or CIDR ranges, separated by commas',
    ],
    ['CORS_ORIGINS', 'https://h, http://l:5173', { corsOrigins: ['https://h', 'http://l:5173'] }, 'everyone', origins],
    ['MAX_CONNECTIONS', '500', { maxConnections: 500 }, '1', 'an integer from 16 to 100000'],
    ['RESPONSE_MEMORY_MB', '128', { responseMemory: 128 * 1024 * 1024 }, '1', 'an integer from 64 to 100000'],
    ['RATE_LIMIT', '600', { rateLimit: 600 }, '0', 'an integer from 1 to 1000000'],
    ['MAX_PER_PAGE', '200', { maxPerPage: 200 }, '10', 'an integer from 50 to 10000'],
    ['TOTAL_MAX_AGE_MS', '0', { totalMaxAgeMs: 0 }, '-1', 'an integer from 0 to 600000'],
    ['SYNC_SETTLE_MS', '0', { sync: { settleMs: 0 }, mongo: { settleMs: 0 } }, '600001', 'an integer from 0 to 600000'],
    ['SYNC_STAMP', 'updatedAt', { sync: { stamp: 'updatedAt' } }, 'modifiedAt', 'one of changedAt, updatedAt'],
    [
      'TOMBSTONE_DAYS',
      '30',
      { sync: { tombstoneDays: 30 }, mongo: { tombstoneDays: 30 } },
      '0',
      'an integer from 1 to 3650',
    ],
    ['EXPLORE', 'false', { explore: false }, 'off', 'one of true, false'],
    ['SHUTDOWN_DELAY_MS', '5000', { shutdownDelayMs: 5000 }, '-1', 'an integer from 0 to 600000'],
    ['PROJECT_DEFAULTS', 'literal', { projectDefaults: 'literal' }, 'both', 'one of usual, literal'],
    ['LOG_LEVEL', 'warn', { logLevel: 'warn' }, 'loud', 'one of trace, debug, info, warn, error, fatal, silent'],
    ['METRICS_HOST', '0.0.0.0', { metrics: { host: '0.0.0.0' } }],
    ['METRICS_PORT', '9464', { metrics: { port: 9464 } }, '-1', 'an integer from 0 to 65535'],
    ['NODE_ENV', 'production', { isProduction: true }, 'prod', 'one of production, development, test'],
  ]

t.test('every setting is read from the environment', async (t) => {
  const config = loadConfig({ SHELL: '/bin/sh', ...Object.fromEntries(settings.map(([name, value]) => [name, value])) })
  for (const [name, , read] of settings) t.match(config, read, name)
})

t.test('without any setting the service serves the demo, to this machine only', async (t) => {
  t.match(loadConfig({}), { host: '127.0.0.1', mongo: undefined, trustProxy: false, corsOrigins: undefined })
})

t.test('all invalid settings are named, each with what is allowed', async (t) => {
  const wrong = settings.filter(([, , , invalid]) => invalid !== undefined)
  const lines = wrong.map(([name, , , , allowed]) => `  ${name} must be ${allowed}`)
  try {
    loadConfig(Object.fromEntries(wrong.map(([name, , , invalid]) => [name, invalid])))
    t.fail('accepted')
  } catch (error) {
    t.ok(error instanceof ConfigError)
    t.same((error as Error).message.split('\n').sort(), [...lines, 'These settings are invalid:'].sort())
  }
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
      ENSURE_INDEXES: 'FALSE',
      SYNC_STAMP: 'UpdatedAt',
      LOG_LEVEL: 'WARN',
      NODE_ENV: 'Test',
    }),
    {
      mongo: { ensureIndexes: false },
      sync: { stamp: 'updatedAt' },
      logLevel: 'warn',
      isProduction: false,
    },
  )
  for (const NODE_ENV of ['prod', '"production"', 'production;', 'live']) {
    t.throws(() => loadConfig({ NODE_ENV, MONGODB_URI }), { message: /NODE_ENV must be one of/ }, NODE_ENV)
  }
})

t.test('addresses and URLs are fully validated', async (t) => {
  for (const [name, bad] of [
    ['TRUST_PROXY', ['999.1.1.1', '10.0.0.0/99', '10.0.0.0/8/8', '0.0.0.0/0', '10.0.0.1,', 'loopback', '::1/129']],
    ['PUBLIC_URL', ['http://[bad', 'http://x:99999', 'ftp://x', 'https://x/?a=b', 'https://x/#a', 'https://u:p@x']],
    ['CONTACT_URL', ['https://x/%zz', 'https://x/a b']],
    ['CORS_ORIGINS', ['https://x/', 'https://x:443', 'x', '*,https://x', 'https://x,', 'null', 'https://*.x']],
    [
      'MONGODB_URI',
      ['mongodb://h', 'mongodb://h/', 'mongodb://h/?ssl=true', 'http://h/x', `mongodb://h/${'x'.repeat(64)}`],
    ],
  ] as const) {
    for (const value of bad)
      t.throws(() => loadConfig({ [name]: value }), { message: new RegExp(`${name} must be`) }, value)
  }
  t.equal(loadConfig({ CORS_ORIGINS: '*' }).corsOrigins, '*')
  t.same(loadConfig({ TRUST_PROXY: 'fd00::/8' }).trustProxy, ['fd00::/8'])
  t.ok(loadConfig({ MONGODB_URI: 'mongodb+srv://u:p@host/db?retryReads=true' }).mongo)
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

t.test('an address that the driver rejects is an invalid setting', async (t) => {
  const { mongo } = loadConfig({ MONGODB_URI: 'mongodb://:::/field' })
  t.throws(() => openMongo(mongo as NonNullable<typeof mongo>), {
    message: /^These settings are invalid:\n {2}MONGODB_URI cannot be used: /,
  })
})
