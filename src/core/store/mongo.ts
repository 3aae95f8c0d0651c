// The store on MongoDB, of its parts: connection, reader, writer and indexes.
import { MongoConnection, type MongoSettings, POOL_SIZE } from './mongo-connection.js'
import { mongoIndexes } from './mongo-indexes.js'
import { mongoReader } from './mongo-reader.js'
import { mongoWriter } from './mongo-writer.js'
import type { Store } from './store.js'

/** A store that connects at its first use. The URI names the database. */
export const mongoStore = (settings: MongoSettings): Store => {
  const connection = new MongoConnection(settings)
  const { stream, ...reader } = mongoReader(connection)
  return {
    description: `MongoDB database ${connection.db.databaseName}`,
    // The driver takes 0 for no limit.
    capacity: connection.client.options.maxPoolSize || POOL_SIZE,
    ...reader,
    ...mongoWriter(connection, stream),
    ...mongoIndexes(connection),
    connections: connection.connections,
    close: () => connection.client.close(),
  }
}
