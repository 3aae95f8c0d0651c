// Removes an organisation: its keys are revoked, and when every instance refuses them, its records are deleted for good.
import { type ApiKeyDocument, type OrganisationDocument, recordCollections } from '../core/documents/collections.js'
import { keysOf, REVOKED_MS } from '../core/keys/keys.js'
import { Query } from '../core/pipelines/stages.js'
import { QueryTimeout, type Store } from '../core/store/store.js'
import { CommandError, type Session } from './run-command.js'

/** Stands for a number that takes too long to count. */
export const MANY = Number.POSITIVE_INFINITY

/** How many records of each kind an organisation has, how many deletions are remembered, and how many keys work. */
export const whatItHas = async (store: Store, organisation: string): Promise<[what: string, count: number][]> => {
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
