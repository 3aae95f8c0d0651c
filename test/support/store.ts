// The store under test: the embedded store, or a new database on the server of TEST_MONGODB_URI if that is set.
import { randomBytes } from 'node:crypto'
import { MongoClient } from 'mongodb'
import type { Test } from 'tap'
import { loadConfig } from '../../src/core/config/config.js'
import type { CollectionName } from '../../src/core/documents/collections.js'
import { embeddedStore } from '../../src/core/store/embedded.js'
import { mongoStore } from '../../src/core/store/mongo.js'
import type { MongoSettings } from '../../src/core/store/mongo-connection.js'
import type { Store } from '../../src/core/store/store.js'

const server = process.env.TEST_MONGODB_URI

/** What tests set of the driver: how long an operation waits for a server, and options of the URI. */
export type DriverOptions = { readonly timeoutMs?: number; readonly [option: string]: number | string }

/** The settings of a MongoDB store, by default those of the service, but with time for a server on a busy machine. */
export const mongoSettings = (
  uri: string,
  settings: Record<string, string> = {},
  { timeoutMs = 20_000, ...options }: DriverOptions = {},
): MongoSettings => {
  const waitQueueTimeoutMS = Math.max(timeoutMs, Number(settings.QUERY_TIMEOUT_MS ?? 10_000))
  const all = { serverSelectionTimeoutMS: timeoutMs, waitQueueTimeoutMS, ...options }
  const query = Object.entries(all).flatMap(([name, value]) => (uri.includes(`${name}=`) ? [] : [`${name}=${value}`]))
  return loadConfig({ MONGODB_URI: `${uri}${uri.includes('?') ? '&' : '?'}${query.join('&')}`, ...settings })
    .mongo as MongoSettings
}

/** The URI of a new, empty database on a server. It is dropped when the test ends. */
export const ownDatabase = (t: Test, server: string): string => {
  // No URL has the several hosts of a replica set.
  const uri = server.replace(/^(\w[\w+]*:\/\/[^/?]*)[^?]*/, `$1/test-${randomBytes(6).toString('hex')}`)
  t.teardown(async () => {
    const client = new MongoClient(uri)
    await client.db().dropDatabase()
    await client.close()
  })
  return uri
}

/** An empty store. It is closed and its data are deleted when the test ends. */
export const testStore = (t: Test): Store => {
  if (server === undefined) return embeddedStore()
  const store = mongoStore(mongoSettings(ownDatabase(t, server)))
  t.teardown(() => store.close())
  return store
}

/** A new database on a server with its indexes: its URI, its store, and a client for what the store does not do. */
export const databaseOn = async (
  t: Test,
  server: string,
): Promise<{ uri: string; store: Store; client: MongoClient }> => {
  const uri = ownDatabase(t, server)
  const client = new MongoClient(uri)
  t.teardown(() => client.close())
  const store = mongoStore(mongoSettings(uri))
  t.teardown(() => store.close())
  await store.ensureIndexes()
  return { uri, store, client }
}

/** The store without updates: they run in the background, such as the one that records when a key was last used. */
export const withoutUpdates = (store: Store): Store => ({ ...store, update: async () => true })

/** An empty store, and a function that adds documents to it as they are, with their stamps. */
export const rawStore = (t: Test) => {
  type Add = (collection: CollectionName, documents: readonly { readonly _id?: unknown }[]) => Promise<void>
  if (server === undefined) {
    const store = embeddedStore()
    const add: Add = async (collection, documents) => {
      await store.insert(collection, documents as never)
      for (const document of documents) await store.update(collection, document._id as string, document as never)
    }
    return { store, add }
  }
  const uri = ownDatabase(t, server)
  const store = mongoStore(mongoSettings(uri))
  t.teardown(() => store.close())
  const add: Add = async (collection, documents) => {
    if (documents.length === 0) return
    const client = new MongoClient(uri)
    await client
      .db()
      .collection(collection)
      .insertMany([...documents] as never)
    await client.close()
  }
  return { store, add }
}
