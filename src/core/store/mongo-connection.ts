// The connection to MongoDB, through the official driver. It connects at its first use, and reconnects after it was lost.
import { accessSync } from 'node:fs'
import { type Db, MongoClient, type MongoClientEvents, type MongoClientOptions, type RunCommandOptions } from 'mongodb'
import type { CollectionName } from '../documents/collections.js'
import { isWorthAgain, storeError } from './mongo-errors.js'
import { Running, whenStuck } from './stuck.js'

export interface MongoSettings {
  uri: string
  /** The maximum time of a query on the server. It may wait as long for a free connection. */
  queryTimeoutMs: number
  tombstoneDays: number
  /** How long after its stamp a write may be committed. */
  settleMs: number
}

export const POOL_SIZE = 64
/** How long an operation waits for a server that cannot be reached. */
const SELECTION_MS = 1000
/** The interval between heartbeats, and the limit of one and of connecting. After both, the driver gives up a dead server. */
const HEARTBEAT_MS = 1500
const CONNECT_MS = 1800
/** How often a read is tried again, and how long after it began, in milliseconds. */
const RETRIES = 2
const RETRY_MS = 1000

export class Connections {
  open = 0
  used = 0
  /** Operations that wait for a connection. */
  pending = 0

  #client: MongoClient | undefined

  /** Counts those of a client that was just made. Those of the client before it, some of which never end, count no more. */
  watch(client: MongoClient): void {
    this.#client = client
    Object.assign(this, { open: 0, used: 0, pending: 0 })
    const on = (event: keyof MongoClientEvents, count: () => void) =>
      client.on(event, () => this.#client === client && count())
    on('connectionCreated', () => this.open++)
    on('connectionClosed', () => this.open--)
    on('connectionCheckOutStarted', () => this.pending++)
    on('connectionCheckOutFailed', () => this.pending--)
    on('connectionCheckedOut', () => this.pending--)
    on('connectionCheckedOut', () => this.used++)
    on('connectionCheckedIn', () => this.used--)
  }
}

export class MongoConnection {
  /** A stuck client is replaced by a new one. */
  client: MongoClient
  db: Db
  #connected: Promise<unknown> | undefined
  /** A read may wait for a server, for a connection of the pool, for a new connection, and for the reply. */
  readonly #longestReadMs: number
  readonly #running = new Running()
  readonly connections = new Connections()

  constructor(readonly settings: MongoSettings) {
    this.client = new MongoClient(settings.uri, clientOptions(settings))
    this.db = this.client.db()
    // The driver would find these errors only when it connects: a missing file, and contradictory sizes of the pool.
    const { tlsCAFile, tlsCRLFile, tlsCertificateKeyFile, minPoolSize, maxPoolSize } = this.client.options
    for (const file of [tlsCAFile, tlsCRLFile, tlsCertificateKeyFile]) if (file !== undefined) accessSync(file)
    if (minPoolSize > maxPoolSize)
      throw new Error(`minPoolSize ${minPoolSize} is larger than maxPoolSize ${maxPoolSize}`)
    const { serverSelectionTimeoutMS, waitQueueTimeoutMS, connectTimeoutMS } = this.client.options
    this.#longestReadMs = serverSelectionTimeoutMS + waitQueueTimeoutMS + connectTimeoutMS + settings.queryTimeoutMs
    this.#watch()
  }

  /** Takes a new client if this one is stuck. Nothing waits for the old one to close, because that may hang as well. */
  #watch(): void {
    this.connections.watch(this.client)
    whenStuck(this.client, this.#running, () => {
      this.client.close().catch(() => {})
      this.client = new MongoClient(this.settings.uri, clientOptions(this.settings))
      this.db = this.client.db()
      this.#connected = undefined
      this.#watch()
    })
  }

  /** Connects the client. After a failure it stays closed until this is called again. */
  #connect(): Promise<unknown> {
    this.#connected ??= this.client.connect().catch((error) => {
      this.#connected = undefined
      throw error
    })
    return this.#connected
  }

  /** Runs an operation. Its errors are those of the Store interface. */
  async run<T>(operation: () => Promise<T>): Promise<T> {
    try {
      await this.#connect()
      return await operation()
    } catch (error) {
      throw storeError(error)
    }
  }

  /** Runs a read, which ends after a time even if the driver would wait for ever. */
  runRead<T>(operation: () => Promise<T>): Promise<T> {
    return this.#running.wait(this.#longestReadMs, this.run(operation))
  }

  /**
   * Runs a read, and again if the connection was lost: the driver does not retry commands. The second try may find that the
   * pool is being cleared, hence a third. A read that has waited for long is not tried again, because its server is gone.
   */
  runAgain<T>(operation: () => Promise<T>, triesLeft = RETRIES, until = performance.now() + RETRY_MS): Promise<T> {
    return this.runRead(operation).catch((error) => {
      if (triesLeft === 0 || !isWorthAgain(error) || performance.now() > until) throw error
      return this.runAgain(operation, triesLeft - 1, until)
    })
  }

  /** Sends a command with the read preference of the URI, which the driver does not add. */
  send(command: object, options: RunCommandOptions = {}) {
    return this.db.command(command, { readPreference: this.db.readPreference, ...options })
  }

  collection(name: CollectionName) {
    return this.db.collection<{ _id: string }>(name)
  }
}

/** The driver's options, but for those that the URI has. */
const clientOptions = ({ uri, queryTimeoutMs }: MongoSettings): MongoClientOptions => {
  const options: MongoClientOptions = {
    appName: 'field-data-api',
    maxPoolSize: POOL_SIZE,
    serverSelectionTimeoutMS: SELECTION_MS,
    connectTimeoutMS: CONNECT_MS,
    waitQueueTimeoutMS: Math.max(SELECTION_MS, queryTimeoutMs),
    heartbeatFrequencyMS: HEARTBEAT_MS,
    // Otherwise, a read whose new connection failed would wait for a server once more, after it had waited for long.
    maxAdaptiveRetries: 0,
  }
  const named = new Set([...new URLSearchParams(uri.replace(/^[^?]*/, '')).keys()].map((name) => name.toLowerCase()))
  return Object.fromEntries(Object.entries(options).filter(([name]) => !named.has(name.toLowerCase())))
}
