// The entry point of all commands, such as `npm run keys`. They work on the database that MONGODB_URI names.
import { checkCommand } from './commands/check.js'
import { indexesCommand } from './commands/indexes.js'
import { keysCommand } from './commands/keys.js'
import { loadCommand } from './commands/load.js'
import { organisationsCommand } from './commands/organisations.js'
import { type Command, runCommand, UsageError } from './commands/run-command.js'
import { seedCommand } from './commands/seed.js'
import { stampCommand } from './commands/stamp.js'
import { loadConfig } from './config/config.js'
import { openMongo } from './config/open-mongo.js'

/** Each is also a script in package.json. */
const commands: Record<string, Command> = {
  'db:check': checkCommand,
  'db:indexes': indexesCommand,
  'db:stamp': stampCommand,
  keys: keysCommand,
  load: loadCommand,
  organisations: organisationsCommand,
  seed: seedCommand,
}

const unknownCommand: Command = {
  usage: `Usage:\n${Object.keys(commands)
    .map((name) => `  npm run ${name} -- --help`)
    .join('\n')}`,
  run: () => Promise.reject(new UsageError('There is no such command')),
}

const open = () => {
  const { mongo } = loadConfig()
  if (mongo === undefined) throw new UsageError('MONGODB_URI is missing: it must name the database to work on')
  return openMongo(mongo)
}

const [name = '', ...argv] = process.argv.slice(2)
const command = Object.hasOwn(commands, name) ? commands[name] : undefined
const terminal = { out: process.stdout, err: process.stderr }
process.exitCode = await runCommand(command ?? unknownCommand, command ? argv : [name], open, terminal)
