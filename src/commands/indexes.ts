// The command `indexes`: creates the indexes that are missing, lists all with their sizes, adds one, and drops those that an
// earlier release had. It can be run any number of times. Only the service changes how long tombstones are kept: a command may
// run without its settings.
import { InvalidArgumentError } from '@commander-js/extra-typings'
import type { TSchema } from '@sinclair/typebox'
import { type CollectionName, collections, recordCollections } from '../documents/collections.js'
import { type Index, indexBy } from '../documents/indexes.js'
import { type Store, type StoredIndex, StoreUnavailable } from '../store/store.js'
import { CommandError, type MakeCommand, newCommand } from './run-command.js'
import { table } from './table.js'

const details = `
How long an existing index keeps tombstones stays as it is. Every write pays for
every index, so the service makes few: a request without an index of its own may
take too long, and its error then names the one that would serve it. With --add
it is made. --drop removes the indexes that an earlier release made and that
this one does not need, and no others.`

export const indexesCommand: MakeCommand = ({ result, onStore }) =>
  newCommand('indexes', 'Create the missing indexes and list all', "indexes --add 'entries: form, status'", details)
    .option('--add <INDEX>', 'make an index by fields of a collection, in the order of ids', indexOf)
    .option('--drop', 'remove the indexes that an earlier release made')
    .option('--json', 'print the indexes as JSON')
    .action(({ add, drop = false, json = false }) =>
      onStore(async (store) => {
        try {
          await store.ensureIndexes({ keepExpiry: true })
          for (const { collection, name, isEarlier } of drop ? await indexesIn(store) : []) {
            if (isEarlier) await store.dropIndex(collection, name)
          }
          if (add !== undefined) await store.addIndex(add.collection, add.fields)
        } catch (error) {
          if (error instanceof StoreUnavailable) throw error
          throw new CommandError(`The indexes cannot be changed: ${(error as Error).message}`)
        }
        const indexes = await indexesIn(store)
        const rows = indexes.map(({ collection, name, fields, bytes, isEarlier }) => ({
          collection,
          index: fields.length > 0 ? fields.join(', ') : name,
          size: `${(bytes / 2 ** 20).toFixed(1)} MiB`,
          about: isEarlier ? 'of an earlier release: --drop removes it' : '',
        }))
        result(json, indexes, table(['collection', 'index', 'size'], rows, ['about']))
      }),
    )

/** Reads --add. */
const indexOf = (text: string): { collection: CollectionName; fields: Index } => {
  const [, name, list = ''] = /^(\w+):(.*)$/.exec(text) ?? []
  const collection = recordCollections.find((each) => each === name)
  const fields = list.split(',').map((field) => field.trim())
  // Every index has the organisation and the id.
  const isOnce = new Set(['organisation', '_id', ...fields]).size === fields.length + 2
  const hasFields = (schema: TSchema) => fields.every((field) => hasField(schema, field.split('.')))
  if (collection !== undefined && isOnce && hasFields(collections[collection].schema))
    return { collection, fields: indexBy(fields) }
  throw new InvalidArgumentError(
    "it must be a collection of records and some of their stored fields, each once, as in 'entries: form, status'",
  )
}

/** Whether records of a schema have a field, perhaps inside of arrays. */
const hasField = (schema: TSchema, [name = '', ...rest]: readonly string[]): boolean => {
  const { properties = {} } = schema.items ?? schema
  return Object.hasOwn(properties, name) && (rest.length === 0 || hasField(properties[name], rest))
}

/** All indexes, each with its collection. */
const indexesIn = async (store: Store) => {
  const found: (StoredIndex & { collection: CollectionName })[] = []
  for (const collection of Object.keys(collections) as CollectionName[]) {
    for (const index of await store.indexes(collection)) found.push({ collection, ...index })
  }
  return found
}
