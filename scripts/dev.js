// Compiles the service and starts it, and does both again when a TypeScript file changes. Usage: npm run dev. A type error is
// shown. Ctrl-C ends the service too.
import { spawn } from 'node:child_process'
import './compile.js'

const run = (...command) => spawn(process.execPath, command, { stdio: 'inherit' })
const programs = [
  run('node_modules/typescript/bin/tsc', '--build', '--watch', '--preserveWatchOutput'),
  run('--watch', '--watch-preserve-output', '--enable-source-maps', 'dist/src/server.js'),
]
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    for (const program of programs) program.kill(signal)
  })
}
