// Creates and lists indexes of MongoDB. One that cannot be created keeps no other from being created.
import { isDeepStrictEqual } from 'node:util'
import type { IndexDescription, IndexDescriptionInfo, MongoServerError } from 'mongodb'
import { type CollectionName, collectionNames, isRecordCollection } from '../documents/collections.js'
import { hasIndex, type Index, indexesOf, TOMBSTONE_INDEX } from '../documents/indexes.js'
import type { MongoConnection } from './mongo-connection.js'
import { type Store, StoreUnavailable } from './store.js'

const NAMESPACE_NOT_FOUND = 26
const SECONDS_A_DAY = 86_400
/** Tombstones outlive the cursors that need them, so that none is deleted while a page is read. */
const SPARE_SECONDS = 3600
/** Keeps records out of the indexes of tombstones, even a record that has a field `deletedAt` of its own. */
const ofTombstones = { partialFilterExpression: { deletedFrom: { $exists: true } } }

/** The fields of an index from which any list by them can be read. A partial, descending or special one has none. */
const fieldsOf = (index: IndexDescriptionInfo): Index => {
  const isPartial = ['partialFilterExpression', 'sparse', 'hidden'].some((name) => name in index)
  // MongoDB 9 lists the simple collation with every index. It is none.
  const isSimple = (index.collation?.locale ?? 'simple') === 'simple'
  return !isPartial && isSimple && Object.values(index.key).every((way) => way === 1) ? Object.keys(index.key) : []
}
const keyOf = (fields: Index) => Object.fromEntries(fields.map((field) => [field, 1 as const]))

/** What the database says if it refuses to do something, behind what that is for. */
const errorOf = async (what: string, work: () => Promise<unknown>): Promise<string[]> => {
  try {
    await work()
    return []
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error
    return [`${what}: ${(error as Error).message}`]
  }
}

export const mongoIndexes = (connection: MongoConnection) => {
  const expireAfterSeconds = connection.settings.tombstoneDays * SECONDS_A_DAY + SPARE_SECONDS
  const create = (name: CollectionName, specs: IndexDescription[]) =>
    connection.run(() => connection.collection(name).createIndexes(specs))

  /** Creates indexes, all at once, or each by itself if one of them fails. Returns which failed, and why. */
  const createEach = async (name: CollectionName, specs: IndexDescription[]): Promise<string[]> => {
    const [{ key }, ...others] = specs as [IndexDescription, ...IndexDescription[]]
    const errors = await errorOf(`${name} by ${Object.keys(key).join(', ')}`, () => create(name, specs))
    if (errors.length === 0 || others.length === 0) return errors
    const each: string[] = []
    for (const spec of specs) each.push(...(await createEach(name, [spec])))
    return each
  }

  const existing = (name: CollectionName) =>
    connection
      .runRead(() => connection.collection(name).indexes())
      .catch((error: MongoServerError) => {
        if (error.code === NAMESPACE_NOT_FOUND) return []
        throw error
      })
  const known = new Map<CollectionName, readonly Index[]>()

  return {
    async ensureIndexes(options) {
      const errors: string[] = []
      for (const name of collectionNames) {
        const stored = await existing(name)
        // A plain one that exists under another name cannot be created, and serves as well.
        const keys = stored.map(fieldsOf)
        const missing = indexesOf(name).filter((fields) => !hasIndex(keys, fields))
        const specs: IndexDescription[] = missing.map((fields) => ({ key: keyOf(fields) }))
        if (isRecordCollection(name)) {
          const key = keyOf(['deletedAt'])
          const expiring = stored.find((index) => isDeepStrictEqual(index.key, key))
          if (expiring === undefined) specs.push({ key, ...ofTombstones, expireAfterSeconds })
          else if (expiring.expireAfterSeconds !== expireAfterSeconds && options?.keepExpiry !== true) {
            const change = { collMod: name, index: { keyPattern: key, expireAfterSeconds } }
            const send = () => connection.run(() => connection.send(change, { readPreference: 'primary' }))
            errors.push(...(await errorOf(`TOMBSTONE_DAYS of ${name}`, send)))
          }
          specs.push({ key: keyOf(TOMBSTONE_INDEX), ...ofTombstones })
        }
        if (specs.length > 0) errors.push(...(await createEach(name, specs)))
      }
      return errors
    },
    async indexes(name) {
      const stored = await existing(name)
      const { indexSizes } = await connection.runRead(() => connection.send({ collStats: name }))
      const indexes = stored.map((index) => {
        const { name: given = '' } = index
        return { name: given, fields: fieldsOf(index), bytes: Number(indexSizes[given] ?? 0) }
      })
      const found = indexes.map(({ fields }) => fields)
      if (found.length > 0) known.set(name, found)
      return indexes
    },
    knownIndexes: (name) => known.get(name) ?? indexesOf(name),
  } satisfies Partial<Store>
}
