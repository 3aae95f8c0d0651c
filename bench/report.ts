// The report: tables in Markdown, which are easy to read on a terminal too, and the charts.
import { readFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { type Backend, caseName, concurrencies } from './compare.js'
import type { Counted, Explored } from './explore.js'
import type { BesideExports, Exports } from './exports.js'
import { countedNames, countingCase, type Growth, type GrowthName, growthTitles, pageCase, sizeCase } from './growth.js'
import type { IndexCosts, IndexSet } from './indexes.js'
import { type Beside, besideTitles, type Neighbour } from './neighbour.js'
import type { Overload } from './overload.js'
import { peerNames, peerTitles } from './peers.js'
import { plot } from './plot.js'
import { type RequestName, titles } from './requests.js'
import { medians, type Ratios, type Results } from './rounds.js'
import type { Summaries } from './summaries.js'
import { type Part, type Sync, type SyncName, syncTitles } from './sync.js'

/** The meaning of each ratio, and its goal. */
export const goals: Record<string, { title: string; goal?: { least?: number; most?: number } }> = {
  'list50.vsFastifyObjects': {
    title: 'list of 50, replayed: requests a second against Fastify with driver objects',
    goal: { least: 3.5 },
  },
  'list50.countingVsFastifyObjects': { title: 'the same, the service counting the total for every request' },
  'list50.vsExpressMongoose': { title: 'list of 50, replayed: against Express with mongoose', goal: { least: 5 } },
  'list50.countingVsExpressMongoose': { title: 'the same, the service counting the total for every request' },
  'list50.vsFeathers': { title: 'list of 50, replayed: requests a second against Feathers' },
  'list50.shareOfLimit': {
    title:
      'list of 50, replayed: processor time of the driver’s raw aggregate and of a ready buffer together, against the service',
    // It cannot be much higher. A profile of the service, taken from outside, has a third of the time in the kernel's writes to
    // sockets, 4 % in the hash of the `ETag` and 8 % in writing JSON, and the ready buffer has neither of the last two.
    goal: { least: 0.5 },
  },
  'summaries.vsDriver': {
    title: "counts: the driver's own aggregation against the service, when nothing is kept: the lowest",
    goal: { least: 0.8 },
  },
  'summaries.answeredPage': {
    title: 'a page of entries with a common answer against one of the form',
    goal: { most: 2 },
  },
  'summaries.besideP99': {
    title: 'entry by id beside 10 callers of counts, p99 against alone',
    goal: { most: 3 },
  },
  'byId.stackVsBare': {
    title: 'entry by id, replayed: processor time of bare by-id against the whole stack',
    goal: { least: 0.75 },
  },
  'list50.vsRawDriver': {
    title: 'list of 50 on the server: against the driver’s aggregate without HTTP and without the total',
    goal: { least: 0.9 },
  },
  'list50.countingVsRawDriverWithTotal': { title: 'the same, both counting the total for every request' },
  'growth.page1': { title: 'page 1: median time, largest database against smallest', goal: { most: 1.5 } },
  'growth.byId': { title: 'entry by id: the same', goal: { most: 1.5 } },
  'growth.filtered': { title: 'by dispatch: the same', goal: { most: 1.5 } },
  'growth.filteredTwice': { title: 'by dispatch and status, which have no index together: the same' },
  'growth.deepPage': { title: 'page at half of the list: the same' },
  'deepPage.vsRawDriver': {
    title: 'page at half of the largest list: median time against the driver’s sort, skip and limit, without the total',
    goal: { most: 1.2 },
  },
  'growth.page1Counting': {
    title: 'page 1 with the total counted for every request: median time, largest against smallest',
  },
  'growth.filteredCounting': { title: 'by dispatch, counted for every request: the same' },
  'neighbour.byIdP99': {
    title: 'entry by id: 99th percentile of the time beside another organisation’s callers against alone',
    goal: { most: 3 },
  },
  'neighbour.byIdP50': { title: 'the same: median', goal: { most: 3 } },
  'neighbour.unreadByIdP99': {
    title: 'beside callers who never read: 99th percentile',
    goal: { most: 3 },
  },
  'neighbour.unreadByIdP50': { title: 'the same: median', goal: { most: 3 } },
  'neighbour.assistantsByIdP99': { title: 'beside assistants: 99th percentile', goal: { most: 3 } },
  'neighbour.assistantsByIdP50': { title: 'the same: median', goal: { most: 3 } },
  'growth.cursor': {
    title: 'pages by cursor: median time at the end of the list against its beginning',
    goal: { most: 1.5 },
  },
  'growth.linkWalk': { title: 'pages by link: the same', goal: { most: 1.5 } },
  'sync.idleVsById': { title: 'poll that finds nothing: median time against an entry by id', goal: { most: 2 } },
  'sync.copyVsRawDriver': {
    title: 'first copy: time of the driver reading the same documents against the feed',
    goal: { least: 0.7 },
  },
  'scope.page50': {
    title: 'page of 50 of a key for a tenth of the entries: median time against one for all',
    goal: { most: 1.1 },
  },
  'scope.newest50': { title: 'the same, newest first' },
  'scope.idle': { title: 'poll that finds nothing: the same', goal: { most: 1.1 } },
  'scope.copyRows': { title: 'first copy of a tenth of the entries: rows a second', goal: { least: 5000 } },
  'scope.copyRowVsWhole': { title: 'the same: time of a row against one of the whole copy' },
  'scope.smallPage50': { title: 'page of 50 of a key for a hundredth of the entries: against one for all' },
  'scope.smallNewest50': { title: 'the same, newest first' },
  'scope.smallIdle': { title: 'poll that finds nothing: the same' },
  'scope.smallCopySeconds': { title: 'first copy of a hundredth of the entries, in seconds', goal: { most: 60 } },
  'fresh.pollBytes': {
    title: 'polls each second beside 100 writes a second: bytes against those of the changes',
    goal: { most: 3 },
  },
  'export.ndjsonVsRawDriver': {
    title: 'export as NDJSON: time of the driver reading the same documents against the export',
    goal: { least: 0.6 },
  },
  'export.csvVsRawDriver': { title: 'the same as CSV', goal: { least: 0.5 } },
  'export.geojsonVsRawDriver': { title: 'the same as GeoJSON', goal: { least: 0.5 } },
  'export.parquetVsRawDriver': { title: 'the same as Parquet' },
  'export.xlsxVsRawDriver': { title: 'the same as XLSX' },
  'export.xlsxCpu': { title: 'processor time of an export as XLSX against CSV', goal: { most: 3 } },
  'export.parquetCpu': { title: 'processor time of an export as Parquet against NDJSON', goal: { most: 4 } },
  'export.memory': { title: 'most memory of an export above the idle service, in MiB', goal: { most: 200 } },
  'export.firstByte': { title: 'time to the first byte of an export against a page of 1,000', goal: { most: 2 } },
  'export.besideP99': {
    title: 'entry by id beside twenty exports of another organisation, four of them unread: p99 against alone',
    goal: { most: 3 },
  },
  'overload.served': {
    title: 'requests served a second while four times as many arrive as can be served, against what can be served',
    goal: { least: 0.8 },
  },
  'overload.healthP99': { title: '/health/ready meanwhile: p99 in ms', goal: { most: 250 } },
  'indexes.bytes': { title: 'entries: bytes of all indexes against those of the documents as BSON', goal: { most: 2 } },
  'indexes.inserts': {
    title: 'inserts of entries a second, with the indexes of this release against those before',
    goal: { least: 2.5 },
  },
  'indexes.updates': { title: 'updates of entries: the same', goal: { least: 1.8 } },
  'indexes.addedBytes': { title: 'bytes of all indexes with one more by project and createdAt, against without' },
  'indexes.addedInserts': { title: 'inserts of entries a second: the same' },
  'indexes.addedUpdates': { title: 'updates of entries: the same' },
  'indexes.pairMs': { title: 'the slowest list of 150,000 entries by two filters, in ms', goal: { most: 300 } },
  'metrics.byId': { title: 'entry by id: processor time with metrics against without', goal: { most: 1.1 } },
  'metrics.list50': { title: 'list of 50: the same', goal: { most: 1.1 } },
  'sync.digestSeconds': { title: 'digest of all entries in 101 ranges, in seconds', goal: { most: 8 } },
}

/** The ratios that have a goal, with their lowest and highest values. */
export const withGoal = (ratios: Ratios): Ratios =>
  Object.fromEntries(
    Object.entries(ratios).filter(([name]) => goals[name.replace(/\.(lowest|highest)$/, '')]?.goal !== undefined),
  )

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string => {
  const widths = head.map((_, column) => Math.max(3, ...[head, ...rows].map((row) => (row[column] as string).length)))
  const isText = (column: number) => column === 0 || rows.some((row) => /[a-z]/i.test(row[column] as string))
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, n) => (isText(n) ? cell.padEnd(widths[n] as number) : cell.padStart(widths[n] as number))).join(' | ')} |`
  const rule = `| ${widths.map((width, n) => (isText(n) ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`
  return [line(head), rule, ...rows.map(line)].join('\n')
}

const digits = (value: number | undefined): string =>
  value === undefined
    ? ''
    : value >= 100
      ? String(Math.round(value))
      : value.toPrecision(3).replace(/^(\d)\.(\d)(\d)$/, '$1.$2$3')

export const ratioTable = (ratios: Ratios): string =>
  table(
    ['ratio', 'value', 'lowest', 'highest', 'goal', 'reached', 'meaning'],
    Object.entries(goals).flatMap(([name, { title, goal }]) => {
      const value = ratios[name]
      if (value === undefined) return []
      const { least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY } = goal ?? {}
      const wanted = goal === undefined ? '' : goal.least === undefined ? `≤ ${most}` : `≥ ${least}`
      const reached = goal === undefined ? '' : value >= least && value <= most ? 'yes' : 'no'
      const spread = ['lowest', 'highest'].map((end) => ratios[`${name}.${end}`]?.toFixed(2) ?? '')
      return [[name, value.toFixed(2), ...spread, wanted, reached, title]]
    }),
  )

export const exportTable = ({ entries, byFormat, driverSeconds, firstByte, firstPage }: Exports): string =>
  table(
    [
      `${entries.toLocaleString('en')} entries`,
      'seconds',
      'processor seconds',
      'MiB above idle',
      'MB',
      'first byte, ms',
    ],
    [
      ...Object.entries(byFormat).map(([format, { seconds, cpu, memory, megabytes }]) => [
        format,
        ...[seconds, cpu, memory, megabytes, firstByte[format as keyof typeof firstByte]].map(digits),
      ]),
      ['the driver reading the same', digits(driverSeconds), '', '', '', ''],
      ['first page of 1,000', '', '', '', '', digits(firstPage)],
    ],
  )

export const countedText = ({ first, complete, pressed, again }: Counted): string =>
  `Where the service counts: first counts after ${seconds(first)}, all after ${seconds(complete)}. A bar is pressed: all follow after ${seconds(pressed)}, and after ${seconds(again)} when that was counted before.`
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

export const exploreTable = (results: readonly (Explored & { entries: number })[]): string =>
  table(
    ['entries', 'first drawing, ms', 'complete', 'redraw of a brush', 'longest task while loading', 'and after'],
    results.map(({ entries, first, complete, redraw, longestLoading, longestAfter }) => [
      entries.toLocaleString('en'),
      ...[first, complete, redraw, longestLoading, longestAfter].map(digits),
    ]),
  )

export const summaryTable = ({ timed }: Summaries): string =>
  table(
    ['counts', 'first, ms', 'kept', "the driver's own", 'driver against first'],
    timed.map(({ name, first, kept, driver }) => [
      name,
      ...[first, kept, driver, driver && driver / first].map(digits),
    ]),
  )

export const overloadText = ({
  capacity,
  arrived,
  single,
  health,
  failedChecks,
  timesDown,
  memory,
}: Overload): string => {
  const { sent, perSecond, p50, p99, others } = arrived
  const ended = Object.entries(others).map(([what, count]) => `${count} ${what}`)
  const times = (of: Overload['health']) =>
    `p50 ${digits(of.p50)}, p99 ${digits(of.p99)}, slowest ${digits(of.slowest)} ms, ${of.failed} failed`
  return [
    `Two instances serve ${digits(capacity)} requests a second. Of ${sent} that arrived, ${digits(perSecond)} a second were served (p50 ${digits(p50)}, p99 ${digits(p99)} ms); the others: ${ended.join(', ')}.`,
    `An entry by id of a key with one caller: ${times(single)}.`,
    `\`/health/ready\`: ${times(health)}. Checks of the proxy that failed: ${failedChecks}; instances taken out: ${timesDown}. Most memory of an instance: ${digits(memory)} MiB.`,
  ].join('\n')
}

export const besideText = ({ alone, beside, memory }: BesideExports): string =>
  `An entry by id alone: p50 ${digits(alone.p50)}, p99 ${digits(alone.p99)} ms; beside twenty exports: p50 ${digits(beside.p50)}, p99 ${digits(beside.p99)} ms, with ${digits(memory)} MiB more.`

/** One table for each request, with every peer at every concurrency. */
export const comparisonTables = (results: Results, backend: Backend): string => {
  const who = [
    ...Object.entries(peerTitles),
    ['rawDriver', 'driver without HTTP'],
    ['rawDriverWithTotal', 'driver without HTTP, with the total'],
  ] as [string, string][]
  return (Object.entries(titles) as [RequestName, string][])
    .flatMap(([request, title]) => {
      const rows = concurrencies.flatMap((concurrency) =>
        who.flatMap(([peer, peerTitle]) => {
          const rounds = results[caseName(backend, peer, request, concurrency)]
          if (rounds === undefined) return []
          const { perSecond, p50, p99, cpu, rss } = medians(rounds)
          return [[peerTitle, String(concurrency), ...[perSecond, p50, p99, cpu, rss].map(digits)]]
        }),
      )
      if (rows.length === 0) return []
      const head = ['server', 'at once', 'requests/s', 'p50 ms', 'p99 ms', 'CPU µs/request', 'rss MiB']
      return [`#### ${title[0]?.toUpperCase()}${title.slice(1)}`, table(head, rows)]
    })
    .join('\n\n')
}

/** The processor time of a request on each node binary. */
export const nodeTable = (results: Results, versions: ReadonlyMap<string, string>): string => {
  const columns = [...versions].flatMap(([node, version]) =>
    (['list50', 'byId'] as const).map((request) => ({ node, request, head: `${titles[request]}, ${version}` })),
  )
  return table(
    ['CPU µs/request', ...columns.map(({ head }) => head)],
    peerNames.map((peer) => [
      peerTitles[peer],
      ...columns.map(({ node, request }) => {
        const rounds = results[[node, peer, request].join(' ')]
        return digits(rounds && medians(rounds).cpu)
      }),
    ]),
  )
}

const p50 = (results: Results, name: string): number => medians(results[name] ?? []).p50

const indexTitles: Record<IndexSet, string> = {
  earlier: 'of the release before',
  now: 'of this release',
  added: 'and one by project and createdAt',
}

export const indexText = ({ writes, counts, pair, filtered, ratios }: IndexCosts): string =>
  [
    table(
      ['indexes of entries', 'how many', 'bytes against documents', 'inserts a second', 'updates a second'],
      (Object.entries(indexTitles) as [IndexSet, string][]).map(([set, title]) => [
        title,
        String(counts[set]),
        digits(writes[set].bytes),
        digits(writes[set].inserts),
        digits(writes[set].updates),
      ]),
    ),
    table(
      ['lists', 'how many', 'the slowest in ms', 'its path', '503 query_timeout'],
      [
        ['by two filters, 150,000 entries', String(pair.requests), digits(pair.ms), pair.path, ''],
        [
          'by one filter in any order, the largest database',
          String(filtered.requests),
          digits(filtered.ms),
          filtered.path,
          String(filtered.timeouts),
        ],
      ],
    ),
    table(
      ['median time of a page, largest database against smallest', 'ratio'],
      Object.entries(ratios).flatMap(([name, value]) =>
        name.startsWith('flat.') ? [[name.slice('flat.'.length), digits(value)]] : [],
      ),
    ),
  ].join('\n\n')

export const growthTables = ({ sizes, pages, results }: Growth): string =>
  [
    table(
      ['median ms', ...sizes.map((size) => `${size.toLocaleString('en')} entries`)],
      (Object.keys(growthTitles) as GrowthName[]).map((request) => [
        growthTitles[request],
        ...sizes.map((size) => digits(p50(results, sizeCase(request, size)))),
      ]),
    ),
    table(
      ['median ms, counted for every request', ...sizes.map((size) => `${size.toLocaleString('en')} entries`)],
      countedNames.map((request) => [
        growthTitles[request],
        ...sizes.map((size) => digits(p50(results, countingCase(request, size)))),
      ]),
    ),
    table(
      ['median ms of the largest', ...pages.map((page) => `page ${page.toLocaleString('en')}`)],
      (Object.entries(pageReaders) as [keyof typeof pageReaders, string][]).map(([who, title]) => [
        title,
        ...pages.map((page) => digits(p50(results, pageCase(who, page)))),
      ]),
    ),
  ].join('\n\n')

const pageReaders = {
  service: 'this service',
  driver: 'driver: sort, skip, limit',
}

export const growthPlots = ({ sizes, pages, results }: Growth): { bySize: string; byPage: string } => ({
  bySize: plot(
    'Median time by size of the data',
    'entries in the database',
    'milliseconds',
    (Object.keys(growthTitles) as GrowthName[]).map((request) => ({
      name: growthTitles[request],
      points: sizes.map((size) => [size, p50(results, sizeCase(request, size))] as const),
    })),
  ),
  byPage: plot(
    `Median time by page, ${sizes.at(-1)?.toLocaleString('en')} entries`,
    'number of the page (50 entries a page)',
    'milliseconds',
    (Object.entries(pageReaders) as [keyof typeof pageReaders, string][]).map(([who, name]) => ({
      name,
      points: pages.map((page) => [page, p50(results, pageCase(who, page))] as const),
    })),
  ),
})

export const neighbourTable = ({ times, received }: Neighbour): string =>
  table(
    ['beside', 'entry by id: p50 ms', 'p99 ms', 'failed turns', 'their connections', 'pages', 'refusals'],
    (Object.entries(besideTitles) as [Beside, string][]).map(([who, title]) => {
      const { p50, p99, failed } = times[who]
      const counts =
        who === 'alone' ? ['', '', ''] : Object.values(received[who]).map((count) => count.toLocaleString('en'))
      return [title, digits(p50), digits(p99), String(failed), ...counts]
    }),
  )

/** The fields of a plan's step that are shown, by the names of MongoDB and of DocumentDB. */
const DETAILS = [
  'Index Name',
  'indexName',
  'indexBounds',
  'Filter',
  'nReturned',
  'totalKeysExamined',
  'totalDocsExamined',
]

/** The steps of a plan, one a line. A step is indented under the step that uses its result. */
const planLines = (plan: unknown, depth = 0): string[] => {
  if (Array.isArray(plan)) return plan.flatMap((part) => planLines(part, depth))
  if (typeof plan !== 'object' || plan === null) return []
  const fields = plan as Record<string, unknown>
  const step = fields['Node Type'] ?? fields.stage
  const details = DETAILS.flatMap((name) =>
    fields[name] === undefined ? [] : [`${name} ${JSON.stringify(fields[name])}`],
  )
  const line = [step, ...details].filter(Boolean).join('; ')
  const inner = Object.entries(fields).flatMap(([name, part]) =>
    ['command', 'IndexCosts', 'rejectedPlans', 'serverInfo', 'indexBounds', 'indexKey', 'keyPattern'].includes(name)
      ? []
      : planLines(part, line === '' ? depth : depth + 1),
  )
  return line === '' ? inner : [`${'  '.repeat(depth)}${line}`, ...inner]
}

export const planText = ({ plans }: Growth): string =>
  plans
    .map(({ title, entries, path, plan }) =>
      [
        `#### ${title}, ${entries.toLocaleString('en')} entries`,
        `\`GET ${path}\``,
        `\`\`\`text\n${planLines(plan).join('\n')}\n\`\`\``,
      ].join('\n\n'),
    )
    .join('\n\n')

/** Packages of the service, and of the benchmark; each where Node finds it from here. */
const packages = {
  '../../node_modules': ['fastify', 'mongodb'],
  node_modules: ['express', 'mongoose', '@feathersjs/feathers', '@feathersjs/koa', '@feathersjs/mongodb'],
}

/** The machine and all versions. */
export const surroundings = (server: string, pinned: boolean): string => {
  const [cpu] = cpus()
  const versions = Object.entries(packages).flatMap(([folder, names]) =>
    names.map((name) => {
      const file = new URL(`${folder}/${name}/package.json`, import.meta.url)
      return `${name} ${JSON.parse(readFileSync(file, 'utf8')).version}`
    }),
  )
  const cores = pinned
    ? 'the servers under test on one core, load and replayer on the other'
    : 'no process kept on a core'
  return [
    `- Machine: ${cpu?.model.trim()}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB of memory`,
    `- Replayed: ${cores}; on the server, which shares the machine, no process is kept on a core`,
    `- Node ${process.version}; ${versions.join(', ')}`,
    `- Server: ${server}`,
    `- Date: ${new Date().toISOString().slice(0, 10)}`,
  ].join('\n')
}

export const syncTable = ({ entries, times, parts, copySeconds, digestSeconds }: Sync): string => {
  const sizeOf = ({ rows }: Part) => `${rows.toLocaleString('en')} entries`
  return table(
    [`${entries.toLocaleString('en')} entries`, 'ms'],
    [
      ...(Object.entries(syncTitles) as [SyncName, string][]).map(([name, title]) => [title, digits(times[name])]),
      ...(
        [
          ['first copy by the feed', copySeconds.service],
          ['the driver reading the same', copySeconds.driver],
          [`first copy of the larger part, ${sizeOf(parts.large)}`, copySeconds.large],
          [`first copy of the smaller part, ${sizeOf(parts.small)}`, copySeconds.small],
          ['digest in 101 ranges', digestSeconds.ranges],
          ['digest in one range', digestSeconds.whole],
        ] as const
      ).map(([title, seconds]) => [title, digits(1000 * seconds)]),
    ],
  )
}
