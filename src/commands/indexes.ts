// The command `indexes`: creates the indexes that are missing. It can be run any number of times. Only the service changes how
// long tombstones are kept: a command may run without its settings.
import { collections } from '../documents/collections.js'
import { StoreUnavailable } from '../store/store.js'
import { CommandError, type MakeCommand, newCommand, printResult } from './run-command.js'

export const indexesCommand: MakeCommand = ({ out, onStore }) =>
  newCommand(
    'indexes',
    'Create the missing indexes of all collections',
    'indexes',
    'How long an existing index keeps tombstones stays as it is.',
  )
    .option('--json', 'print the indexes of each collection as JSON')
    .action(({ json = false }) =>
      onStore(async (store) => {
        try {
          await store.ensureIndexes({ keepExpiry: true })
        } catch (error) {
          if (error instanceof StoreUnavailable) throw error
          throw new CommandError(`The indexes cannot be created: ${(error as Error).message}`)
        }
        const indexes = Object.fromEntries(Object.entries(collections).map(([name, { indexes }]) => [name, indexes]))
        printResult(out, json, indexes, [`All indexes of ${store.description} exist`])
      }),
    )
