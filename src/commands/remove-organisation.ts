// Removes an organisation: its keys are revoked, and when every instance refuses them, its records are deleted for good.
import { type OrganisationDocument, recordCollections } from '../core/documents/collections.js'
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
  const { working } = await keysIn(store, organisation)
  return Object.entries({ ...counts, deletions, keys: working.length }).filter(([, count]) => count > 0)
}

/** The keys of an organisation, and those of them that are not revoked. */
const keysIn = async (store: Store, organisation: string) => {
  const all = await store.dangerouslyFindAll('apiKeys', { organisation })
  return { all, working: all.filter(({ revokedAt }) => !(revokedAt instanceof Date)) }
}

/**
 * Removes an organisation. If it is interrupted, it can be called again.
 * @param organisation as it was found, undefined if only keys or records are left of it
 * @param wait waits for some milliseconds, until every instance refuses the keys
 * @returns how many records and tombstones were deleted from each collection, how many keys were revoked, and whether there was
 *   nothing to do: another removal has ended meanwhile, or what there is belongs to nobody
 * @throws CommandError if it was removed or added again since
 */
export const removeOrganisation = async (
  store: Store,
  id: string,
  organisation: OrganisationDocument | undefined,
  by: string | undefined,
  audit: Session['audit'],
  wait: (ms: number) => Promise<unknown>,
) => {
  // A command looks for this mark after it has stored a key, and shows none that it finds too late. So the keys that are listed
  // after the mark are all that anybody has.
  const since = organisation?.removingSince ?? new Date()
  const isSame = { createdAt: organisation?.createdAt ?? null }
  if (organisation && !(await store.update('organisations', id, { removingSince: since }, isSame)))
    throw new CommandError(`Organisation ${id} was removed meanwhile: nothing of it was deleted`)
  audit('organisations remove begins', by, { organisation: id })
  const { all, working } = await keysIn(store, id)
  const keys = keysOf(store, () => {})
  for (const { _id: keyId } of working) {
    // Another command may revoke it in the same moment.
    if ((await keys.revoke(keyId, by))?.isFirst) audit('keys revoke', by, { keyId, organisation: id })
  }
  // A caller must not read what is left meanwhile: it would take the organisation for empty, and empty its copy.
  const wereRevoked = all.some(({ revokedAt }) => Number(revokedAt) > Date.now() - REVOKED_MS)
  if (working.length > 0 || wereRevoked) await wait(REVOKED_MS)
  // Another removal may have ended meanwhile, or there was no organisation to mark.
  if ((await store.dangerouslyFindAll('organisations', { _id: id, removingSince: null }, 1)).length > 0)
    throw new CommandError(`Organisation ${id} was added again meanwhile: nothing of it was deleted`)
  const { deleted, total } = await erase(store, id)
  return { deleted, keysRevoked: working.length, isNothing: total + working.length === 0 }
}

/**
 * Deletes the records and tombstones of an organisation, first records that refer to others, and at last itself. Until then
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
