// Writes to MongoDB. Records get change stamps, by the clock of the database, and deleted ones leave tombstones.
import { BSON, type Document } from 'mongodb'
import { CHANGED_AT, isRecordCollection, type RecordCollection, UNSTAMPED } from '../documents/collections.js'
import { formerOf, keptOf } from '../documents/former.js'
import type { Condition } from '../pipelines/stages.js'
import type { MongoConnection } from './mongo-connection.js'
import { isAllTaken, isForOne, sentAlone } from './mongo-errors.js'
import type { Stream } from './mongo-reader.js'
import type { Store } from './store.js'

/** A write may always take as long: a database far away needs some time even for a single record. */
const LEAST_WRITE_MS = 1000

type Owned = Readonly<Record<'_id' | 'organisation', string>>

export const mongoWriter = (connection: MongoConnection, stream: Stream) => {
  const longestWriteMs = Math.max(connection.settings.settleMs / 2, LEAST_WRITE_MS)

  /** Sets the stamps of some documents again, in smaller parts for as long as that takes too long. */
  const stampAgain = async (ids: readonly string[], set: (ids: readonly string[]) => Promise<unknown>) => {
    const began = performance.now()
    await set(ids)
    if (performance.now() - began <= longestWriteMs) return
    const half = Math.ceil(ids.length / 2)
    for (const part of [ids.slice(0, half), ids.slice(half)]) if (part.length > 0) await stampAgain(part, set)
  }

  /**
   * Runs a write that stamps documents. A statement gets its stamp when it begins, and if it is committed late, a reader of
   * the feed may have passed it. So the stamps of a long write are set again, even if it failed: a part may be done.
   * @param documents finds what the write may have stamped
   */
  const inTime = async <T>(
    name: RecordCollection,
    ids: readonly string[],
    documents: Condition,
    stamp: typeof CHANGED_AT | 'deletedAt',
    write: () => Promise<T>,
  ): Promise<T> => {
    const began = performance.now()
    const outcome = connection.run(write)
    await Promise.allSettled([outcome])
    if (performance.now() - began > longestWriteMs) {
      await stampAgain(ids, (some) => {
        const written = { ...documents, _id: { $in: [...some] } }
        return connection.run(() => connection.collection(name).updateMany(written, [{ $set: { [stamp]: '$$NOW' } }]))
      })
    }
    return outcome
  }

  /**
   * Writes records with a change stamp. A record replaces the tombstone of its organisation that has its id, and with
   * `replace` also the record that has its id. Otherwise it is inserted, so an id that is taken is a duplicate key.
   *
   * The update does not use $replaceWith, because after it the MongoDB-compatible server of the tests takes every index
   * for a multikey index, and then sorts pages instead of reading them in the order of an index.
   */
  const write = (name: RecordCollection, documents: readonly Owned[], ordered: boolean, replace = false) => {
    const updates = documents.map((document) => {
      const { _id, organisation } = document
      const tombstone = { deletedFrom: organisation, organisation: { $exists: false } }
      const sets = formerOf(name, document)
      return {
        updateOne: {
          filter: replace ? { _id, $or: [{ organisation }, tombstone] } : { _id, ...tombstone },
          update: [{ $project: { _id: 1, ...sets } }, { $set: { ...literals(document), [CHANGED_AT]: '$$NOW' } }],
          upsert: true,
        },
      }
    })
    const ids = documents.map(({ _id }) => _id)
    const organisations = [...new Set(documents.map(({ organisation }) => organisation))]
    const written = { organisation: { $in: organisations } }
    const send = (some: readonly (typeof updates)[number][]) => connection.collection(name).bulkWrite(some, { ordered })
    return inTime(name, ids, written, CHANGED_AT, async () => {
      const alone = await send(updates).then(
        () => [],
        (error) => sentAlone(error, updates, ordered),
      )
      for (const update of alone) await send([update])
    })
  }

  return {
    async insert(name, documents, options) {
      const ordered = options?.skipTaken !== true
      try {
        if (isRecordCollection(name)) await write(name, documents as readonly unknown[] as Owned[], ordered)
        else await connection.run(() => connection.collection(name).insertMany([...documents], { ordered }))
      } catch (error) {
        if (ordered || !isAllTaken(error)) throw error
      }
    },
    async upsert(name, documents) {
      await write(name, documents, true, true)
    },
    async *stamp(name) {
      for await (const documents of stream({ collection: name, match: UNSTAMPED }, [{ $project: { _id: 1 } }])) {
        const ids = documents.map((bytes) => BSON.deserialize(bytes)._id)
        const found = { _id: { $in: ids }, ...UNSTAMPED }
        const stampAll = () => connection.collection(name).updateMany(found, [{ $set: { [CHANGED_AT]: '$$NOW' } }])
        const stamped = { organisation: { $exists: true } }
        yield (await inTime(name, ids, stamped, CHANGED_AT, stampAll)).modifiedCount
      }
    },
    async remove(name, organisation, ids) {
      const tombstone = [{ $project: { deletedFrom: '$organisation', deletedAt: '$$NOW', ...keptOf(name) } }]
      const tombstones = { deletedFrom: organisation, organisation: { $exists: false } }
      return inTime(name, ids, tombstones, 'deletedAt', async () => {
        const collection = connection.collection(name)
        try {
          const found = { _id: { $in: [...ids] }, organisation }
          return (await collection.updateMany(found, tombstone)).modifiedCount
        } catch (error) {
          if (!isForOne(error)) throw error
        }
        let removed = 0
        for (const _id of ids) removed += (await collection.updateOne({ _id, organisation }, tombstone)).modifiedCount
        return removed
      })
    },
    async *dangerouslyErase(name, condition) {
      const erase = async (some: Condition) =>
        (await connection.run(() => connection.collection(name).deleteMany(some))).deletedCount
      for await (const documents of stream({ collection: name, match: condition }, [{ $project: { _id: 1 } }])) {
        const ids = documents.map((bytes) => BSON.deserialize(bytes, { validation: { utf8: false } })._id)
        yield await erase({ $and: [{ _id: { $in: ids } }, condition] })
      }
      // What was written meanwhile, and ids that cannot be sent back as they are.
      yield await erase(condition)
    },
    async update(name, id, fields, condition) {
      const found = { ...condition, _id: id }
      const updated = await connection.run(() => connection.collection(name).updateOne(found, { $set: fields }))
      return updated.matchedCount === 1
    },
  } satisfies Partial<Store>
}

/** The fields of a document without its id, each as a plain value. */
const literals = ({ _id, ...fields }: Owned): Document =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, { $literal: value }]))
