// The command `organisations`: adds, lists, renames and removes organisations. When one is removed, its keys are revoked, and
// when every instance refuses them, its records are deleted for good.
import { randomBytes } from 'node:crypto'
import { type ApiKeyDocument, type OrganisationDocument, recordCollections } from '../core/documents/collections.js'
import { keysOf, REVOKED_MS } from '../core/keys/keys.js'
import { Query } from '../core/pipelines/stages.js'
import { QueryTimeout, type Store } from '../core/store/store.js'
import { BY, nameOption, noOrganisation, organisationId } from './arguments.js'
import { CommandError, type MakeCommand, newCommand, newGroup, PROGRAM, type Session, visible } from './run-command.js'
import { cellOf, table } from './table.js'

const addExample = "organisations add --name 'Savannah Field Research' --id savannah"

const removeExample = 'organisations remove savannah'
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
          audit('organisations rename', by, { organisation: id, name })
        }),
    )
    .addCommand(
      newCommand('remove', 'Remove an organisation with its records, and revoke its keys', removeExample, removeDetails)
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

/** Stands for a number that takes too long to count. */
const MANY = Number.POSITIVE_INFINITY

/** How many records of each kind an organisation has, how many deletions are remembered, and how many keys work. */
const whatItHas = async (store: Store, organisation: string): Promise<[what: string, count: number][]> => {
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
  const keys = (await store.dangerouslyFindAll('apiKeys', { organisation })).filter(isWorking).length
  return Object.entries({ ...counts, deletions, keys }).filter(([, count]) => count > 0)
}

const isWorking = ({ revokedAt }: ApiKeyDocument): boolean => !(revokedAt instanceof Date)

/**
 * Removes an organisation. If it is interrupted, it can be called again.
 * @param organisation as it was found, undefined if only keys or records are left of it
 * @param wait waits for some milliseconds, until every instance refuses the keys
 * @returns how many records and tombstones were deleted from each collection, how many keys were revoked, and whether there was
 *   nothing to do: another removal has ended meanwhile, or what there is belongs to nobody
 * @throws CommandError if it was added again since
 */
export const removeOrganisation = async (
  store: Store,
  id: string,
  organisation: OrganisationDocument | undefined,
  by: string | undefined,
  audit: Session['audit'],
  wait: (ms: number) => Promise<unknown>,
) => {
  const keys = keysOf(store, () => {})
  const createdAt = organisation?.createdAt ?? null
  let keysRevoked = 0
  const keysIn = () => store.dangerouslyFindAll('apiKeys', { organisation: id })
  /** Revokes the keys that work, also those that were issued meanwhile. Returns how many these are. */
  const revokeAll = async (): Promise<number> => {
    const other = { _id: id, createdAt: { $ne: createdAt } }
    if ((await store.dangerouslyFindAll('organisations', other, 1)).length > 0)
      throw new CommandError(`Organisation ${id} was added again meanwhile: what it has now stays`)
    const working = (await keysIn()).filter(isWorking)
    for (const { _id: keyId } of working) {
      // Another command may revoke it in the same moment.
      if ((await keys.revoke(keyId, by))?.isFirst) audit('keys revoke', by, { keyId, organisation: id })
    }
    keysRevoked += working.length
    return working.length
  }
  // Somebody else may have revoked keys just before.
  let mustWait = (await keysIn()).some(({ revokedAt }) => Number(revokedAt) > Date.now() - REVOKED_MS)
  audit('organisations remove begins', by, { organisation: id })
  // A caller must not read what is left meanwhile: it would take the organisation for empty, and empty its copy.
  while ((await revokeAll()) > 0 || mustWait) {
    await wait(REVOKED_MS)
    mustWait = false
  }
  const { deleted, total } = await erase(store, id, createdAt)
  await revokeAll()
  return { deleted, keysRevoked, isNothing: total + keysRevoked === 0 }
}

/**
 * Deletes the records and tombstones of an organisation, first records that refer to others, and at last itself. Until then
 * it is listed, so that a run that was interrupted is noticed.
 * @returns how many documents of each collection, and in all with itself
 */
const erase = async (store: Store, organisation: string, createdAt: Date | null) => {
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
  for await (const count of store.dangerouslyErase('organisations', { _id: organisation, createdAt })) total += count
  return { deleted, total }
}
