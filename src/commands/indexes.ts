// The command line of the indexes: `npm run db:indexes` makes those that are missing, and may be run again.
import { StoreUnavailable } from '../store/store.js'
import { type Command, CommandError } from './run-command.js'

const usage = `Usage:
  npm run db:indexes

Makes the indexes of all collections that are missing. MONGODB_URI names the database.`

export const indexesCommand: Command = {
  usage,
  async run(store, _argv, { out }) {
    try {
      await store.ensureIndexes()
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error
      throw new CommandError(`The indexes cannot be made: ${(error as Error).message}`)
    }
    out.write(`The indexes of ${store.description} are there\n`)
  },
}
