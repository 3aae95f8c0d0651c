// The command `npm run db:stamp`: gives a change stamp to records that have none. It can be run any number of times.
import { parseArgs } from 'node:util'
import { recordCollections } from '../documents/collections.js'
import { type Command, printResult } from './run-command.js'

const usage = `Usage:
  npm run db:stamp -- [--json]
  npm run db:stamp -- --help

Gives a change stamp to every record without one: records from before there were stamps, or of a writer that sets none. The
change feed then delivers them as changed now. If it is interrupted, run it again. MONGODB_URI names the database.`

export const stampCommand: Command = {
  usage,
  async run(store, argv, { out }) {
    const { values } = parseArgs({ args: argv, options: { json: { type: 'boolean', default: false } } })
    const stamped: Record<string, number> = {}
    for (const name of recordCollections) {
      let count = 0
      for await (const more of store.stamp(name)) count += more
      stamped[name] = count
    }
    const lines = Object.entries(stamped).map(([name, count]) => `Stamped ${count} in ${name}`)
    printResult(out, values.json, stamped, lines)
  },
}
