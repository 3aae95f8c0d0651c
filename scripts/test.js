// Compiles the tests and runs them with tap: `npm test` those in test/ that do not take long, or `npm test -- test/log.test.ts` all
// of some files or folders. What is in acceptance/ runs only when it is named, and test/rules/ is a part of `npm run check`.
// `--coverage` runs all of test/, counts which lines run, and requires all of them; THOROUGH=true and a server run all too. Other
// options are those of tap; give a value after `=`, as in `--reporter=tap`.
import { spawnSync } from 'node:child_process'
import './compile.js'
import { filesOf, testGroups } from './test-groups.js'

const argv = process.argv
  .slice(2)
  .map((argument) => argument.replace(/^(test|acceptance)\//, 'dist/$1/').replace(/\.ts$/, '.js'))
const options = argv.filter((argument) => argument.startsWith('-') && !/^--(coverage|disable-coverage)$/.test(argument))
const named = argv.filter((argument) => !argument.startsWith('-'))
const COVERAGE = String(argv.includes('--coverage'))
if (COVERAGE === 'false') options.push('--disable-coverage')

const files = named.length > 0 ? named.flatMap(filesOf) : filesOf('dist/test').filter((file) => !/\/rules\//.test(file))
const modules = files.length > named.length ? testGroups(files, COVERAGE === 'true') : files
const { THOROUGH, TEST_MONGODB_URI } = process.env
const IS_QUICK = String(named.length === 0 && COVERAGE === 'false' && THOROUGH !== 'true' && !TEST_MONGODB_URI)
const NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import=${new URL('no-loaders.js', import.meta.url)}`
const { status, signal } = spawnSync(process.execPath, ['node_modules/.bin/tap', ...options, ...modules], {
  stdio: 'inherit',
  env: { ...process.env, NODE_OPTIONS, COVERAGE, IS_QUICK },
})
if (signal) console.error(`tap was ended by ${signal}`)
process.exitCode = status ?? 1
