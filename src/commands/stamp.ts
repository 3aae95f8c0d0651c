// The command `stamp`: gives a change stamp to records that have none. It can be run any number of times.
import { recordCollections } from '../core/documents/collections.js'
import { type MakeCommand, newCommand } from './run-command.js'

const details = `
Records have no change stamp if they are from before there were stamps, or of a
writer that sets none. The change feed then delivers them as changed now. If it
is interrupted, run it again.`

export const stampCommand: MakeCommand = ({ result, open }) =>
  newCommand('stamp', 'Give a change stamp to every record without one', 'stamp', details).action(async () => {
    const store = open()
    const stamped: Record<string, number> = {}
    for (const name of recordCollections) {
      let count = 0
      for await (const more of store.stamp(name)) count += more
      stamped[name] = count
    }
    const lines = Object.entries(stamped).map(([name, count]) => `Stamped ${count} in ${name}`)
    result(stamped, lines)
  })
