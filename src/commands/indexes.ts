// The command `indexes`: creates the indexes that are missing, lists all with their sizes, and adds one. It can be run any
// number of times. Only the service changes how long tombstones are kept: a command may run without its settings.
import { InvalidArgumentError } from '@commander-js/extra-typings'
import type { TSchema } from '@sinclair/typebox'
import { type CollectionName, collections, recordCollections } from '../core/documents/collections.js'
import { type Index, indexBy } from '../core/documents/indexes.js'
import type { Store } from '../core/store/store.js'
import { CommandError, type MakeCommand, newCommand } from './run-command.js'
import { table } from './table.js'

const details = `
How long an existing index keeps tombstones stays as it is. Every write pays for
every index, so the service makes few: a request without an index of its own may
take too long, and its error then names the one that would serve it. With --add
it is made.`

export const indexesCommand: MakeCommand = ({ result, open }) =>
  newCommand('indexes', 'Create the missing indexes and list all', "indexes --add 'entries: form, status'", details)
    .option('--add <INDEX>', 'make an index by fields of a collection, in the order of ids', indexOf)
    .action(async ({ add }) => {
      const store = open()
      const missing = await store.ensureIndexes({ keepExpiry: true })
      const notAdded = add === undefined ? [] : await store.addIndex(add.collection, add.fields)
      const indexes = await indexesIn(store)
      const rows = indexes.map(({ collection, name, fields, bytes }) => ({
        collection,
        index: fields.length > 0 ? fields.join(', ') : name,
        size: `${(bytes / 2 ** 20).toFixed(1)} MiB`,
      }))
      result(indexes, table(['collection', 'index', 'size'], rows))
      const refused = [...missing, ...notAdded]
      if (refused.length > 0) throw new CommandError('The database refuses to create indexes', refused)
    })

/** Reads --add. */
const indexOf = (text: string): { collection: CollectionName; fields: Index } => {
  const [name, ...lists] = text.split(':').map((part) => part.trim())
  const collection = recordCollections.find((each) => each === name)
  if (collection === undefined || lists.length !== 1)
    throw new InvalidArgumentError(
      `it must be one of ${recordCollections.join(', ')}, and stored fields behind a colon, as in 'entries: form, status'`,
    )
  const fields = (lists[0] as string).split(',').map((field) => field.trim())
  const { schema } = collections[collection]
  // Every index has the organisation and the id.
  const all = ['organisation', '_id', ...fields]
  const wrong = fields.find((field, n) => all.indexOf(field) < n + 2 || !hasField(schema, field.split('.')))
  if (wrong === undefined) return { collection, fields: indexBy(fields) }
  const allowed = Object.keys(schema.properties).join(', ')
  throw new InvalidArgumentError(`'${wrong}' must be one of the stored fields ${allowed}, each once, or a field in one`)
}

/** Whether records of a schema have a field, perhaps inside of arrays. */
const hasField = (schema: TSchema, [name = '', ...rest]: readonly string[]): boolean => {
  const { properties = {} } = schema.items ?? schema
  return Object.hasOwn(properties, name) && (rest.length === 0 || hasField(properties[name], rest))
}

const indexesIn = async (store: Store) => {
  const names = Object.keys(collections) as CollectionName[]
  const all = names.map(async (collection) =>
    (await store.indexes(collection)).map((index) => ({ collection, ...index })),
  )
  return (await Promise.all(all)).flat()
}
