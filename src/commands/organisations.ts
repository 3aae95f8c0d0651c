// The command `organisations`: adds, lists, renames and removes organisations. Keys and records can only be added to an
// organisation that exists.
import { randomBytes } from 'node:crypto'
import type { Store } from '../core/store/store.js'
import { MANY, removeOrganisation, whatItHas } from './remove-organisation.js'
import {
  BY,
  CommandError,
  type MakeCommand,
  nameOption,
  newCommand,
  newGroup,
  noOrganisation,
  organisationId,
  PROGRAM,
  type Session,
  visible,
} from './run-command.js'
import { cellOf, table } from './table.js'

const addExample = "organisations add --name 'Savannah Field Research' --id savannah"

const removeDetails = `
Its keys are revoked. When every instance refuses them, after 30 seconds, its
records are deleted for good: no change feed tells of it. If it is interrupted,
run it again. Stop the programs that write records of it before; check finds
what they write afterwards.`

export const organisationsCommand: MakeCommand = ({ result, tell, audit, ask, open, pause }) =>
  newGroup('organisations', 'Add, list, rename and remove organisations', addExample)
    .addCommand(
      newCommand('add', 'Add an organisation', addExample)
        .requiredOption('--name <NAME>', 'its name', nameOption)
        .option('--id <ID>', 'its id; without it, the organisation gets a random one', organisationId)
        .option(...BY)
        .action(async ({ name, id = randomBytes(12).toString('hex'), by }) => {
          const store = open()
          if ((await store.dangerouslyFind('organisations', id)) !== undefined)
            throw new CommandError(`Organisation ${id} exists already`)
          const createdAt = new Date()
          await store.insert('organisations', [{ _id: id, name, createdAt, updatedAt: createdAt }])
          result({ id, name, createdAt }, [
            `Added organisation ${id}`,
            `Issue a key for it with: npx ${PROGRAM} keys issue --organisation ${id} --name NAME`,
          ])
          await warnOfSameName(store, id, name, tell)
          audit('organisations add', by, { organisation: id })
        }),
    )
    .addCommand(
      newCommand('list', 'List the organisations', 'organisations list').action(async () => {
        const store = open()
        const rows = (await store.dangerouslyFindAll('organisations', {}))
          .map(({ _id, name, createdAt }) => ({ id: String(_id), name: cellOf(name), createdAt: cellOf(createdAt) }))
          .sort((one, other) => String(one.name).localeCompare(String(other.name), 'en'))
        result(rows, table(['id', 'name', 'createdAt'], rows))
      }),
    )
    .addCommand(
      newCommand('rename', 'Give an organisation another name', "organisations rename savannah --name 'Savannah'")
        .argument('<ID>', 'its id, which stays the same', organisationId)
        .requiredOption('--name <NAME>', 'its new name', nameOption)
        .option(...BY)
        .action(async (id, { name, by }) => {
          const store = open()
          if (!(await store.update('organisations', id, { name, updatedAt: new Date() }))) throw noOrganisation(id)
          result({ id, name }, [`Renamed organisation ${id}`])
          await warnOfSameName(store, id, name, tell)
          audit('organisations rename', by, { organisation: id, name })
        }),
    )
    .addCommand(
      newCommand(
        'remove',
        'Remove an organisation with its records, and revoke its keys',
        'organisations remove savannah',
        removeDetails,
      )
        .argument('<ID>', 'its id, as list shows it', organisationId)
        .option('--yes', 'do not ask for its name first')
        .option(...BY)
        .action(async (id, { yes = false, by }) => {
          const store = open()
          const organisation = await store.dangerouslyFind('organisations', id)
          const found = await whatItHas(store, id)
          const nothingLeft = new CommandError(`Organisation ${id} does not exist, and nothing is left of it`)
          if (organisation === undefined && found.length === 0) throw nothingLeft
          const has = found.map(([what, count]) => `  ${what}: ${count === MANY ? 'too many to count' : count}`)
          tell(`Organisation ${id} has${has.length === 0 ? ' no records and no keys that work' : ':'}`, ...has)
          if (!yes) {
            // What is left of an organisation that is gone has no name.
            const name = visible(String(cellOf(organisation?.name) ?? id))
            const answer = await ask(`Type ${name} to remove all of it: `)
            if (answer !== name) throw new CommandError('That is another name: nothing was removed')
          }
          const wait = (ms: number) => {
            tell(`Waiting ${Math.ceil(ms / 1000)} seconds, until every instance refuses its keys`)
            return pause(ms)
          }
          const removed = await removeOrganisation(store, id, organisation, by, audit, wait)
          if (removed.isNothing) throw nothingLeft
          const { deleted, keysRevoked } = removed
          result({ id, deleted, keysRevoked }, [
            `Revoked ${keysRevoked} keys`,
            ...Object.entries(deleted).map(([name, count]) => `Deleted ${count} records and tombstones from ${name}`),
            `Removed organisation ${id}`,
          ])
          audit('organisations remove', by, { organisation: id, deleted })
        }),
    )

/** Names may repeat, but `remove` asks for one, and a partner sees nothing else of an organisation. */
const warnOfSameName = async (store: Store, id: string, name: string, tell: Session['tell']): Promise<void> => {
  const ids = (await store.dangerouslyFindAll('organisations', { name })).map(({ _id }) => _id)
  const others = ids.filter((each) => each !== id).sort()
  if (others.length > 0) tell(`Warning: other organisations have this name: ${others.join(', ')}`)
}
