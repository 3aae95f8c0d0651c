// Compiles the service and starts it, and does both again when a TypeScript file changes. Usage: npm run dev. A type error is
// shown, and the service goes on as it was until it is mended. Ctrl-C ends the service too.
import { spawn } from 'node:child_process'
import ts from 'typescript'
import { report } from './diagnostics.js'

const say = (text) => process.stderr.write(`${text}\n`)

let service
/** What to do when the service has ended. */
let next

const start = () => {
  next = () => say('The service has ended. It starts again after the next change')
  service = spawn(process.execPath, ['--enable-source-maps', 'dist/src/server.js'], { stdio: 'inherit' })
  service.once('exit', () => {
    service = undefined
    next()
  })
}

/** Ends the service first. It only reads, so nothing is lost when it is killed, and nobody waits for its last requests. */
const after = (action) => {
  if (service === undefined) return action()
  next = action
  service.kill('SIGKILL')
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => after(() => process.exit(0)))

const host = ts.createSolutionBuilderWithWatchHost(ts.sys, undefined, report, undefined, ({ messageText }) => {
  say(messageText)
  if (messageText.startsWith('Found 0 errors')) after(start)
})
ts.createSolutionBuilderWithWatch(host, ['tsconfig.build.json'], {}).build()
