// The store under test: the embedded one, or with TEST_MONGODB_URI a database of its own on that server.
import { randomBytes } from 'node:crypto'
import { MongoClient } from 'mongodb'
import type { Test } from 'tap'
import { loadConfig } from '../../src/config/config.js'
import { embeddedStore } from '../../src/store/embedded.js'
import { type MongoSettings, mongoStore } from '../../src/store/mongo.js'
import type { Store } from '../../src/store/store.js'

const server = process.env.TEST_MONGODB_URI

/** The settings of the store on MongoDB, with their defaults. */
export const mongoSettings = (uri: string, settings: Record<string, string> = {}): MongoSettings =>
  loadConfig({ MONGODB_URI: uri, ...settings }).mongo as MongoSettings

/** The URI of an empty database of its own on a server, dropped when the test ends. */
export const ownDatabase = (t: Test, server: string): string => {
  const uri = new URL(server)
  uri.pathname = `/test-${randomBytes(6).toString('hex')}`
  t.teardown(async () => {
    const client = new MongoClient(uri.href)
    await client.db().dropDatabase()
    await client.close()
  })
  return uri.href
}

/** An empty store, closed and forgotten when the test ends. */
export const testStore = (t: Test): Store => {
  if (server === undefined) return embeddedStore()
  const store = mongoStore(mongoSettings(ownDatabase(t, server)))
  t.teardown(() => store.close())
  return store
}

/** The same store without writes to what is there, such as the note of a key's last use, which no request waits for. */
export const withoutUpdates = (store: Store): Store => ({ ...store, update: async () => true })
