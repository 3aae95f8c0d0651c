// Puts test files together in processes. A process needs a second to load the service and compile its schemas, which is
// longer than most test files take. So a few processes take about as long as each other, and run all files except for those
// that need a process of their own.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import coverageMap from './coverage-map.js'

/** Test files that look at what all tests of a process share, such as its threads and the buffers of responses. */
const ALONE = /^(log|exports\/parquet|serializer\/output)$/
/** How a test file changes the options of all tests of its process, as in `t.jobs = 3`. */
const CHANGES_OPTIONS = /^t\.(?!test\()/m

/** How many processes run the files that count for coverage, and those that do not. */
const PROCESSES = { counted: 5, uncounted: 2 }
/** About how many seconds the slow files take. Another file takes a half. It does not matter much if this changes. */
const SECONDS = {
  'commands/load': 5,
  'exports/file': 4,
  'mcp/server': 3,
  'mcp/tools': 6,
  'plugins/openapi': 10,
  'plugins/problems': 3,
  'plugins/request-log': 3,
  'routes/exports': 6,
  'routes/summaries': 12,
  'seed/scenarios': 7,
  'serializer/writer': 3,
  'serializer/writer-oracle': 3,
  'service/crossed-organisations': 5,
  'service/hidden-fields': 6,
  'service/lists': 4,
  'service/walks': 4,
  'store/mongo-large-page': 5,
  'store/store': 3,
}
const secondsOf = (name) => SECONDS[name] ?? 0.5

const FOLDER = 'dist/groups'
const fileOf = (name) => `dist/test/${name}.test.js`
const needsProcess = (name) => ALONE.test(name) || CHANGES_OPTIONS.test(readFileSync(fileOf(name), 'utf8'))

/** Spreads files over processes, the slowest first, so that all processes take about as long. */
const spread = (names, processes) => {
  const groups = Array.from({ length: processes }, () => ({ seconds: 0, names: [] }))
  for (const name of names.toSorted((one, other) => secondsOf(other) - secondsOf(one))) {
    const [shortest] = groups.toSorted((one, other) => one.seconds - other.seconds)
    shortest.seconds += secondsOf(name)
    shortest.names.push(name)
  }
  return groups.map(({ names }) => names.sort())
}

/** Writes a module for each group of compiled test files. Returns the files that run alone and these modules. */
export const testGroups = () => {
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  const all = readdirSync('dist/test', { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.js'))
    .map((path) => path.slice(0, -'.test.js'.length))
    .sort()
  const [alone, others] = [all.filter(needsProcess), all.filter((name) => !needsProcess(name))]
  const isCounted = (name) => coverageMap(fileOf(name)) !== null
  const groups = {
    counted: others.filter(isCounted),
    uncounted: others.filter((name) => !isCounted(name)),
  }
  const modules = Object.entries(groups).flatMap(([kind, names]) =>
    spread(names, PROCESSES[kind]).map((group, n) => {
      const module = `${FOLDER}/${n + 1}-${kind}.js`
      writeFileSync(module, group.map((name) => `import '../../${fileOf(name)}'\n`).join(''))
      return module
    }),
  )
  // Those that run alone wait for the processes that they start, while others work.
  return [...alone.map(fileOf), ...modules]
}
