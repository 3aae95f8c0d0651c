// The command `organisations`: adds, lists, renames and removes organisations. Keys and records can only be added to an
// organisation that exists.
import { randomBytes } from 'node:crypto'
import { recordCollections } from '../documents/collections.js'
import { keysOf } from '../keys/keys.js'
import { Query } from '../pipelines/stages.js'
import type { Store } from '../store/store.js'
import {
  ask,
  BY,
  CommandError,
  type MakeCommand,
  nameOf,
  newCommand,
  organisationId,
  PROGRAM,
  print,
  printAudit,
  printResult,
  requireOrganisation,
  visible,
} from './run-command.js'
import { cellOf, table } from './table.js'

const addExample = "organisations add --name 'Savannah Field Research' --id savannah"

const removeDetails = `
Its keys are revoked, and its records are deleted for good: no change feed tells
of it. If it is interrupted, run it again. Stop the programs that write records
of it before; check finds what they write afterwards.`

export const organisationsCommand: MakeCommand = ({ input, out, err, onStore }) =>
  newCommand('organisations', 'Add, list, rename and remove organisations', addExample)
    .addCommand(
      newCommand('add', 'Add an organisation', addExample)
        .requiredOption('--name <NAME>', 'its name', nameOf)
        .option('--id <ID>', 'its id; without it, the organisation gets a random one', organisationId)
        .option(...BY)
        .option('--json', 'print the organisation as JSON')
        .action(({ name, id = randomBytes(12).toString('hex'), by, json = false }) =>
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
            printAudit(err, 'organisations add', by, { organisation: id })
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
    .addCommand(
      newCommand('rename', 'Give an organisation another name', "organisations rename savannah --name 'Savannah'")
        .argument('<ID>', 'its id, which stays the same', organisationId)
        .requiredOption('--name <NAME>', 'its new name', nameOf)
        .option(...BY)
        .option('--json', 'print the result as JSON')
        .action((id, { name, by, json = false }) =>
          onStore(async (store) => {
            await requireOrganisation(store, id)
            await store.update('organisations', id, { name, updatedAt: new Date() })
            printResult(out, json, { id, name }, [`Renamed organisation ${id}`])
            printAudit(err, 'organisations rename', by, { organisation: id, name })
          }),
        ),
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
        .option('--json', 'print the result as JSON')
        .action((id, { yes = false, by, json = false }) =>
          onStore(async (store) => {
            const organisation = await store.dangerouslyFind('organisations', id)
            const all = await store.dangerouslyFindAll('apiKeys', { organisation: id })
            const keyIds = all.filter(({ revokedAt }) => !revokedAt).map(({ _id }) => _id)
            const counts = { ...(await countsOf(store, id)), keys: keyIds.length }
            const found = Object.entries(counts).filter(([, count]) => count > 0)
            if (organisation === undefined && found.length === 0) {
              throw new CommandError(`Organisation ${id} does not exist, and nothing is left of it`)
            }
            if (!yes) {
              // What is left of an organisation that is gone has no name.
              const name = visible(String(cellOf(organisation?.name) ?? id))
              print(err, `Organisation ${id} has:`, ...found.map(([what, count]) => `  ${what}: ${count}`))
              const answer = await ask({ input, err }, `Type ${name} to remove all of it: `)
              if (answer !== name) throw new CommandError('That is another name: nothing was removed')
            }
            for (const keyId of keyIds) await keysOf(store, () => {}).revoke(keyId, by)
            const deleted = await erase(store, id)
            printResult(out, json, { id, deleted, keysRevoked: keyIds.length }, [
              ...Object.entries(deleted).map(([name, count]) => `Deleted ${count} from ${name}`),
              `Revoked ${keyIds.length} keys: within 30 seconds every instance refuses them`,
              `Removed organisation ${id}`,
            ])
            printAudit(err, 'organisations remove', by, { organisation: id, deleted, keyIds })
          }),
        ),
    )

/** How many records an organisation has in each collection, and how many deletions are remembered. */
const countsOf = async (store: Store, organisation: string): Promise<Record<string, number>> => {
  const counts: Record<string, number> = {}
  let deletions = 0
  for (const name of recordCollections) {
    counts[name] = await store.count(Query.in({ organisation }, name, [], []))
    deletions += await store.count(Query.deletedFrom({ organisation }, name, [], []))
  }
  return { ...counts, deletions }
}

/**
 * Deletes the records and tombstones of an organisation, first those that refer to others, and at last itself. Until then
 * it is listed, so that a run that was interrupted is noticed.
 * @returns how many documents of each collection
 */
const erase = async (store: Store, organisation: string): Promise<Record<string, number>> => {
  const deleted: Record<string, number> = {}
  for (const name of recordCollections.toReversed()) {
    let count = 0
    for (const condition of [
      // A record with an array of organisations belongs to nobody.
      { organisation: { $eq: organisation, $not: { $type: 'array' } } },
      { deletedFrom: { $eq: organisation, $not: { $type: 'array' } }, organisation: { $exists: false } },
    ]) {
      for await (const more of store.dangerouslyErase(name, condition)) count += more
    }
    deleted[name] = count
  }
  for await (const _count of store.dangerouslyErase('organisations', { _id: organisation }));
  return deleted
}
