// The command line of the indexes: `npm run db:indexes` makes those that are missing, and may be run again.
import { parseArgs } from 'node:util'
import { collections } from '../documents/collections.js'
import { StoreUnavailable } from '../store/store.js'
import { type Command, CommandError, print } from './run-command.js'

const usage = `Usage:
  npm run db:indexes [-- --json]

Makes the indexes of all collections that are missing. MONGODB_URI names the database.`

export const indexesCommand: Command = {
  usage,
  async run(store, argv, { out }) {
    const { values } = parseArgs({ args: argv, options: { json: { type: 'boolean' } } })
    try {
      await store.ensureIndexes()
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error
      throw new CommandError(`The indexes cannot be made: ${(error as Error).message}`)
    }
    const indexes = Object.fromEntries(Object.entries(collections).map(([name, { indexes }]) => [name, indexes]))
    print(out, values.json ? JSON.stringify(indexes) : `The indexes of ${store.description} are there`)
  },
}
