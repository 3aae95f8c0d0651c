// The service and what it is compared with, all started with one database. Each peer must first send equal responses.
import { isDeepStrictEqual } from 'node:util'
import type { Database } from './databases.js'
import { type Server, startServer } from './processes.js'
import type { RequestName } from './requests.js'

export const peerNames = [
  'service',
  'serviceCounting',
  'fastifyObjects',
  'expressMongoose',
  'feathers',
  'readyBuffer',
  'bareById',
] as const
export type PeerName = (typeof peerNames)[number]

export const peerTitles: Record<PeerName, string> = {
  service: 'this service',
  serviceCounting: 'this service, counting for every request',
  fastifyObjects: 'Fastify, driver objects, TypeBox',
  expressMongoose: 'Express, mongoose, populate',
  feathers: 'Feathers on Koa, MongoDB adapter',
  readyBuffer: 'ready buffer on bare Fastify',
  bareById: 'bare by-id: our pipeline, store and serializer on bare Fastify',
}

const files: Record<Exclude<PeerName, 'service' | 'serviceCounting'>, string> = {
  fastifyObjects: 'peers/fastify-objects.js',
  expressMongoose: 'peers/express-mongoose.js',
  feathers: 'peers/feathers.js',
  readyBuffer: 'peers/ready-buffer.js',
  bareById: 'peers/bare-by-id.js',
}

/** Whether a peer gets this request. Bare by-id has no lists, and an entry by id has no total that could be counted. */
export const serves = (peer: PeerName, request: RequestName): boolean =>
  peer === 'bareById' ? request === 'byId' : peer !== 'serviceCounting' || request !== 'byId'

/** The service, and those peers that were started. */
export type Peers<N extends PeerName = never> = Partial<Record<PeerName, Server>> & Record<'service' | N, Server>

interface Surroundings {
  /** The URI of the database, or of the replayer. */
  uri: string
  core?: number | undefined
  node?: string | undefined
  /** Makes the service count the total for every request, instead of keeping it for a while. */
  countsAlways?: boolean
  /** How long it keeps counts, if not as long as by default. */
  keptMs?: number
  /** Without it there are no metrics. */
  metricsPort?: number | undefined
  poolSize?: number
  queryTimeoutMs?: number
}

/** Starts the service as it is deployed: with its log, API keys and all plugins. */
export const startService = (
  { key }: Pick<Database, 'key'>,
  { uri, core, node, countsAlways = false, keptMs, metricsPort, poolSize, queryTimeoutMs = 120_000 }: Surroundings,
): Promise<Server> => {
  const pooled = poolSize === undefined ? uri : `${uri}${uri.includes('?') ? '&' : '?'}maxPoolSize=${poolSize}`
  const env = { MONGODB_URI: pooled, LOG_LEVEL: 'info', QUERY_TIMEOUT_MS: String(queryTimeoutMs) }
  const maxAge = countsAlways ? 0 : keptMs
  const kept: Record<string, string> = maxAge === undefined ? {} : { TOTAL_MAX_AGE_MS: String(maxAge) }
  const metrics: Record<string, string> = metricsPort === undefined ? {} : { METRICS_PORT: String(metricsPort) }
  return startServer(
    '../src/server.js',
    { env: { ...env, ...kept, ...metrics }, core, node },
    { authorization: `Bearer ${key}` },
  )
}

export const startPeers = async <N extends PeerName>(
  database: Database,
  { uri, core, node }: Surroundings,
  names: readonly N[],
): Promise<Peers<N>> => {
  const service = await startService(database, { uri, core, node })
  const env = { MONGODB_URI: uri, ORGANISATION: database.organisation, NODE_ENV: 'production' }
  const serviceEnv = { SERVICE_URL: service.url, SERVICE_KEY: database.key }
  const peers: Peers = { service }
  for (const name of names as readonly PeerName[]) {
    if (name === 'service') continue
    if (name === 'serviceCounting') peers[name] = await startService(database, { uri, core, node, countsAlways: true })
    else peers[name] = await startServer(files[name], { env: { ...env, ...serviceEnv }, core, node })
  }
  return peers as Peers<N>
}

interface Body {
  data: unknown
  _metadata?: Record<string, unknown>
}

/** Sends each request to each peer. Throws if a response differs from that of the service. */
export const checkContract = async (peers: Peers, paths: Partial<Record<RequestName, string>>): Promise<void> => {
  for (const [request, path] of Object.entries(paths) as [RequestName, string][]) {
    const expected = contractOf((await peers.service.get(path)) as Body)
    for (const [peer, server] of Object.entries(peers) as [PeerName, Server][]) {
      if (!serves(peer, request)) continue
      const actual = contractOf((await server.get(path)) as Body)
      const place = difference(expected, actual)
      if (place !== undefined) {
        throw new Error(`${peerTitles[peer]}: its response to ${path} differs from the service's at ${place}`)
      }
    }
  }
}

/** The parts that must be equal: all data, and the numbers of the page. Only the service sends page links. */
const contractOf = ({ data, _metadata }: Body) => ({
  data,
  ...(_metadata && { page: ['total', 'perPage', 'pageCount'].map((name) => _metadata[name]) }),
})

/** The first place where two values differ. The order of property names does not matter. */
const difference = (expected: unknown, actual: unknown, place = 'response'): string | undefined => {
  if (isDeepStrictEqual(expected, actual)) return undefined
  if (typeof expected === 'object' && typeof actual === 'object' && expected !== null && actual !== null) {
    for (const name of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
      const inner = difference(expected[name as never], actual[name as never], `${place}.${name}`)
      if (inner !== undefined) return inner
    }
  }
  return `${place}: ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}`
}
