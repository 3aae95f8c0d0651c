// The command `organisations`: adds organisations and lists them. Keys and records can only be added to an organisation that
// exists.
import { randomBytes } from 'node:crypto'
import {
  CommandError,
  type MakeCommand,
  nameOf,
  newCommand,
  organisationId,
  PROGRAM,
  printResult,
} from './run-command.js'
import { cellOf, table } from './table.js'

const addExample = "organisations add --name 'Savannah Field Research' --id savannah"

export const organisationsCommand: MakeCommand = ({ out, onStore }) =>
  newCommand('organisations', 'Add and list organisations', addExample)
    .addCommand(
      newCommand('add', 'Add an organisation', addExample)
        .requiredOption('--name <NAME>', 'its name', nameOf)
        .option('--id <ID>', 'its id; without it, the organisation gets a random one', organisationId)
        .option('--json', 'print the organisation as JSON')
        .action(({ name, id = randomBytes(12).toString('hex'), json = false }) =>
          onStore(async (store) => {
            if ((await store.dangerouslyFind('organisations', id)) !== undefined) {
              throw new CommandError(`Organisation ${id} exists already`)
            }
            const createdAt = new Date()
            await store.insert('organisations', [{ _id: id, name, createdAt, updatedAt: createdAt }])
            printResult(out, json, { id, name, createdAt }, [
              `Added organisation ${id}`,
              `Issue a key for it with: npx ${PROGRAM} keys issue --organisation ${id} --name NAME`,
            ])
          }),
        ),
    )
    .addCommand(
      newCommand('list', 'List the organisations', 'organisations list')
        .option('--json', 'print the organisations as JSON')
        .action(({ json = false }) =>
          onStore(async (store) => {
            const rows = (await store.dangerouslyFindAll('organisations', {}))
              .map(({ _id, name, createdAt }) => ({
                id: String(_id),
                name: cellOf(name),
                createdAt: cellOf(createdAt),
              }))
              .sort((one, other) => String(one.name).localeCompare(String(other.name), 'en'))
            printResult(out, json, rows, table(['id', 'name', 'createdAt'], rows))
          }),
        ),
    )
