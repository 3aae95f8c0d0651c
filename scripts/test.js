// Compiles the tests and runs them with tap: `npm test` those in test/, or `npm test -- test/log.test.ts` some of them. What is
// in acceptance/ runs only when it is named. Options are those of tap; give a value after `=`, as in `--reporter=tap`.
import { spawnSync } from 'node:child_process'
import './compile.js'
import { testGroups } from './test-groups.js'

const argv = process.argv
  .slice(2)
  .map((argument) => argument.replace(/^(test|acceptance)\//, 'dist/$1/').replace(/\.ts$/, '.js'))
if (argv.some((argument) => argument.startsWith('dist/acceptance/'))) argv.push('--disable-coverage')
const NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import=${new URL('no-loaders.js', import.meta.url)}`
// A server is slower than a process is to start, and a group of files must not take longer than tap lets one process run.
const isGrouped = !process.env.TEST_MONGODB_URI && argv.every((argument) => argument.startsWith('-'))
const { status, signal } = spawnSync(
  process.execPath,
  ['node_modules/.bin/tap', ...argv, ...(isGrouped ? testGroups() : [])],
  { stdio: 'inherit', env: { ...process.env, NODE_OPTIONS } },
)
if (signal) console.error(`tap was ended by ${signal}`)
process.exitCode = status ?? 1
