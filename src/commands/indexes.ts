// The command line of the indexes: `npm run db:indexes` makes those that are missing, and may be run again.
import { runCommand } from './run-command.js'

const usage = `Usage:
  npm run db:indexes

Makes the indexes of all collections that are missing. MONGODB_URI names the database.`

await runCommand(usage, async (store) => {
  await store.ensureIndexes()
  console.log(`The indexes of ${store.description} are there`)
})
