// The command `indexes`: creates the indexes that are missing, and lists all with their sizes. It can be run any number of
// times. Only the service changes how long tombstones are kept: a command may run without its settings.
import { collectionNames } from '../core/documents/collections.js'
import { CommandError, type MakeCommand, newCommand } from './run-command.js'
import { table } from './table.js'

const details = `
How long an existing index keeps tombstones stays as it is. Every write pays for
every index, so the service makes few: a request without an index of its own may
take too long, and its error then names the one that would serve it.`

export const indexesCommand: MakeCommand = ({ result, open }) =>
  newCommand('indexes', 'Create the missing indexes and list all', 'indexes', details).action(async () => {
    const store = open()
    const refused = await store.ensureIndexes({ keepExpiry: true })
    const all = collectionNames.map(async (collection) =>
      (await store.indexes(collection)).map((index) => ({ collection, ...index })),
    )
    const indexes = (await Promise.all(all)).flat()
    const rows = indexes.map(({ collection, name, fields, bytes }) => ({
      collection,
      index: fields.length > 0 ? fields.join(', ') : name,
      size: `${(bytes / 2 ** 20).toFixed(1)} MiB`,
    }))
    result(indexes, table(['collection', 'index', 'size'], rows))
    if (refused.length > 0) throw new CommandError('The database refuses to create indexes', refused)
  })
