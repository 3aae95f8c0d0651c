// The command `npm run db:indexes`: creates the indexes that are missing. It can be run any number of times.
// Only the service changes how long tombstones are kept: a command may run without its settings.
import { parseArgs } from 'node:util'
import { collections } from '../documents/collections.js'
import { StoreUnavailable } from '../store/store.js'
import { type Command, CommandError, print } from './run-command.js'

const usage = `Usage:
  npm run db:indexes -- [--json]
  npm run db:indexes -- --help

Creates the missing indexes of all collections. How long an existing index keeps tombstones stays as it is.
MONGODB_URI names the database.`

export const indexesCommand: Command = {
  usage,
  async run(store, argv, { out }) {
    const { values } = parseArgs({ args: argv, options: { json: { type: 'boolean' } } })
    try {
      await store.ensureIndexes({ keepExpiry: true })
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error
      throw new CommandError(`The indexes cannot be created: ${(error as Error).message}`)
    }
    const indexes = Object.fromEntries(Object.entries(collections).map(([name, { indexes }]) => [name, indexes]))
    print(out, values.json ? JSON.stringify(indexes) : `All indexes of ${store.description} exist`)
  },
}
