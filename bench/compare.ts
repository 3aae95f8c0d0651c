// The service compared with its peers and limits, on the database of 10,000 entries: with replayed replies of the server,
// so that only the cost of each program counts, and with the server itself.
import { addressOf, type Database, withDatabase } from './databases.js'
import { compareWithLimits, PROCESSES, PROCESSES_QUICKLY } from './limits.js'
import { checkContract, type PeerName, type Peers, peerNames, serves, startPeers } from './peers.js'
import {
  type Driver,
  LOAD_CORE,
  type LoadGenerator,
  SERVER_CORE,
  startDriver,
  startLoad,
  startReplayer,
} from './processes.js'
import { type RequestName, requests, type Sample } from './requests.js'
import {
  type Case,
  COMPARED,
  COMPARED_QUICKLY,
  measureRounds,
  type Ratios,
  type Results,
  ROUNDS,
  ratio,
} from './rounds.js'
import { databaseName, usually } from './trial.js'

export type Backend = 'replayed' | 'server'
/** The concurrency of all ratios. */
const COMPARED_AT = usually(16, 1)
export const concurrencies = usually([1, 16, 64], [COMPARED_AT])

export const caseName = (backend: Backend, peer: string, request: RequestName, concurrency: number): string =>
  [backend, peer, request, concurrency].join(' ')

/** What the driver alone does: the list without its total, or with it. */
const driverWorks = { rawDriver: 'aggregate', rawDriverWithTotal: 'aggregateAndCount' } as const

export interface Comparison {
  results: Results
  ratios: Ratios
}

const sampleOf = async ({ service }: Peers, entries: number): Promise<Sample> => {
  const { data } = (await service.get(`/v1/entries?page=${entries / 2}&perPage=1`)) as {
    data: { id: string; dispatch: string }[]
  }
  return { entry: data[0]?.id as string, dispatch: data[0]?.dispatch as string }
}

/**
 * Measures the ratios and, if `everything` is set, every peer with every request too.
 * @param server the URI of the server that has the database
 * @param ms how long each case is measured in each round
 */
export const compare = async (
  server: string,
  database: Database,
  ms: number,
  everything: boolean,
  say: (text: string) => void,
): Promise<Comparison> => {
  const load = startLoad(LOAD_CORE)
  const { replayer, uri, peers, paths } = await startReplayed(server, database, say)
  const live = await startPeers(
    database,
    { uri: database.uri },
    everything ? livePeers : ['service', 'serviceCounting'],
  )
  await checkContract(live, paths)
  const driver = startDriver(database.uri, database.organisation)

  const cases = Object.entries({
    ...peerCases('replayed', peers, paths, load, ms),
    ...peerCases('server', live, paths, load, ms),
    ...driverCases(driver, paths, ms),
  })
  const compared = Object.fromEntries(cases.filter(([name]) => neededNames.has(name)))
  const others = Object.fromEntries(cases.filter(([name]) => !neededNames.has(name)))
  const results = await measureRounds(compared, everything ? COMPARED : COMPARED_QUICKLY, say)
  if (everything) Object.assign(results, await measureRounds(others, ROUNDS, say))
  await Promise.all([...Object.values(peers), ...Object.values(live), driver].map((started) => started.stop()))
  const processes = everything ? PROCESSES : PROCESSES_QUICKLY
  const limits = await compareWithLimits({ database, uri, paths }, load, processes, ms / 2, say)
  const unknown = await replayer.unknown()
  if (unknown > 0) throw new Error(`The replayer got ${unknown} commands that it had not recorded`)
  return { results, ratios: { ...ratiosOf(results), ...limits } }
}

const livePeers: readonly PeerName[] = ['service', 'serviceCounting', 'fastifyObjects', 'expressMongoose', 'feathers']

/** Starts a replayer and the peers that use it, and records the replies to every request. */
const startReplayed = async (server: string, database: Database, say: (text: string) => void, node?: string) => {
  const replayer = await startReplayer(addressOf(server), LOAD_CORE)
  // The driver polls the server's state, because a stream of it cannot be replayed.
  const uri = withDatabase(
    `mongodb://127.0.0.1:${replayer.port}/?serverMonitoringMode=poll`,
    databaseName(database.entries),
  )
  const peers = await startPeers(database, { uri, core: SERVER_CORE, node }, peerNames)
  const paths = requests(database.entries, await sampleOf(peers, database.entries))
  await checkContract(peers, paths)
  const driver = startDriver(uri, database.organisation)
  await driver.measure({ path: paths.list50, work: 'rawAggregate', concurrency: 1, ms: 1 })
  await driver.stop()
  say(`all responses are equal; ${await replayer.replay()} replies recorded`)
  return { replayer, uri, peers, paths }
}

const peerCases = (
  backend: Backend,
  peers: Peers,
  paths: Record<RequestName, string>,
  load: LoadGenerator,
  ms: number,
): Record<string, Case> => {
  const cases: Record<string, Case> = {}
  for (const [request, path] of Object.entries(paths) as [RequestName, string][]) {
    for (const concurrency of concurrencies) {
      for (const peer of peerNames) {
        const server = peers[peer]
        if (server === undefined || !serves(peer, request)) continue
        // 64 responses of 2.1 MB at once would take longer than all other cases together.
        if (request === 'list1000' && concurrency === 64) continue
        cases[caseName(backend, peer, request, concurrency)] = () => server.measure(load, path, concurrency, ms)
      }
    }
  }
  return cases
}

const driverCases = (driver: Driver, paths: Record<RequestName, string>, ms: number): Record<string, Case> => {
  const cases: Record<string, Case> = {}
  for (const [name, work] of Object.entries(driverWorks)) {
    cases[caseName('server', name, 'list50', COMPARED_AT)] = () =>
      driver.measure({ path: paths.list50, work, concurrency: COMPARED_AT, ms })
  }
  return cases
}

/** The ratios of requests a second: the cases of the numerator and of the denominator. */
const fractions: Record<string, [above: string, below: string]> = Object.fromEntries(
  (
    [
      ['list50.vsFastifyObjects', 'replayed', 'list50', 'service', 'fastifyObjects'],
      ['list50.countingVsFastifyObjects', 'replayed', 'list50', 'serviceCounting', 'fastifyObjects'],
      ['list50.vsExpressMongoose', 'replayed', 'list50', 'service', 'expressMongoose'],
      ['list50.countingVsExpressMongoose', 'replayed', 'list50', 'serviceCounting', 'expressMongoose'],
      ['list50.vsFeathers', 'replayed', 'list50', 'service', 'feathers'],
      ['list50.vsRawDriver', 'server', 'list50', 'service', 'rawDriver'],
      ['list50.countingVsRawDriverWithTotal', 'server', 'list50', 'serviceCounting', 'rawDriverWithTotal'],
    ] as const
  ).map(([name, backend, request, above, below]) => [
    name,
    [caseName(backend, above, request, COMPARED_AT), caseName(backend, below, request, COMPARED_AT)],
  ]),
)

const neededNames = new Set(Object.values(fractions).flat())

const ratiosOf = (results: Results): Ratios =>
  Object.fromEntries(
    Object.entries(fractions).map(([name, [above, below]]) => [
      name,
      ratio('perSecond', results[above] ?? [], results[below] ?? []),
    ]),
  )

/** The processor time of each peer for a list of 50 and an entry by id, on each of the given node binaries. */
export const compareNodes = async (
  server: string,
  database: Database,
  nodes: readonly string[],
  ms: number,
  say: (text: string) => void,
): Promise<Results> => {
  const load = startLoad(LOAD_CORE)
  const cases: Record<string, Case> = {}
  for (const node of nodes) {
    const { peers, paths } = await startReplayed(server, database, say, node)
    for (const peer of peerNames) {
      for (const request of ['list50', 'byId'] as const) {
        const server = peers[peer]
        if (server === undefined || !serves(peer, request)) continue
        cases[[node, peer, request].join(' ')] = () => server.measure(load, paths[request], COMPARED_AT, ms)
      }
    }
  }
  return measureRounds(cases, COMPARED, say)
}
