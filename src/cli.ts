// The command line: `npx field-data-api` and the npm scripts.
import { checkCommand } from './commands/check.js'
import { indexesCommand } from './commands/indexes.js'
import { keysCommand } from './commands/keys.js'
import { loadCommand } from './commands/load.js'
import { organisationsCommand } from './commands/organisations.js'
import { type MakeCommand, newCommand, newGroup, PROGRAM, runCommand } from './commands/run-command.js'
import { seedCommand } from './commands/seed.js'
import { stampCommand } from './commands/stamp.js'
import { ConfigError, description, loadConfig, openMongo, version } from './core/config/config.js'

const help = 'It needs no database. The settings of the environment count, such as MAX_PER_PAGE.'
// Commands that need much code import it when they run, so that the others start fast.
const openapiCommand: MakeCommand = ({ result }) =>
  newCommand('openapi', 'Print the OpenAPI document of the service', 'openapi >openapi.yaml', help).action(async () => {
    const { buildApp } = await import('./app.js')
    const { embeddedStore } = await import('./core/store/embedded.js')
    const app = await buildApp({ ...loadConfig(), logLevel: 'silent' }, embeddedStore())
    await app.ready()
    result(app.swagger(), app.swagger({ yaml: true }).trimEnd().split('\n'))
  })

const serveDetails = 'Settings are environment variables, such as PORT and MONGODB_URI: see docs/operating.md.'
const serveCommand: MakeCommand = () =>
  newGroup('serve', 'Serve the database, or demo data without one', 'serve', serveDetails).action(async () => {
    await import('./server.js')
  })

const exitCodes = `
Exit codes:
  0  the command is done
  1  it failed, or a setting is missing or invalid
  2  it was called wrongly`

const program: MakeCommand = (session) =>
  newGroup(PROGRAM, description, 'serve', exitCodes)
    .version(version)
    .addCommand(serveCommand(session))
    .addCommand(seedCommand(session))
    .addCommand(organisationsCommand(session))
    .addCommand(keysCommand(session))
    .addCommand(loadCommand(session))
    .addCommand(indexesCommand(session))
    .addCommand(checkCommand(session))
    .addCommand(stampCommand(session))
    .addCommand(openapiCommand(session))

const open = () => {
  const { mongo } = loadConfig()
  if (mongo === undefined) throw new ConfigError(['MONGODB_URI is missing: it must name the database to work on'])
  return openMongo(mongo)
}

const terminal = { input: () => process.stdin, out: process.stdout, err: process.stderr }
const code = await runCommand(program, process.argv.slice(2), open, terminal)
// serve sets an exit code itself.
if (code !== 0) process.exitCode = code
