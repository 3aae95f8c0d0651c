// Creates and lists indexes of MongoDB.
import type { IndexDescription, IndexDescriptionInfo, MongoServerError } from 'mongodb'
import {
  type CollectionName,
  collections,
  DELETED_AT,
  isRecordCollection,
  type RecordCollection,
} from '../documents/collections.js'
import { hasIndex, type Index, indexesOf, TOMBSTONE_INDEX } from '../documents/indexes.js'
import type { MongoConnection } from './mongo-connection.js'
import type { Store } from './store.js'

/** The name of an index that an operator added begins with it. */
const ADDED = 'added_'
const INDEX_OPTIONS_CONFLICT = 85
const NAMESPACE_NOT_FOUND = 26
const SECONDS_A_DAY = 86_400
/** Tombstones outlive the cursors that need them, so that none is deleted while a page is read. */
const SPARE_SECONDS = 3600
/** Keeps records out of the indexes of tombstones, even a record that has a field `deletedAt` of its own. */
const ofTombstones = { partialFilterExpression: { deletedFrom: { $exists: true } } }

/** An index with one of these options lacks records, or has another order. */
const SPECIAL = ['partialFilterExpression', 'sparse', 'collation', 'hidden']

/** The fields of an index from which any list by them can be read. A partial, descending or special one has none. */
const fieldsOf = (index: IndexDescriptionInfo): Index => {
  const isPlain = SPECIAL.every((name) => !(name in index))
  return isPlain && Object.values(index.key).every((way) => way === 1) ? Object.keys(index.key) : []
}
const keyOf = (fields: Index) => Object.fromEntries(fields.map((field) => [field, 1 as const]))

/** The operations of a store on indexes. */
export const mongoIndexes = (connection: MongoConnection) => {
  const create = (name: CollectionName, specs: IndexDescription[]) =>
    connection.run(() => connection.collection(name).createIndexes(specs))

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
      for (const name of Object.keys(collections) as CollectionName[]) {
        const hasTombstones = isRecordCollection(name)
        if (hasTombstones) await expireTombstones(name, options?.keepExpiry === true)
        // A plain one that exists under another name cannot be created, and serves as well.
        const keys = (await existing(name)).map(fieldsOf)
        const specs = [
          ...indexesOf(name).flatMap((fields) => (hasIndex(keys, fields) ? [] : [{ key: keyOf(fields) }])),
          ...(hasTombstones ? [{ key: keyOf(TOMBSTONE_INDEX), ...ofTombstones }] : []),
        ]
        if (specs.length > 0) await create(name, specs)
      }
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
    async addIndex(name, fields) {
      if (hasIndex((await existing(name)).map(fieldsOf), fields)) return
      await create(name, [{ key: keyOf(fields), name: ADDED + fields.join('_') }])
    },
  } satisfies Partial<Store>
}
