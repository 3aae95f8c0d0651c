// The service and what it is compared with, started over one database. Each must give the same answers first.
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

/** Whether a peer is asked this: not all serve everything, and an entry by id has no total. */
export const serves = (peer: PeerName, request: RequestName): boolean =>
  peer === 'bareById' ? request === 'byId' : peer !== 'serviceCounting' || request !== 'byId'

export type Peers = Partial<Record<PeerName, Server>> & { service: Server }

interface Surroundings {
  /** The database as the peers reach it, which may be through the replayer. */
  uri: string
  core?: number | undefined
  node?: string | undefined
  /** How long the service keeps a total: as it is set by default, or not at all. */
  countsAlways?: boolean
}

/** The service as it is deployed: with its log, a key and all its plugins. */
export const startService = (
  { key }: Pick<Database, 'key'>,
  { uri, core, node, countsAlways = false }: Surroundings,
): Promise<Server> => {
  const env = { MONGODB_URI: uri, LOG_LEVEL: 'info', QUERY_TIMEOUT_MS: '120000' }
  const always: Record<string, string> = countsAlways ? { TOTAL_MAX_AGE_MS: '0' } : {}
  return startServer('../src/server.js', { env: { ...env, ...always }, core, node }, { authorization: `Bearer ${key}` })
}

export const startPeers = async (
  database: Database,
  { uri, core, node }: Surroundings,
  names: readonly PeerName[],
): Promise<Peers> => {
  const service = await startService(database, { uri, core, node })
  const env = { MONGODB_URI: uri, ORGANISATION: database.organisation, NODE_ENV: 'production' }
  const serviceEnv = { SERVICE_URL: service.url, SERVICE_KEY: database.key }
  const peers: Peers = { service }
  for (const name of names) {
    if (name === 'service') continue
    if (name === 'serviceCounting') peers[name] = await startService(database, { uri, core, node, countsAlways: true })
    else peers[name] = await startServer(files[name], { env: { ...env, ...serviceEnv }, core, node })
  }
  return peers
}

interface Answer {
  data: unknown
  _metadata?: Record<string, unknown>
}

/** Asks each peer everything, and refuses one whose answer is not the service's. */
export const checkContract = async (peers: Peers, paths: Partial<Record<RequestName, string>>): Promise<void> => {
  for (const [request, path] of Object.entries(paths) as [RequestName, string][]) {
    const expected = contractOf((await peers.service.get(path)) as Answer)
    for (const [peer, server] of Object.entries(peers) as [PeerName, Server][]) {
      if (!serves(peer, request)) continue
      const actual = contractOf((await server.get(path)) as Answer)
      const place = difference(expected, actual)
      if (place !== undefined) {
        throw new Error(`${peerTitles[peer]} is refused: its answer to ${path} is not the service's, at ${place}`)
      }
    }
  }
}

/** What must be the same: all of the data, and the numbers of the page. Links are this service's own. */
const contractOf = ({ data, _metadata }: Answer) => ({
  data,
  ...(_metadata && { page: ['total', 'perPage', 'pageCount'].map((name) => _metadata[name]) }),
})

/** The first place where two values differ; the order of names does not matter. */
const difference = (expected: unknown, actual: unknown, place = 'answer'): string | undefined => {
  if (isDeepStrictEqual(expected, actual)) return undefined
  if (typeof expected === 'object' && typeof actual === 'object' && expected !== null && actual !== null) {
    for (const name of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
      const inner = difference(expected[name as never], actual[name as never], `${place}.${name}`)
      if (inner !== undefined) return inner
    }
  }
  return `${place}: ${JSON.stringify(actual)} in place of ${JSON.stringify(expected)}`
}
