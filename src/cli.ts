// The project's commands: `npm run keys`, `load`, `seed` and `db:indexes`, on the database that MONGODB_URI names.

import { indexesCommand } from './commands/indexes.js'
import { keysCommand } from './commands/keys.js'
import { loadCommand } from './commands/load.js'
import { type Command, runCommand, UsageError } from './commands/run-command.js'
import { seedCommand } from './commands/seed.js'
import { loadConfig } from './config/config.js'
import { openMongo } from './config/open-mongo.js'

const commands: Record<string, Command> = {
  'db:indexes': indexesCommand,
  keys: keysCommand,
  load: loadCommand,
  seed: seedCommand,
}

const none: Command = {
  usage: `Usage:\n  npm run ${Object.keys(commands).join(' | ')} -- --help`,
  run: () => Promise.reject(new UsageError('There is no such command')),
}

const open = () => {
  const { mongo } = loadConfig()
  if (mongo === undefined)
    throw new UsageError('MONGODB_URI is missing: the command works on the database that it names')
  return openMongo(mongo)
}

const [name = '', ...argv] = process.argv.slice(2)
const command = commands[name]
const terminal = { out: process.stdout, err: process.stderr }
process.exitCode = await runCommand(command ?? none, command ? argv : [name], open, terminal)
