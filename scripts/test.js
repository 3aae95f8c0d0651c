// Runs the tests as compiled JavaScript: `npm test`, or `npm test -- test/log.test.ts` with any options of tap.
import { spawnSync } from 'node:child_process'

const argv = process.argv.slice(2).map((argument) => argument.replace(/^test\/(.*)\.ts$/, 'dist/test/$1.js'))
const run = (...command) => spawnSync(process.execPath, command, { stdio: 'inherit' }).status ?? 1
process.exitCode = run('scripts/compile.js', 'tsconfig.json') || run('node_modules/.bin/tap', ...argv)
