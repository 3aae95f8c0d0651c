// The store under test: the embedded store, or a new database on the server of TEST_MONGODB_URI if that is set.
import { randomBytes } from 'node:crypto'
import { MongoClient } from 'mongodb'
import type { Test } from 'tap'
import { loadConfig } from '../../src/config/config.js'
import { embeddedStore } from '../../src/store/embedded.js'
import { type MongoSettings, mongoStore } from '../../src/store/mongo.js'
import type { Store } from '../../src/store/store.js'

const server = process.env.TEST_MONGODB_URI

/** The settings of a MongoDB store, by default those of the service, but with time for a server on a busy machine. */
export const mongoSettings = (uri: string, settings: Record<string, string> = {}): MongoSettings =>
  loadConfig({ MONGODB_URI: uri, MONGODB_TIMEOUT_MS: '20000', ...settings }).mongo as MongoSettings

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
