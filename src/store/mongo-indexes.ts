// Creates, lists and drops indexes of MongoDB.
import type { MongoServerError } from 'mongodb'
import {
  type CollectionName,
  collections,
  DELETED_AT,
  isRecordCollection,
  type RecordCollection,
} from '../documents/collections.js'
import { indexesOf, TOMBSTONE_INDEX } from '../documents/indexes.js'
import type { MongoConnection } from './mongo-connection.js'
import type { Store } from './store.js'

const INDEX_OPTIONS_CONFLICT = 85
const NAMESPACE_NOT_FOUND = 26
const SECONDS_A_DAY = 86_400
/** Tombstones outlive the cursors that need them, so that none is deleted while a page is read. */
const SPARE_SECONDS = 3600
/** Keeps records out of the indexes of tombstones, even a record that has a field `deletedAt` of its own. */
const ofTombstones = { partialFilterExpression: { deletedFrom: { $exists: true } } }

const keyOf = (fields: readonly string[]) => Object.fromEntries(fields.map((field) => [field, 1 as const]))

/** The operations of a store on indexes. */
export const mongoIndexes = (connection: MongoConnection) => {
  const create = (
    name: CollectionName,
    specs: Parameters<ReturnType<typeof connection.collection>['createIndexes']>[0],
  ) => connection.run(() => connection.collection(name).createIndexes(specs))

  /** Makes the database delete old tombstones. A changed setting changes the index, unless it is to be kept. */
  const expireTombstones = async (name: RecordCollection, keepExpiry: boolean): Promise<void> => {
    const key = keyOf([DELETED_AT])
    const expireAfterSeconds = connection.settings.tombstoneDays * SECONDS_A_DAY + SPARE_SECONDS
    try {
      await create(name, [{ key, ...ofTombstones, expireAfterSeconds }])
    } catch (error) {
      if ((error as MongoServerError).code !== INDEX_OPTIONS_CONFLICT) throw error
      if (keepExpiry) return
      const change = { collMod: name, index: { keyPattern: key, expireAfterSeconds } }
      await connection.run(() => connection.send(change, { readPreference: 'primary' }))
    }
  }

  return {
    async ensureIndexes(options) {
      for (const name of Object.keys(collections) as CollectionName[]) {
        const hasTombstones = isRecordCollection(name)
        if (hasTombstones) await expireTombstones(name, options?.keepExpiry === true)
        const specs = [
          ...indexesOf(name).map((fields) => ({ key: keyOf(fields) })),
          ...(hasTombstones ? [{ key: keyOf(TOMBSTONE_INDEX), ...ofTombstones }] : []),
        ]
        if (specs.length > 0) await create(name, specs)
      }
    },
    async indexes(name) {
      const found = await connection
        .runRead(() => connection.collection(name).indexes())
        .catch((error: MongoServerError) => {
          if (error.code === NAMESPACE_NOT_FOUND) return []
          throw error
        })
      const { indexSizes } = await connection.runRead(() => connection.send({ collStats: name }))
      return found.map(({ name = '', key }) => ({
        name,
        fields: Object.values(key).every((direction) => direction === 1) ? Object.keys(key) : [],
        bytes: Number(indexSizes[name] ?? 0),
      }))
    },
    async addIndex(name, fields) {
      await create(name, [{ key: keyOf(fields) }])
    },
    async dropIndex(name, index) {
      await connection.run(() => connection.collection(name).dropIndex(index))
    },
  } satisfies Partial<Store>
}
