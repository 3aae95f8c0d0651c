// The command line of the indexes: `npm run db:indexes` makes those that are missing, and may be run again.
import { StoreUnavailable } from '../store/store.js'
import { CommandError, runCommand } from './run-command.js'

const usage = `Usage:
  npm run db:indexes

Makes the indexes of all collections that are missing. MONGODB_URI names the database.`

await runCommand(usage, async (store) => {
  try {
    await store.ensureIndexes()
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error
    throw new CommandError(`The indexes cannot be made: ${(error as Error).message}`)
  }
  console.log(`The indexes of ${store.description} are there`)
})
