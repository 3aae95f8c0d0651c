// The command `organisations`: adds, lists, renames and removes organisations. Keys and records can only be added to an
// organisation that exists.
import { randomBytes } from 'node:crypto'
import { type ApiKeyDocument, recordCollections } from '../documents/collections.js'
import { keysOf, REVOKED_MS } from '../keys/keys.js'
import { Query } from '../pipelines/stages.js'
import { QueryTimeout, type Store } from '../store/store.js'
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
Its keys are revoked. When every instance refuses them, after 30 seconds, its
records are deleted for good: no change feed tells of it. If it is interrupted,
run it again. Stop the programs that write records of it before; check finds
what they write afterwards.`

export const organisationsCommand: MakeCommand = ({ input, out, err, onStore, pause }) =>
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
            await warnOfSameName(store, id, name, err)
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
              .map(({ _id, name, createdAt, removingSince }) => ({
                id: String(_id),
                name: cellOf(name),
                createdAt: cellOf(createdAt),
                ...(removingSince && { removingSince: cellOf(removingSince) }),
              }))
              .sort((one, other) => String(one.name).localeCompare(String(other.name), 'en'))
            const rare = rows.some(({ removingSince }) => removingSince) ? (['removingSince'] as const) : []
            printResult(out, json, rows, table(['id', 'name', 'createdAt', ...rare], rows))
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
            if (!(await store.update('organisations', id, { name, updatedAt: new Date() }))) {
              throw new CommandError(`Organisation ${id} was removed meanwhile`)
            }
            printResult(out, json, { id, name }, [`Renamed organisation ${id}`])
            await warnOfSameName(store, id, name, err)
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
            const counts = { ...(await countsOf(store, id)), keys: (await keysIn(store, id)).working.length }
            const found = Object.entries(counts).filter(([, count]) => count > 0)
            const nothingLeft = new CommandError(`Organisation ${id} does not exist, and nothing is left of it`)
            if (organisation === undefined && found.length === 0) throw nothingLeft
            const whatItHas = found.map(([what, count]) => `  ${what}: ${count === MANY ? 'too many to count' : count}`)
            const isEmpty = whatItHas.length === 0
            print(err, `Organisation ${id} has${isEmpty ? ' no records and no keys that work' : ':'}`, ...whatItHas)
            if (!yes) {
              // What is left of an organisation that is gone has no name.
              const name = visible(String(cellOf(organisation?.name) ?? id))
              const answer = await ask({ input, out, err }, `Type ${name} to remove all of it: `)
              if (answer !== name) throw new CommandError('That is another name: nothing was removed')
            }
            // From here on it gets no key: a command looks for this mark after it has stored one, and shows none that it finds
            // too late. So those that are listed after the mark are all that anybody has.
            const since = organisation?.removingSince ?? new Date()
            const isSame = { createdAt: organisation?.createdAt ?? null }
            if (organisation && !(await store.update('organisations', id, { removingSince: since }, isSame))) {
              throw new CommandError(`Organisation ${id} was removed meanwhile: nothing of it was deleted`)
            }
            printAudit(err, 'organisations remove begins', by, { organisation: id })
            const { all, working } = await keysIn(store, id)
            const keys = keysOf(store, () => {})
            for (const { _id: keyId } of working) {
              const revoked = await keys.revoke(keyId, by)
              // Another command may have revoked it meanwhile, and has said so.
              if (revoked?.isFirst) printAudit(err, 'keys revoke', by, { keyId, organisation: id })
            }
            // A caller must not read what is left meanwhile: it would take an organisation for empty, and empty its copy.
            const leftMs = working.length > 0 ? REVOKED_MS : msUntilRefused(all)
            if (leftMs > 0) {
              print(err, `Waiting ${Math.ceil(leftMs / 1000)} seconds, until every instance refuses its keys`)
              await pause(leftMs)
            }
            // Another removal may have ended meanwhile, or there was no organisation to mark.
            if ((await store.dangerouslyFindAll('organisations', { _id: id, removingSince: null }, 1)).length > 0) {
              throw new CommandError(`Organisation ${id} was added again meanwhile: nothing of it was deleted`)
            }
            const { deleted, total } = await erase(store, id)
            // What was found may be of nobody, or another removal may have ended meanwhile.
            if (total + working.length === 0) throw nothingLeft
            printResult(out, json, { id, deleted, keysRevoked: working.length }, [
              `Revoked ${working.length} keys`,
              ...Object.entries(deleted).map(([name, count]) => `Deleted ${count} records and tombstones from ${name}`),
              `Removed organisation ${id}`,
            ])
            printAudit(err, 'organisations remove', by, { organisation: id, deleted })
          }),
        ),
    )

/** Names may repeat, but `remove` asks for one, and a partner sees nothing else of an organisation. */
const warnOfSameName = async (store: Store, id: string, name: string, err: NodeJS.WritableStream): Promise<void> => {
  const others = (await store.dangerouslyFindAll('organisations', { name })).filter(({ _id }) => _id !== id)
  if (others.length === 0) return
  print(err, `Warning: other organisations have this name: ${others.map(({ _id }) => _id).join(', ')}`)
}

/** The keys of an organisation, and those of them that are not revoked. */
const keysIn = async (store: Store, organisation: string) => {
  const all = await store.dangerouslyFindAll('apiKeys', { organisation })
  return { all, working: all.filter(({ revokedAt }) => !(revokedAt instanceof Date)) }
}

/** How long an instance may still accept one of these keys, all of them revoked, in milliseconds; not above 0 if none does. */
const msUntilRefused = (keys: readonly ApiKeyDocument[]): number => {
  const sinceMs = Date.now() - Math.max(...keys.map(({ revokedAt }) => Number(revokedAt)))
  // The clock of who revoked them may be ahead.
  return Math.min(REVOKED_MS - sinceMs, REVOKED_MS)
}

/** Stands for a number that takes too long to count. */
const MANY = Number.POSITIVE_INFINITY

/** How many records an organisation has in each collection, and how many deletions are remembered. */
const countsOf = async (store: Store, organisation: string): Promise<Record<string, number>> => {
  const count = (query: Query) =>
    store.count(query).catch((error) => {
      if (error instanceof QueryTimeout) return MANY
      throw error
    })
  const counts: Record<string, number> = {}
  let deletions = 0
  for (const name of recordCollections) {
    counts[name] = await count(Query.in({ organisation }, name, [], []))
    deletions += await count(Query.deletedFrom({ organisation }, name, [], []))
  }
  return { ...counts, deletions }
}

/**
 * Deletes the records and tombstones of an organisation, first those that refer to others, and at last itself. Until then
 * it is listed, so that a run that was interrupted is noticed.
 * @returns how many documents of each collection, and in all with itself
 */
const erase = async (store: Store, organisation: string) => {
  const deleted: Record<string, number> = {}
  let total = 0
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
    total += count
  }
  const marked = { _id: organisation, removingSince: { $ne: null } }
  for await (const count of store.dangerouslyErase('organisations', marked)) total += count
  return { deleted, total }
}
