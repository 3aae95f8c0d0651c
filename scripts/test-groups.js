// Puts test files together in processes. A process needs a second to load the service and compile its schemas, which is
// longer than most test files take. So a few processes take about as long as each other, and run all files except for those
// that need a process of their own.
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import coverageMap from './coverage-map.js'

/** Test files that look at what all tests of a process share, such as its threads and the buffers of responses. */
const ALONE = /\/(log|core\/workers\/pool|core\/http\/compression-buffers|core\/write\/output)\.test\.js$/
/** How a test file changes the options of all tests of its process, as in `t.jobs = 3`. */
const CHANGES_OPTIONS = /^t\.(?!test\()/m

const isOnServer = process.env.TEST_MONGODB_URI !== undefined

/**
 * At most so many files run in a process. Warm code is faster, so there are few processes: one for each of two cores.
 * Tests on a server wait for it most of the time, so they have more.
 */
const FILES = isOnServer ? 12 : 66

/** Where the modules of this run are, as another may run at the same time. */
const FOLDER = `dist/groups/${process.pid}`
const SECONDS = `dist/test-seconds${isOnServer ? '-on-server' : ''}.json`

/** The seconds of each file when it last ran in a group. Its size stands for them where it has not run. */
const secondsOfLastRun = () => {
  try {
    return JSON.parse(readFileSync(SECONDS, 'utf8'))
  } catch {
    return {}
  }
}

/** Another process may write at the same moment. Then the seconds of these files are those of the run before. */
export const writeSeconds = (seconds) =>
  writeFileSync(SECONDS, JSON.stringify({ ...secondsOfLastRun(), ...seconds }, undefined, 2))

const needsProcess = (file) => ALONE.test(file) || CHANGES_OPTIONS.test(readFileSync(file, 'utf8'))

/** The test files in a folder. A path that is no folder stands for itself. */
export const filesOf = (path) =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory()
    ? readdirSync(path, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.test.js'))
        .map((name) => join(path, name))
        .sort()
    : [path]

/** Spreads files over processes, the slowest first, so that all processes take about as long. */
const spread = (files, secondsOf) => {
  const groups = Array.from({ length: Math.ceil(files.length / FILES) }, () => ({ seconds: 0, files: [] }))
  for (const file of files.toSorted((one, other) => secondsOf(other) - secondsOf(one))) {
    const [shortest] = groups.toSorted((one, other) => one.seconds - other.seconds)
    shortest.seconds += secondsOf(file)
    shortest.files.push(file)
  }
  return groups
}

/** Writes a module for each process, which writes down its seconds. Returns these modules, the slowest first. */
export const testGroups = (files, isCoverage) => {
  const seconds = secondsOfLastRun()
  const secondsOf = (file) => seconds[file] ?? statSync(file).size / 10_000
  const countsFor = (file) => !isCoverage || coverageMap(file) !== null
  const together = files.filter((file) => !needsProcess(file))
  const groups = [
    ...spread(together.filter(countsFor), secondsOf),
    ...spread(
      together.filter((file) => !countsFor(file)),
      secondsOf,
    ),
    ...files.filter(needsProcess).map((file) => ({ seconds: secondsOf(file), files: [file] })),
  ]
  process.on('exit', () => rmSync(FOLDER, { recursive: true }))
  mkdirSync(FOLDER, { recursive: true })
  return groups
    .toSorted((one, other) => other.seconds - one.seconds)
    .map(({ files }, n) => {
      const module = `${FOLDER}/${n + 1}${files.every(countsFor) ? '' : '-uncounted'}.js`
      const imported = ['scripts/test-seconds.js', ...files]
      writeFileSync(module, imported.map((file) => `import '../../../${file}'\n`).join(''))
      return module
    })
}
