// Puts test files together in processes. A process needs a second to load the service and compile its schemas, which is
// longer than most test files take. So a few processes take about as long as each other, and run all files except for those
// that need a process of their own.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import coverageMap from './coverage-map.js'

/** Test files that look at what all tests of a process share, such as its threads and the buffers of responses. */
const ALONE = /^(log|exports\/parquet|plugins\/compression-buffers|serializer\/output)$/
/** How a test file changes the options of all tests of its process, as in `t.jobs = 3`. */
const CHANGES_OPTIONS = /^t\.(?!test\()/m

/** How many processes run the files that count for coverage, and those that do not. */
const PROCESSES = { counted: 5, uncounted: 2 }
/** About how many seconds the slow files take. Another file takes a half. It does not matter much if this changes. */
const SECONDS = {
  cli: 8,
  'commands/load': 6,
  'exports/file': 5,
  'exports/parquet': 3,
  'mcp/tools': 7,
  'plugins/openapi': 6,
  'routes/exports': 6,
  'routes/summaries': 12,
  'seed/scenarios': 5,
  'serializer/writer': 2,
  'serializer/writer-oracle': 2,
  server: 30,
  'service/crossed-organisations': 5,
  'service/hidden-fields': 6,
  'service/lists': 3,
  'service/walks': 3,
  'store/mongo': 10,
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
  return groups
}

/** Writes a module for each group of compiled test files. Returns these modules and the files that run alone, slowest first. */
export const testGroups = () => {
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  const all = readdirSync('dist/test', { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.js'))
    .map((path) => path.slice(0, -'.test.js'.length))
    .sort()
  const others = all.filter((name) => !needsProcess(name))
  const isCounted = (name) => coverageMap(fileOf(name)) !== null
  const groups = {
    counted: others.filter(isCounted),
    uncounted: others.filter((name) => !isCounted(name)),
  }
  const modules = Object.entries(groups).flatMap(([kind, names]) =>
    spread(names, PROCESSES[kind]).map(({ seconds, names }, n) => {
      const module = `${FOLDER}/${n + 1}-${kind}.js`
      writeFileSync(module, names.map((name) => `import '../../${fileOf(name)}'\n`).join(''))
      return { module, seconds }
    }),
  )
  const alone = all.filter(needsProcess).map((name) => ({ module: fileOf(name), seconds: secondsOf(name) }))
  return [...modules, ...alone].sort((one, other) => other.seconds - one.seconds).map(({ module }) => module)
}
