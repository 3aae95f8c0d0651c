// A stand-in for MongoDB on loopback. It implements the part of the wire protocol that the MongoDB store needs, keeps its
// data in an embedded store, and fails on demand. So the MongoDB store can be tested without a database.
import { EventEmitter, once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { BSON, Long, ObjectId } from 'mongodb'
import type { Test } from 'tap'
import { CHANGED_AT, type CollectionName, type RecordCollection } from '../../src/core/documents/collections.js'
import { type Condition, Query, type Scope, type Stage } from '../../src/core/pipelines/stages.js'
import { embeddedStore } from '../../src/core/store/embedded.js'
import { objectsOf } from './bson.js'

type Document = Record<string, unknown>

/** A command of the driver. The first field is the name of the command, and its value is usually the collection. */
interface Command extends Document {
  readonly pipeline: readonly [
    { $match: { $and: readonly [...Condition[], Condition & Scope] } },
    ...(Stage & { $count?: string })[],
  ]
  readonly cursor: { readonly batchSize?: number }
  readonly filter: Condition
  readonly limit?: number
  readonly ordered: boolean
  readonly getMore: number
  readonly collection: string
  readonly batchSize?: number
  readonly cursors: readonly number[]
  readonly documents: readonly never[]
  readonly indexes: readonly StoredIndex[]
  readonly index: Required<Pick<StoredIndex, 'expireAfterSeconds'>> & { readonly keyPattern: object }
  readonly deletes: readonly { q: Condition }[]
  readonly updates: readonly {
    q: Document
    multi?: boolean
    u:
      | { $set: Document }
      | readonly [{ $set: Document }]
      | readonly [{ $project: Document }, { $set: Record<string, { $literal: unknown }> }?]
  }[]
}

interface StoredIndex {
  readonly name: string
  readonly key: object
  readonly expireAfterSeconds?: number
  readonly partialFilterExpression?: object
  readonly hidden?: boolean
}

/** Message types. The driver starts with OP_QUERY, to which OP_REPLY is the reply. Then both sides use OP_MSG. */
const OP_REPLY = 1
const OP_MSG = 2013
const HEADER = 16
/** The number of documents in MongoDB's first batch by default. */
const FIRST_BATCH = 101
/** The size of every index. */
const MIB = 1024 * 1024
const UNKNOWN_ERROR = 8
const INVALID_OPTIONS = 72
const VALIDATION_FAILURE = 121
const INDEX_OPTIONS_CONFLICT = 85
const DUPLICATE_KEY = 11_000

/** Emits `ignored` for every message that it does not reply to. */
export class WireServer extends EventEmitter<{ ignored: [] }> {
  readonly store = embeddedStore()
  /** All commands in order, except for the driver's heartbeats. */
  readonly commands: Command[] = []
  /** While true, the server reads messages but does not reply. */
  silent = false
  /** Commands that fail, with their error codes. */
  readonly errors = new Map<string, number>()
  /** What they say. */
  errorMessage = 'This error was requested'
  /** While true, it lists the simple collation with every index, as MongoDB 9 does. */
  listsCollations = false
  /** Commands, such as `aggregate` or `aggregate entries`, that get their reply only after a promise. */
  readonly held = new Map<string, Promise<void>>()
  /** Commands whose connection is closed instead of a reply, once each. */
  readonly resets = new Set<string>()
  /** By how many milliseconds the replies to the next updates come late, after these are done. */
  readonly lateReplies: number[] = []
  /** While true, it appears as the router of a sharded cluster. The driver sends its read preference only to a router. */
  isRouter = false
  /** Whether it appears as MongoDB, and not as a compatible server. */
  isMongo = true
  /** While true, it is a cluster whose shard key has the organisation. All tombstones are on a shard of their own. */
  isSharded = false
  /** The id of a document that does not fit the rules of its collection. */
  refused: unknown
  /** The ids of documents of which the shard that they move to has an old copy. */
  readonly orphans = new Set<unknown>()
  /** When the last write was made that a majority of the replica set has. */
  majorityWriteDate: Date | undefined
  /** The indexes of each collection, by their names. */
  readonly indexes = new Map<string, Map<string, StoredIndex>>()
  /** The maximum number of documents in a first batch, even if more are requested. */
  firstBatch = Number.POSITIVE_INFINITY
  /** The maximum number of documents in a further batch. A server ends each before it has more than 16 MB. */
  furtherBatch = Number.POSITIVE_INFINITY
  readonly #cursors = new Map<number, unknown[]>()
  readonly #sockets = new Set<Socket>()
  #lastCursor = 0
  #server: Server | undefined
  #port = 0

  /** A running server, which stops when the test ends. */
  static async for(t: Test): Promise<WireServer> {
    const server = new WireServer()
    t.teardown(() => server.stop())
    await server.start()
    return server
  }

  get port(): number {
    return this.#port
  }

  get uri(): string {
    return `mongodb://127.0.0.1:${this.#port}/test`
  }

  /** The number of open cursors. */
  get cursors(): number {
    return this.#cursors.size
  }

  /** Starts to listen, always on the same port. */
  async start(): Promise<void> {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket)
      // The driver notices the end of the connection by itself.
      this.#converse(socket).catch(() => socket.destroy())
    }).listen(this.#port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#port = (this.#server.address() as AddressInfo).port
  }

  /** Stops listening and closes all connections. */
  stop(): void {
    this.#server?.close()
    this.disconnect()
  }

  /** Closes all connections at once. */
  disconnect(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#sockets.clear()
  }

  /** Holds back the replies to a command until they are released. `arrived` waits for the next such command. */
  hold(name: string): { arrived: () => Promise<void>; release: () => void } {
    const before = this.commands.length
    let release = () => {}
    this.held.set(name, new Promise((resolve) => (release = resolve)))
    const arrived = async () => {
      while (!this.commands.slice(before).some((command) => name in command)) await setTimeout(20)
    }
    return { arrived, release }
  }

  async #converse(socket: Socket): Promise<void> {
    let pending = Buffer.alloc(0)
    for await (const chunk of socket) {
      pending = Buffer.concat([pending, chunk])
      while (pending.length >= HEADER && pending.length >= pending.readInt32LE(0)) {
        const message = pending.subarray(0, pending.readInt32LE(0))
        pending = pending.subarray(message.length)
        if (this.silent) this.emit('ignored')
        else socket.write(await this.#replyTo(message))
      }
    }
  }

  async #replyTo(message: Buffer): Promise<Buffer> {
    const requestId = message.readInt32LE(4)
    if (message.readInt32LE(12) === OP_MSG) {
      return reply(OP_MSG, requestId, Buffer.alloc(5), await this.#try(commandOf(message)))
    }
    const query = message.indexOf(0, HEADER + 4) + 9 // after flags, namespace and two numbers
    const numberReturned = Buffer.alloc(20)
    numberReturned.writeInt32LE(1, 16)
    const command = BSON.deserialize(message.subarray(query)) as Command
    return reply(OP_REPLY, requestId, numberReturned, await this.#try(command))
  }

  async #try(command: Command): Promise<Document> {
    if (this.resets.delete(Object.keys(command)[0] as string)) throw new Error('This connection is to be closed')
    return this.#run(command).catch((error) => ({ ok: 0, code: UNKNOWN_ERROR, errmsg: String(error) }))
  }

  async #run(command: Command): Promise<Document> {
    const [name, target] = Object.entries(command)[0] as [string, CollectionName]
    if (name === 'hello' || name === 'ismaster') {
      return {
        ...greeting,
        localTime: new Date((await this.store.now()).now),
        ...(this.isRouter && { msg: 'isdbgrid' }),
        ...(this.majorityWriteDate && { lastWrite: { majorityWriteDate: this.majorityWriteDate } }),
      }
    }
    this.commands.push(command)
    await (this.held.get(`${name} ${target}`) ?? this.held.get(name))
    const code = this.errors.get(name)
    if (code !== undefined) return { ok: 0, code, errmsg: this.errorMessage, topologyVersion }
    switch (name) {
      case 'createIndexes':
        return this.#createIndexes(target, command.indexes)
      case 'listIndexes':
        return this.#open(target, this.#listed(target))
      case 'collStats':
        return { ok: 1, indexSizes: Object.fromEntries([...this.#indexesOf(target).keys()].map((name) => [name, MIB])) }
      case 'collMod':
        return this.#setExpiry(target, command.index)
      case 'buildInfo':
        return { ok: 1, ...(this.isMongo && { allocator: 'tcmalloc' }) }
      case 'ping':
      case 'endSessions':
        return { ok: 1 }
      case 'aggregate':
        return this.#open(target, await this.#aggregate(target, command.pipeline), command.cursor.batchSize)
      case 'find':
        return this.#open(
          target,
          await this.store.dangerouslyFindAll(target, command.filter, command.limit || undefined),
        )
      case 'getMore':
        return this.#batch(command.collection, 'nextBatch', command.getMore, this.#sizeOfFurther(command))
      case 'killCursors':
        for (const id of command.cursors) this.#cursors.delete(id)
        return { ok: 1, cursorsKilled: command.cursors }
      case 'insert':
        return this.#each(command.documents, command.ordered, (document) => this.store.insert(target, [document]))
      case 'update':
        return this.#each(command.updates, command.ordered, async (update) => {
          if (this.isSharded) await this.#refuseToMove(target, update, command.updates.length)
          return this.#update(target as RecordCollection, update)
        }).finally(() => setTimeout(this.lateReplies.shift() ?? 0))
      case 'delete':
        return this.#each(command.deletes, command.ordered, async ({ q }) => {
          let erased = 0
          for await (const count of this.store.dangerouslyErase(target, q)) erased += count
          return erased
        })
      default:
        throw new Error(`There is no command ${name}`)
    }
  }

  async #aggregate(collection: CollectionName, [{ $match }, ...stages]: Command['pipeline']): Promise<unknown[]> {
    if ($match.$and === undefined) return this.store.dangerouslyFindAll(collection, $match)
    // The scope is the last condition of every query.
    const query = Query.in($match.$and.at(-1) as Scope, collection, $match.$and.slice(0, -1), stages)
    if (stages.at(-1)?.$count === undefined) {
      return objectsOf(await this.store.aggregate(query), { promoteValues: false })
    }
    const total = await this.store.count(query)
    return total === 0 ? [] : [{ total }]
  }

  #indexesOf(collection: string): Map<string, StoredIndex> {
    const indexes = this.indexes.get(collection) ?? new Map()
    this.indexes.set(collection, indexes)
    return indexes
  }

  #listed(collection: string): object[] {
    const indexes = [...this.#indexesOf(collection).values()]
    return this.listsCollations ? indexes.map((index) => ({ ...index, collation: { locale: 'simple' } })) : indexes
  }

  /** Creates all indexes or none. Like MongoDB, it refuses one that exists under another name or with another option. */
  #createIndexes(collection: string, indexes: Command['indexes']): Document {
    const existing = this.#indexesOf(collection)
    const same = ({ key, partialFilterExpression }: StoredIndex) => [Object.keys(key), partialFilterExpression]
    const isOther = (one: StoredIndex, other: StoredIndex) =>
      isDeepStrictEqual(same(one), same(other)) && !isDeepStrictEqual(one, other)
    if (indexes.some((index) => [...existing.values()].some((other) => isOther(index, other))))
      return { ok: 0, code: INDEX_OPTIONS_CONFLICT, errmsg: 'Such an index exists with another name or option' }
    for (const index of indexes) existing.set(index.name, index)
    return { ok: 1 }
  }

  #setExpiry(collection: string, { keyPattern, expireAfterSeconds }: Command['index']): Document {
    const indexes = this.#indexesOf(collection)
    const found = [...indexes.values()].find(({ key }) => isDeepStrictEqual(key, keyPattern)) as StoredIndex
    indexes.set(found.name, { ...found, expireAfterSeconds })
    return { ok: 1 }
  }

  /** Does the writes one after the other. An error, such as an id that exists already, ends an ordered command. */
  async #each<T>(writes: readonly T[], ordered: boolean, write: (one: T) => Promise<unknown>): Promise<Document> {
    const writeErrors: Document[] = []
    let n = 0
    for (const [index, one] of writes.entries()) {
      if (ordered && writeErrors.length > 0) break
      try {
        n += Number((await write(one)) ?? 1)
      } catch (error) {
        const { code = DUPLICATE_KEY, message } = error as { code?: number; message: string }
        writeErrors.push({ index, code, errmsg: message })
      }
    }
    return { ok: 1, n, nModified: n, ...(writeErrors.length > 0 && { writeErrors }) }
  }

  /** As a router refuses a statement that moves a document: for several, beside others, or where an old copy is left. */
  async #refuseToMove(collection: CollectionName, { q, u, multi }: Command['updates'][number], count: number) {
    const isRemoval = Array.isArray(u) && u.length === 1 && '$project' in u[0]
    const { _id } = q
    const found = await this.store.dangerouslyFindAll(collection, { _id })
    const isMoved = isRemoval || found.some((document) => 'deletedFrom' in document)
    const refuse = (code: number, message: string) => Object.assign(new Error(message), { code })
    if (_id === this.refused) throw refuse(VALIDATION_FAILURE, 'Document failed validation')
    if (!isMoved) return
    if (multi)
      throw refuse(INVALID_OPTIONS, 'Multi-update operations are not allowed when updating the shard key field.')
    if (count > 1)
      throw refuse(INVALID_OPTIONS, 'Document shard key value updates … must be sent with write batch of size 1')
    if (this.orphans.has(_id)) throw refuse(DUPLICATE_KEY, 'There is either an orphan for this document or …')
  }

  /** Knows the updates that the store sends. Returns how many documents there were. */
  async #update(collection: RecordCollection, { q, u }: Command['updates'][number]): Promise<number> {
    if ('0' in u && '$set' in u[0]) {
      if (q.$or === undefined) return this.#stampAgain(collection, q, CHANGED_AT in u[0].$set)
      let stamped = 0
      for await (const count of this.store.stamp(collection)) stamped += count
      return stamped
    }
    if ('$set' in u) {
      const { _id, ...condition } = q
      return Number(await this.store.update(collection, _id as string, u.$set, condition))
    }
    const [, written] = u
    if (written === undefined) {
      const { _id, organisation } = q as { _id: string | { $in: string[] }; organisation: string }
      return this.store.remove(collection, organisation, typeof _id === 'string' ? [_id] : _id.$in)
    }
    const { [CHANGED_AT]: stamp, ...literals } = written.$set
    const fields = Object.entries(literals).map(([name, { $literal }]) => [name, $literal])
    const document = { _id: q._id, ...Object.fromEntries(fields) } as never
    await ('$or' in q ? this.store.upsert(collection, [document]) : this.store.insert(collection, [document]))
    return 1
  }

  /** Stamps records again. The embedded store cannot do the same with tombstones, which it has stamped just now. */
  async #stampAgain(collection: RecordCollection, condition: Condition, areRecords: boolean): Promise<number> {
    const found = await this.store.dangerouslyFindAll(collection, condition)
    if (areRecords) {
      await this.store.upsert(collection, found as never)
    }
    return found.length
  }

  #sizeOfFurther({ batchSize = this.furtherBatch }: Command): number {
    return Math.min(batchSize, this.furtherBatch)
  }

  #open(collection: string, documents: unknown[], batchSize = FIRST_BATCH): Document {
    this.#lastCursor += 1
    this.#cursors.set(this.#lastCursor, documents)
    return this.#batch(collection, 'firstBatch', this.#lastCursor, Math.min(batchSize, this.firstBatch))
  }

  /** The next documents of a cursor. The last ones close it. */
  #batch(collection: string, name: 'firstBatch' | 'nextBatch', id: number, size?: number): Document {
    const documents = this.#cursors.get(id)
    if (documents === undefined) throw new Error(`There is no cursor ${id}`)
    const batch = documents.splice(0, size ?? documents.length)
    if (documents.length === 0) this.#cursors.delete(id)
    const left = Long.fromNumber(documents.length === 0 ? 0 : id)
    return { ok: 1, cursor: { id: left, ns: `test.${collection}`, [name]: batch } }
  }
}

/** MongoDB adds this to the errors of a server that changes its role. */
const topologyVersion = { processId: new ObjectId(), counter: Long.ZERO }

const greeting = {
  ok: 1,
  isWritablePrimary: true,
  minWireVersion: 0,
  maxWireVersion: 25, // MongoDB 8.0
  logicalSessionTimeoutMinutes: 30,
  maxBsonObjectSize: 16 * 1024 * 1024,
  maxMessageSizeBytes: 48_000_000,
  maxWriteBatchSize: 100_000,
}

/** The command of an OP_MSG: a document, and sequences of documents beside it. */
const commandOf = (message: Buffer): Command => {
  const command: Document = {}
  let at = HEADER + 4
  while (at < message.length) {
    const isSequence = message[at] === 1
    const end = at + 1 + message.readInt32LE(at + 1)
    if (isSequence) {
      const nameEnd = message.indexOf(0, at + 5)
      const documents: Document[] = []
      command[message.toString('utf8', at + 5, nameEnd)] = documents
      for (let next = nameEnd + 1; next < end; next += message.readInt32LE(next)) {
        documents.push(BSON.deserialize(message.subarray(next, next + message.readInt32LE(next))))
      }
    } else Object.assign(command, BSON.deserialize(message.subarray(at + 1, end)))
    at = end
  }
  return command as Command
}

const reply = (opCode: number, responseTo: number, preamble: Buffer, document: Document): Buffer => {
  const body = BSON.serialize(document)
  const header = Buffer.alloc(HEADER)
  header.writeInt32LE(HEADER + preamble.length + body.length, 0)
  header.writeInt32LE(responseTo, 8)
  header.writeInt32LE(opCode, 12)
  return Buffer.concat([header, preamble, body])
}
