// The benchmark's command line: `npm run bench`. Without options it measures everything and writes bench/RESULTS.md.
import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { compare, compareNodes } from './compare.js'
import { type Database, describeServer, isServerThere, prepareDatabase, prepareNeighbours } from './databases.js'
import { benchEmbedded } from './embedded.js'
import { growth } from './growth.js'
import { neighbour, neighbourMethod } from './neighbour.js'
import { pinned, stopAll } from './processes.js'
import {
  comparisonTables,
  growthPlots,
  growthTables,
  neighbourTable,
  nodeTable,
  planText,
  ratioTable,
  surroundings,
  underGoal,
} from './report.js'
import { COMPARED, ROUNDS } from './rounds.js'

const usage = `Usage:
  npm run bench -- [--quick | --growth | --neighbour] [--json FILE] [--entries 1000000] [--seconds 0.4] [--node PATH]...
  npm run bench -- --store embedded [--entries 10000]

Compares the service with other ways to write it, in one run, and writes bench/RESULTS.md. It needs a server, that of
BENCH_MONGODB_URI or mongodb://127.0.0.1:27017, and writes and keeps the databases bench-10000, bench-100000,
bench-1000000 and bench-neighbours there. Without options and without a server it measures the embedded store.

  --quick      only the ratios against peers and beside a neighbour, without growth; writes no report
  --growth     only how times grow with the data; writes no report
  --neighbour  only what an organisation suffers from another; writes no report
  --json       writes the ratios that have a goal into a file
  --store      mongo or embedded
  --entries    size of the largest database
  --seconds    how long each case is measured in each round; what a ratio compares has four times as many rounds, growth
               is measured four times as long, and a turn beside a neighbour is twice as long
  --node       another node binary, on which the processor time of a request is measured too`

const method = `Every peer gives the same answers as the service, which is checked first, over the same data: entries of one
organisation, of which a page of 50 is 110 KB and one by its id 3 KB. *Replayed* means that a process answers the driver
with recorded replies of the server, so that the time of the database is left out. A ratio is the median of the ratios of
${COMPARED.counted} rounds, with 16 requests under way, after ${COMPARED.warmUp} that do not count. All else is the median of ${ROUNDS.counted} rounds; growth is
measured with one request at a time. The service writes its log and checks a key; the peers do neither. It keeps a total
for at most twenty times what it cost to count, while the peers count for every request: *counting* is the service told
not to (\`TOTAL_MAX_AGE_MS=0\`).
`

const SMALL = 10_000
const RESULTS = 'bench/RESULTS.md'

const begun = Date.now()
const say = (text: string): void => {
  console.error(`${((Date.now() - begun) / 1000).toFixed(0).padStart(5)} s  ${text}`)
}

const versionOf = (node: string): string => execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()

const options = () => {
  try {
    const { values } = parseArgs({
      options: {
        quick: { type: 'boolean' },
        growth: { type: 'boolean' },
        neighbour: { type: 'boolean' },
        json: { type: 'string' },
        store: { type: 'string' },
        entries: { type: 'string' },
        seconds: { type: 'string' },
        node: { type: 'string', multiple: true },
        help: { type: 'boolean' },
      },
    })
    if (values.help) {
      console.log(usage)
      process.exit(0)
    }
    const entries = values.entries === undefined ? undefined : Number(values.entries)
    const ms = Number(values.seconds ?? 0.4) * 1000
    if (entries !== undefined && !(Number.isInteger(entries) && entries >= 1000 && entries % 1000 === 0)) {
      throw new Error('--entries must be a multiple of 1000')
    }
    if (!(ms > 0)) throw new Error('--seconds must be a number above 0')
    for (const node of values.node ?? []) versionOf(node)
    const parts = (['quick', 'growth', 'neighbour'] as const).filter((name) => values[name])
    if (parts.length > 1) throw new Error('--quick, --growth and --neighbour exclude each other')
    if (values.store !== undefined && !['mongo', 'embedded'].includes(values.store)) {
      throw new Error('--store must be mongo or embedded')
    }
    const { store, json } = values
    if (store === 'embedded' && Object.keys(values).some((name) => name !== 'store' && name !== 'entries')) {
      throw new Error('--store embedded goes with no option but --entries')
    }
    if (json !== undefined && !existsSync(dirname(resolve(json)))) {
      throw new Error(`--json: there is no folder ${dirname(json)}`)
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
/** How much longer the time by size and page is measured, with one request at a time. */
const ALONE = 4
/** The same for a turn beside a neighbour. */
const BESIDE = 2

/** Everything that is said on stdout, for the report. */
const text: string[] = []
const print = (...parts: string[]): void => {
  const part = `${parts.join('\n\n')}\n`
  text.push(part)
  console.log(part)
}

const prepare = (size: number): Promise<Database> => prepareDatabase(server, size, say)

/** Sizes from the smallest to the largest, a factor of ten apart as far as that goes. */
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

const run = async (): Promise<Record<string, number>> => {
  const ratios: Record<string, number> = {}
  let appendix = ''
  const rates: string[] = []

  if (only === undefined || only === 'quick') {
    const small = await prepare(SMALL)
    const comparison = await compare(server, small, ms, only !== 'quick', say)
    await stopAll()
    Object.assign(ratios, comparison.ratios)
    print('## Replayed replies of the server', '10,000 entries.', comparisonTables(comparison.results, 'replayed'))
    print('## On the server', '10,000 entries.', comparisonTables(comparison.results, 'server'))
    if (nodes.length > 0) await runNodes(small)
  }
  if (only !== 'growth') {
    const beside = await neighbour(await prepareNeighbours(server, say), BESIDE * ms, say)
    await stopAll()
    Object.assign(ratios, beside.ratios)
    print('## Beside a neighbour', neighbourMethod, neighbourTable(beside))
  }
  if (only === undefined || only === 'growth') {
    const databases: Database[] = []
    for (const size of sizesTo(entries ?? 1_000_000)) databases.push(await prepare(size))
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
    else {
      writeFileSync('bench/latency-by-size.svg', plots.bySize)
      writeFileSync('bench/latency-by-page.svg', plots.byPage)
    }
  }

  const about = surroundings(await describeServer(server), pinned())
  // Without the places where things are on this machine.
  const given = process.argv.slice(2).map((argument) => basename(argument))
  const command = ['npm run bench', ...(given.length > 0 ? ['--', ...given] : [])].join(' ')
  const summary = `${about}\n- Command: \`${command}\`\n\n## Ratios\n\n${ratioTable(ratios)}\n`
  console.log(summary)
  if (only === undefined) {
    const images = '![Time by size](latency-by-size.svg)\n\n![Time by page](latency-by-page.svg)\n'
    writeFileSync(RESULTS, ['# Results of the benchmark\n', method, summary, ...text, images, appendix].join('\n'))
    say(`${RESULTS} written`)
  }
  return ratios
}

const isThere = store !== 'embedded' && (await isServerThere(server))
/** Whether something was asked for that only a server can give. */
const needsServer = store === 'mongo' || Boolean(named) || only !== undefined || json !== undefined
if (store === 'embedded' || (!isThere && !needsServer)) {
  await benchEmbedded(entries ?? SMALL, 300)
} else if (!isThere) {
  console.error(`There is no server at ${server}, or BENCH_MONGODB_URI names none`)
  process.exitCode = 1
} else {
  try {
    const ratios = await run()
    if (json !== undefined) writeFileSync(json, `${JSON.stringify(underGoal(ratios), null, 2)}\n`)
  } finally {
    await stopAll()
  }
}
