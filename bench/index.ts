// The command line of the benchmark, `npm run bench`. Without options it measures everything and writes bench/RESULTS.md.
import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { isWithoutBrowser } from '../acceptance/support/browser.js'
import { isWithoutProxy } from '../acceptance/support/haproxy.js'
import { attacks } from './attacks.js'
import { compare, compareNodes } from './compare.js'
import { type Database, describeServer, isReachable, prepareDatabase, prepareNeighbours } from './databases.js'
import { benchEmbedded } from './embedded.js'
import { exploreAll, exploreCounted } from './explore.js'
import { besideExports, exportMethod, exportsOf } from './exports.js'
import { fresh } from './fresh.js'
import { growth } from './growth.js'
import { indexCosts } from './indexes.js'
import { PROCESSES } from './limits.js'
import { metricsCost } from './metrics.js'
import { neighbour, neighbourMethod } from './neighbour.js'
import { overload } from './overload.js'
import { pinned, stopAll } from './processes.js'
import {
  besideText,
  comparisonTables,
  countedText,
  exploreTable,
  exportTable,
  growthPlots,
  growthTables,
  indexText,
  neighbourTable,
  nodeTable,
  overloadText,
  planText,
  ratioTable,
  summaryTable,
  surroundings,
  syncTable,
  withGoal,
} from './report.js'
import { COMPARED, type Ratios, ROUNDS } from './rounds.js'
import { summaries } from './summaries.js'
import { sync, syncMethod } from './sync.js'
import { isTrial, usually } from './trial.js'

const usage = `Usage:
  npm run bench -- [--quick | --growth | --neighbour | --sync | --attacks | --fresh | --exports | --explore | --overload | --metrics | --indexes | --summaries] [--json FILE] [--entries 1000000] [--seconds 0.4] [--node PATH]...
  npm run bench -- --store embedded [--entries 10000]
  npm run bench -- --try [--quick | …]

Compares the service with other ways to write it, in one run, and writes bench/RESULTS.md. It needs the MongoDB server of
BENCH_MONGODB_URI, or one at mongodb://127.0.0.1:27017. It writes the databases bench-10000, bench-100000, bench-1000000
and bench-neighbours there, and keeps them. Without options and without a server it measures the embedded store.

  --quick      measures only the ratios to peers and limits and beside a neighbour, within five minutes; writes no report
  --growth     measures only how times grow with the data; writes no report
  --neighbour  measures only how much one organisation slows down another; writes no report
  --attacks    measures only what one organisation can do to another, and how requests fail without a database; writes no
               report, and needs the database bench-attacks besides
  --fresh      measures only how soon and at what cost changes reach a copy; writes no report, and makes the database
               bench-fresh anew
  --exports    measures only what exports of the largest database cost; writes no report
  --explore    measures only how the page /explore does in Chromium with 50,000, 100,000 and --entries; writes no report, and
               needs the database bench-50000 besides
  --overload   measures only what becomes of four times the load that two instances can serve, behind the HAProxy that
               HAPROXY_PATH names; writes no report
  --indexes    measures only what indexes cost those who write, and what lists cost without an index of their own; writes
               no report, and needs the databases bench-150000 and bench-indexes besides
  --summaries  measures only what counts of entries cost; writes no report
  --metrics    measures only the processor time of a request with metrics against without; writes no report
  --sync       measures only what keeping a copy of the largest database costs; writes no report
  --try        measures each mode, or the one that is named, for an instant on small data, to show that it ends well; it
               needs databases besides whose names begin with bench-try, and writes no report. It leaves out the page
               /explore unless CHROMIUM_PATH is set, and the overload unless HAPROXY_PATH is
  --json       writes the ratios that have a goal to a file
  --store      mongo or embedded
  --entries    the size of the largest database
  --seconds    how long each case is measured in each round; turns are half as long for the ratios to limits, twice as
               long beside a neighbour, and four times as long for growth
  --node       another node binary, with which the processor time of a request is measured too`

const method = `All peers read the same data as the service, and the benchmark first checks that their responses are equal. The data are
entries of one organisation; a page of 50 is 110 KB, and an entry by id is 3 KB. *Replayed* means that a process sends
recorded replies of the server to the driver, so that the time of the database does not count. A ratio is the median of
the ratios of ${COMPARED.counted} rounds with 16 requests at once, after ${COMPARED.warmUp} rounds that are discarded. \`byId.stackVsBare\` and
\`list50.shareOfLimit\` differ from process to process of the same build, so the processes are started ${PROCESSES} times: the
value is the median, beside the lowest and the highest. All other figures are medians of ${ROUNDS.counted} rounds. Growth is measured
with one request at a time. The service writes its log and checks an API key; the peers do neither. The service keeps a
total for at most twenty times as long as it took to count, while the peers count for every request. *Counting* is the
service with \`TOTAL_MAX_AGE_MS=0\`, which counts for every request too.
`

const SMALL = usually(10_000, 1000)
const MIDDLE = usually(150_000, 1000)
const LARGE = usually(1_000_000, 2000)
const RESULTS = 'bench/RESULTS.md'

const begun = Date.now()
const say = (text: string): void => {
  console.error(`${((Date.now() - begun) / 1000).toFixed(0).padStart(5)} s  ${text}`)
}

const versionOf = (node: string): string => execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()

const PARTS = [
  'quick',
  'growth',
  'neighbour',
  'sync',
  'attacks',
  'fresh',
  'exports',
  'explore',
  'overload',
  'metrics',
  'indexes',
  'summaries',
] as const
type Part = (typeof PARTS)[number]
/** The parts of the report. */
const REPORTED: readonly Part[] = ['quick', 'growth', 'neighbour', 'sync', 'exports']

const options = () => {
  try {
    const { values } = parseArgs({
      options: {
        quick: { type: 'boolean' },
        growth: { type: 'boolean' },
        neighbour: { type: 'boolean' },
        sync: { type: 'boolean' },
        attacks: { type: 'boolean' },
        fresh: { type: 'boolean' },
        exports: { type: 'boolean' },
        explore: { type: 'boolean' },
        overload: { type: 'boolean' },
        metrics: { type: 'boolean' },
        indexes: { type: 'boolean' },
        summaries: { type: 'boolean' },
        json: { type: 'string' },
        store: { type: 'string' },
        entries: { type: 'string' },
        seconds: { type: 'string' },
        node: { type: 'string', multiple: true },
        try: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    })
    if (values.help) {
      console.log(usage)
      process.exit(0)
    }
    const entries = values.entries === undefined ? undefined : Number(values.entries)
    const ms = Number(values.seconds ?? usually(0.4, 0.01)) * 1000
    if (entries !== undefined && !(Number.isInteger(entries) && entries >= 1000 && entries % 1000 === 0)) {
      throw new Error('--entries must be a multiple of 1000')
    }
    if (!(ms > 0)) throw new Error('--seconds must be a number above 0')
    for (const node of values.node ?? []) versionOf(node)
    const parts = PARTS.filter((name) => values[name])
    if (parts.length > 1) throw new Error(`Only one of ${PARTS.map((name) => `--${name}`).join(', ')} is allowed`)
    if (values.store !== undefined && !['mongo', 'embedded'].includes(values.store)) {
      throw new Error('--store must be mongo or embedded')
    }
    const { store, json } = values
    if (store === 'embedded' && Object.keys(values).some((name) => name !== 'store' && name !== 'entries')) {
      throw new Error('--store embedded allows no other option than --entries')
    }
    if (json !== undefined && !existsSync(dirname(resolve(json)))) {
      throw new Error(`--json: the folder ${dirname(json)} does not exist`)
    }
    return { node: [], ...values, only: parts[0], entries, ms }
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`)
    process.exit(2)
  }
}

const { only, json, store, entries, ms, node: nodes } = options()
const named = process.env.BENCH_MONGODB_URI
const server = named || 'mongodb://127.0.0.1:27017/'
/** How many times longer growth is measured, which has one request at a time. */
const ALONE = 4
/** How many times longer a turn beside a neighbour is. */
const JOINED_SUFFIX = 2

/** Everything that was printed, for the report. */
const text: string[] = []
const print = (...parts: string[]): void => {
  const part = `${parts.join('\n\n')}\n`
  text.push(part)
  console.log(part)
}

const prepare = (size: number): Promise<Database> => prepareDatabase(server, size, say)

/** The sizes of the databases: each is ten times as large as the one before, and the last is `largest`. */
const sizesTo = (largest: number): number[] => {
  const sizes: number[] = []
  for (let size = SMALL; size < largest; size *= 10) sizes.push(size)
  return [...sizes, largest]
}

const runNodes = async (small: Database): Promise<void> => {
  const all = [process.execPath, ...nodes]
  const versions = new Map(all.map((node) => [node, versionOf(node)]))
  const results = await compareNodes(server, small, all, ms, say)
  print('## Processor time by version of Node, replayed, 16 at once', nodeTable(results, versions))
  await stopAll()
}

/** Measures what was asked for, or without a name what the report has. */
const run = async (only?: Part): Promise<Ratios> => {
  const ratios: Ratios = {}
  let appendix = ''
  const rates: string[] = []

  if (only === undefined || only === 'quick') {
    const small = await prepare(SMALL)
    const comparison = await compare(server, small, ms, only !== 'quick', say)
    await stopAll()
    Object.assign(ratios, comparison.ratios)
    print(
      '## Replayed replies of the server',
      `${SMALL.toLocaleString('en')} entries.`,
      comparisonTables(comparison.results, 'replayed'),
    )
    print('## On the server', `${SMALL.toLocaleString('en')} entries.`, comparisonTables(comparison.results, 'server'))
    if (nodes.length > 0) await runNodes(small)
  }
  if (only === 'attacks') {
    await attacks(server, 10 * ms, say)
    await stopAll()
    return ratios
  }
  if (only === 'fresh') {
    const { waited, pollBytes, hot } = await fresh(server, 300 * ms, say)
    await stopAll()
    const ratio = { 'fresh.pollBytes': pollBytes }
    print(
      `From commit to a reader who waits: ${Math.round(waited.p50)} ms (median), ${Math.round(waited.p99)} ms (p99)`,
      `A record that is changed every 200 ms: ${hot.runs} runs, ${hot.missed} of them without its state`,
      ratioTable(ratio),
    )
    return ratio
  }
  if (only === 'overload') {
    const overloaded = await overload(await prepare(SMALL), 300 * ms, say)
    await stopAll()
    print(overloadText(overloaded), ratioTable(overloaded.ratios))
    return overloaded.ratios
  }
  if (only === 'metrics') {
    const costs = await metricsCost(await prepare(SMALL), ms, say)
    await stopAll()
    print(ratioTable(costs))
    return costs
  }
  if (only === 'indexes') {
    const sizes = {
      small: await prepare(SMALL),
      middle: await prepare(MIDDLE),
      large: await prepare(entries ?? LARGE),
    }
    const costs = await indexCosts(server, sizes, ms, say)
    await stopAll()
    print(indexText(costs), ratioTable(costs.ratios))
    return costs.ratios
  }
  if (only === 'summaries') {
    const counted = await summaries(await prepare(entries ?? LARGE), ms, say)
    await stopAll()
    print(summaryTable(counted), ratioTable(counted.ratios))
    return counted.ratios
  }
  if (only === 'explore') {
    const counted = await exploreCounted(await prepare(entries ?? LARGE), say)
    print(
      exploreTable(
        await exploreAll([await prepare(usually(50_000, SMALL)), await prepare(usually(100_000, LARGE))], say),
      ),
      countedText(counted),
    )
    return ratios
  }
  if (only !== 'growth' && only !== 'sync' && only !== 'exports') {
    const beside = await neighbour(await prepareNeighbours(server, say), JOINED_SUFFIX * ms, say)
    await stopAll()
    Object.assign(ratios, beside.ratios)
    print('## Beside a neighbour', neighbourMethod, neighbourTable(beside))
  }
  if (only === undefined || only === 'growth') {
    const databases: Database[] = []
    for (const size of sizesTo(entries ?? LARGE)) databases.push(await prepare(size))
    const grown = await growth(databases, ALONE * ms, say)
    await stopAll()
    Object.assign(ratios, grown.ratios)
    for (const { entries, seedRate } of databases) {
      if (seedRate) rates.push(`${entries.toLocaleString('en')} at ${Math.round(seedRate)} a second`)
    }
    print('## Growth', 'On the server, one request at a time.', growthTables(grown), `Seeded: ${rates.join('; ')}.`)
    const plots = growthPlots(grown)
    appendix = `## Query plans\n\n${planText(grown)}\n`
    if (only === 'growth') console.log(appendix)
    else if (!isTrial) {
      writeFileSync('bench/latency-by-size.svg', plots.bySize)
      writeFileSync('bench/latency-by-page.svg', plots.byPage)
    }
  }

  if (only === undefined || only === 'sync') {
    const synced = await sync(await prepare(entries ?? LARGE), ms, say)
    await stopAll()
    Object.assign(ratios, synced.ratios)
    print('## Keeping a copy', syncMethod, syncTable(synced))
  }

  if (only === undefined || only === 'exports') {
    const exported = await exportsOf(await prepare(entries ?? LARGE), say)
    await stopAll()
    const beside = await besideExports(await prepareNeighbours(server, say), 10 * ms)
    await stopAll()
    Object.assign(ratios, exported.ratios, { 'export.besideP99': beside.ratio })
    print('## Exports', exportMethod, exportTable(exported), besideText(beside))
  }

  const about = surroundings(await describeServer(server), pinned())
  // The report does not show where files are on this machine.
  const given = process.argv.slice(2).map((argument) => basename(argument))
  const command = ['npm run bench', ...(given.length > 0 ? ['--', ...given] : [])].join(' ')
  const summary = `${about}\n- Command: \`${command}\`\n\n## Ratios\n\n${ratioTable(ratios)}\n`
  console.log(summary)
  if (only === undefined && !isTrial) {
    const images = '![Time by size](latency-by-size.svg)\n\n![Time by page](latency-by-page.svg)\n'
    writeFileSync(RESULTS, ['# Results of the benchmark\n', method, summary, ...text, images, appendix].join('\n'))
    say(`${RESULTS} written`)
  }
  return ratios
}

/** The parts that a trial leaves out, because a program is not there. */
const missing: readonly Part[] = [
  ...(isWithoutBrowser ? ['explore' as const] : []),
  ...(isWithoutProxy ? ['overload' as const] : []),
]

const reachable = store !== 'embedded' && (await isReachable(server))
/** Whether the options need a server. */
const needsServer = isTrial || store === 'mongo' || Boolean(named) || only !== undefined || json !== undefined
if (store === 'embedded' || (!reachable && !needsServer)) {
  await benchEmbedded(entries ?? SMALL, 300)
} else if (!reachable) {
  console.error(`No MongoDB server responds at ${server}; BENCH_MONGODB_URI names another`)
  process.exitCode = 1
} else {
  try {
    if (isTrial && only === undefined) {
      await benchEmbedded(SMALL, 1)
      for (const part of PARTS) if (!REPORTED.includes(part) && !missing.includes(part)) await run(part)
    }
    const ratios = await run(only)
    if (json !== undefined) writeFileSync(json, `${JSON.stringify(withGoal(ratios), null, 2)}\n`)
  } finally {
    await stopAll()
  }
}
