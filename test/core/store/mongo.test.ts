// The store on MongoDB with a stand-in server that fails on demand: which commands the driver sends, and how errors of a
// database reach the caller. test/core/store/store.test.ts compares the results of pipelines with a real server's.
import { setServers } from 'node:dns'
import { once } from 'node:events'
import { Socket } from 'node:net'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import t, { type Test } from 'tap'
import { CHANGED_AT } from '../../../src/core/documents/collections.js'
import { indexesOf } from '../../../src/core/documents/indexes.js'
import { entries as entryResource } from '../../../src/core/pipelines/entries.js'
import { Query } from '../../../src/core/pipelines/stages.js'
import { mongoStore } from '../../../src/core/store/mongo.js'
import type { Connections } from '../../../src/core/store/mongo-connection.js'
import { QueryTimeout, type Store, StoreUnavailable } from '../../../src/core/store/store.js'
import { listQuery } from '../../support/queries.js'
import { type DriverOptions, mongoSettings } from '../../support/store.js'
import { A, a, B, b, fillTenants } from '../../support/tenants.js'
import { leftToGate } from '../../support/thorough.js'
import { WireServer } from '../../support/wire-server.js'

// These tests spend most of their time waiting for a database that cannot be reached.
t.jobs = 4

const timeout = 5000
/** The settings of a store whose server will be gone. */
const impatient = { timeoutMs: 2000 }

const entries = (page = 1, perPage = 1000) =>
  listQuery(entryResource, { organisation: A }, { sortBy: 'id', sortOrder: 'asc', page, perPage })

const start = async (t: Test, settings: Record<string, string> = {}, options: DriverOptions = {}) => {
  const server = await WireServer.for(t)
  const store = mongoStore(mongoSettings(server.uri, { QUERY_TIMEOUT_MS: String(timeout), ...settings }, options))
  t.teardown(() => store.close())
  await fillTenants(server.store)
  return { server, store }
}

const addEntries = (server: WireServer, count: number) =>
  server.store.insert(
    'entries',
    Array.from({ length: count }, (_, i) => ({ ...a.entry(0), _id: `more${i}`, answers: [] })),
  )

const all = async <T>(batches: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = []
  for await (const batch of batches) all.push(batch)
  return all
}

/** A call of every method of the store that needs the database. */
const calls: Record<string, (store: Store) => Promise<unknown>> = {
  aggregate: (store) => store.aggregate(entries()),
  count: (store) => store.count(entries()),
  dangerouslyFind: (store) => store.dangerouslyFind('users', a.user._id),
  dangerouslyFindAll: (store) => store.dangerouslyFindAll('users', {}, 1),
  insert: (store) => store.insert('users', [{ ...a.user, _id: 'user-new' }]),
  update: (store) => store.update('users', a.user._id, { firstName: 'Zainab' }),
  upsert: (store) => store.upsert('users', [a.user]),
  remove: (store) => store.remove('users', A, ['user-new']),
  stamp: (store) => all(store.stamp('users')),
  dangerouslyErase: (store) => all(store.dangerouslyErase('users', { organisation: A })),
  dangerouslyReadAll: (store) => all(store.dangerouslyReadAll('users')),
  ping: (store) => store.ping(),
}
const reads = Object.entries(calls).slice(0, 4)

/** Makes all calls at once. Each must fail because there is no database. */
const everyCall = (t: Test, store: Store, when = ''): Promise<unknown> =>
  Promise.all(Object.entries(calls).map(([name, call]) => t.rejects(call(store), StoreUnavailable, `${name} ${when}`)))

t.test('Documents are the bytes that the server sent', async (t) => {
  const { server, store } = await start(t)
  const [fromMongo, fromServer] = await Promise.all([store.aggregate(entries()), server.store.aggregate(entries())])
  t.equal(fromMongo.collection, 'entries')
  t.equal(fromMongo.documents.length, 4)
  t.same(fromMongo.documents, fromServer.documents)
  t.equal(store.description, 'MongoDB database test')
})

t.test('A page needs one command, however large it is', async (t) => {
  const { server, store } = await start(t)
  await addEntries(server, 500)
  t.equal((await store.aggregate(entries())).documents.length, 504)
  t.same(commands(server), ['aggregate'])
})

t.test('A page that does not fit into one reply is fetched completely, and no cursor stays open', async (t) => {
  const { server, store } = await start(t)
  await addEntries(server, 20)
  server.firstBatch = 3
  server.furtherBatch = 10
  t.equal((await store.aggregate(entries(1, 10_000))).documents.length, 24)
  t.same(commands(server), ['aggregate', 'killCursors', 'aggregate', 'getMore', 'getMore', 'getMore'])
  t.equal(server.cursors, 0)
})

t.test('Documents are erased in batches, and at last what was written meanwhile', async (t) => {
  const { server, store } = await start(t)
  await addEntries(server, 1500)
  const counts: number[] = []
  for await (const count of store.dangerouslyErase('entries', { organisation: A })) {
    if (counts.push(count) === 1) await server.store.insert('entries', [{ ...a.entry(0), _id: 'late' }])
  }
  t.same(counts, [1000, 504, 1])
  t.same(await server.store.dangerouslyFindAll('entries', { organisation: A }), [])
})

t.test('An aborted read ends with the command that is running, and sends no further one', async (t) => {
  const { server, store } = await start(t)
  await addEntries(server, 20)
  server.furtherBatch = 10
  const caller = new AbortController()
  const leave = async () => caller.abort(new Error('gone'))
  server.firstBatch = 3
  await t.rejects(store.aggregate(entries(1, 10_000), { signal: caller.signal, charge: leave }), { message: 'gone' })
  const sent = commands(server)
  t.notOk(sent.includes('getMore'), String(sent))
  t.equal(server.cursors, 0)
  await t.rejects(store.aggregate(entries(), { signal: caller.signal }), { message: 'gone' })
  t.same(commands(server), sent, 'nothing is sent for a caller who has gone before')
})

t.test('A read tells how many bytes it has read before it reads more', async (t) => {
  const { server, store } = await start(t)
  await addEntries(server, 20)
  server.firstBatch = 3
  server.furtherBatch = 10
  const told: [number, string | undefined][] = []
  const charge = async (more: number) => {
    told.push([more, commands(server).at(-1)])
  }
  const list = await store.aggregate(entries(1, 10_000), { charge })
  t.same(
    told.map(([, command]) => command),
    ['killCursors', 'getMore', 'getMore', 'getMore'],
    'what it reads twice costs once',
  )
  t.equal(
    told.reduce((size, [more]) => size + more, 0),
    list.size,
  )
})

t.test('An operation that gets no free connection in time fails, and the connections are counted', async (t) => {
  const { server, store } = await start(t, { QUERY_TIMEOUT_MS: '1500' }, { timeoutMs: 1500, maxPoolSize: 1 })
  const connections = store.connections as Connections
  const state = () => [connections.open, connections.used, connections.pending]
  t.same(state(), [0, 0, 0])
  // On a busy machine, to connect may take longer than an operation may wait.
  while (
    !(await store.ping().then(
      () => true,
      () => false,
    ))
  );
  t.same(state(), [1, 0, 0])
  server.silent = true
  const failed = t.rejects(store.aggregate(entries()), StoreUnavailable, 'holds the only connection')
  await once(server, 'ignored')
  t.same(state(), [1, 1, 0])
  const waiting = t.rejects(store.count(entries()), StoreUnavailable, 'waits for it')
  while (connections.pending === 0) await setImmediate()
  await waiting
  await failed
  await store.close()
  t.same(state(), [0, 0, 0])
})

t.test('A union is one command', async (t) => {
  const { server, store } = await start(t)
  const scope = { organisation: A }
  const records = Query.in(scope, 'entries', [], [{ $limit: 2 }])
  const deletions = Query.deletedFrom(scope, 'entries', [], [{ $limit: 3 }])
  server.errors.set('aggregate', 40_324)
  await t.rejects(store.aggregate(records.and(deletions)), { code: 40_324 }, 'the stand-in knows no unions')
  t.match(server.commands.at(-1), {
    aggregate: 'entries',
    pipeline: [
      { $match: records.match },
      { $limit: 2 },
      { $unionWith: { coll: 'entries', pipeline: [{ $match: deletions.match }, { $limit: 3 }] } },
    ],
  })
})

t.test('The indexes of a collection are those of others too, and none if it does not exist', async (t) => {
  const { server, store } = await start(t)
  const namespaceNotFound = 26
  server.errors.set('listIndexes', namespaceNotFound)
  t.same(await store.indexes('entries'), [])
  t.equal(store.knownIndexes('entries').length, indexesOf('entries').length, 'those that the service makes')
  server.errors.clear()
  server.indexes.set('entries', new Map([['without a size', { name: 'mine', key: { form: -1 } }]]))
  t.same(await store.indexes('entries'), [{ name: 'mine', fields: [], bytes: 0 }], 'one that descends is of others')
  t.same(store.knownIndexes('entries'), [[]])
  const unauthorized = 13
  server.errors.set('listIndexes', unauthorized)
  await t.rejects(store.indexes('entries'), { code: unauthorized })
})

t.test('An option of the URI is that of the driver', async (t) => {
  const { server } = await start(t)
  server.isRouter = true
  const uri = `${server.uri}?readPreference=nearest&MaxPoolSize=3`
  const store = mongoStore(mongoSettings(uri))
  t.teardown(() => store.close())
  await store.aggregate(entries())
  t.match(server.commands.at(-1), { $readPreference: { mode: 'nearest' } })
})

t.test('Every read uses the read concern of the URI, and tells its time limit', async (t) => {
  const { server } = await start(t)
  const uri = `${server.uri}?readConcernLevel=majority`
  const store = mongoStore(mongoSettings(uri, { QUERY_TIMEOUT_MS: String(timeout) }))
  t.teardown(() => store.close())
  for (const [name, call] of reads) {
    await call(store)
    t.match(server.commands.at(-1), { readConcern: { level: 'majority' }, maxTimeMS: timeout }, name)
  }
})

t.test('A missing file in the URI and contradictory pool sizes fail at once', async (t) => {
  const pool = mongoSettings('mongodb://127.0.0.1/test?minPoolSize=10&maxPoolSize=5')
  t.throws(() => mongoStore(pool), { message: 'minPoolSize 10 is larger than maxPoolSize 5' })
  for (const option of ['tlsCAFile', 'tlsCRLFile', 'tlsCertificateKeyFile']) {
    const settings = mongoSettings(`mongodb://127.0.0.1/test?tls=true&${option}=%2Fnowhere.pem`)
    t.throws(() => mongoStore(settings), { message: /nowhere.pem/ }, option)
  }
})

t.test('It has as many operations at once as it has connections', async (t) => {
  for (const [options, capacity] of [
    ['', 64],
    ['?maxPoolSize=7', 7],
    ['?maxPoolSize=0', 64],
  ] as const) {
    const store = mongoStore(mongoSettings(`mongodb://127.0.0.1/test${options}`))
    t.equal(store.capacity, capacity, options)
    await store.close()
  }
})

t.test('A database that has responded to a query within the last second is not pinged', async (t) => {
  const { server, store } = await start(t)
  const pings = () => server.commands.filter(({ ping }) => ping === 1).length
  await store.ping()
  await store.aggregate(entries(), { isMajority: true })
  await store.ping()
  t.equal(pings(), 2, 'a query of the primary says nothing of the servers that are read otherwise')
  await store.aggregate(entries())
  await store.ping()
  t.equal(pings(), 2)
  while (pings() === 2) {
    await setImmediate()
    await store.ping()
  }
})

t.test('Every read uses the read preference, but for what commands decide by', async (t) => {
  const { server, store } = await start(t, {}, { readPreference: 'secondaryPreferred' })
  server.isRouter = true
  for (const [name, call] of [['ping', calls.ping] as const, ...reads]) {
    await call?.(store)
    const mode = name === 'dangerouslyFindAll' ? undefined : 'secondaryPreferred'
    t.equal((server.commands.at(-1)?.$readPreference as { mode?: string } | undefined)?.mode, mode, name)
  }
})

t.test('A read from the primary ignores the read preference, also when it needs several replies', async (t) => {
  const { server, store } = await start(t, {}, { readPreference: 'secondaryPreferred' })
  server.isRouter = true
  const isFromPrimary = () => {
    const command = server.commands.findLast((command) => 'aggregate' in command)
    const { mode = 'primary' } = (command?.$readPreference as { mode?: string } | undefined) ?? {}
    return mode === 'primary'
  }
  await store.aggregate(entries())
  t.notOk(isFromPrimary())
  await store.aggregate(entries(), { isMajority: true })
  t.ok(isFromPrimary())
  t.match(server.commands.at(-1), { readConcern: { level: 'majority' } }, 'it shows nothing that may be taken back')
  server.firstBatch = 1
  await store.aggregate(entries(), { isMajority: true })
  t.ok(isFromPrimary())
  t.ok('getMore' in (server.commands.at(-1) ?? {}) || server.commands.some((command) => 'killCursors' in command))
})

t.test('What is written is found by the next read, and ids that are taken stay as they are', async (t) => {
  const { server, store } = await start(t)
  const find = (id: string) => store.dangerouslyFind('users', id)
  const fresh = { ...a.user, _id: 'user-new' }
  await store.insert('users', [fresh])
  t.equal(await store.update('users', 'user-new', { firstName: 'Zainab' }), true)
  t.equal(await store.update('users', 'nobody', { firstName: 'Zainab' }), false)
  t.equal(await store.update('users', 'user-new', { firstName: 'Ada' }, { firstName: { $ne: 'Zainab' } }), false)
  t.match(await find('user-new'), { ...fresh, firstName: 'Zainab' })
  t.same(commands(server), ['update', 'update', 'update', 'update', 'aggregate'])
  t.equal((await store.dangerouslyFindAll('users', {})).length, 3)
  t.equal((await store.dangerouslyFindAll('users', {}, 1)).length, 1)
  t.match(await store.dangerouslyFindAll('users', { organisation: B }), [b.user])

  await store.upsert('users', [{ ...a.user, firstName: 'Hauwa' }])
  await t.rejects(store.insert('users', [a.user]), { code: 11_000 })
  t.match(await find(a.user._id), { firstName: 'Hauwa' })
  t.equal(await store.remove('users', A, [a.user._id, b.user._id, 'nobody']), 1)
  t.match(await find(a.user._id), { deletedFrom: A })
  t.match(await find(b.user._id), { ...b.user, organisation: B }, 'in any organisation')
})

t.test('What is not there is nothing', async (t) => {
  const { store } = await start(t)
  t.same((await store.aggregate(entries(2))).documents, [])
  t.equal(await store.count(Query.in({ organisation: 'nobody' }, 'entries', [], [])), 0)
  t.equal(await store.dangerouslyFind('apiKeys', 'none'), undefined)
  t.equal(await store.count(entries(2, 1)), 4, 'a count ignores the page')
})

t.test('An insert with skipTaken skips documents whose id exists already, and no other errors', async (t) => {
  const { server, store } = await start(t)
  const users = [
    { ...a.user, firstName: 'Other' },
    { ...a.user, _id: 'user-new' },
  ]
  await store.insert('users', users, { skipTaken: true })
  t.match(await store.dangerouslyFindAll('users', { organisation: A }), [{ firstName: 'Amina' }, { _id: 'user-new' }])
  await t.rejects(store.insert('users', users), { code: 11_000 })
  const organisation = { _id: 'new', name: 'New', createdAt: new Date(), updatedAt: new Date() }
  for (let n = 0; n < 2; n++) await store.insert('organisations', [organisation], { skipTaken: true })
  t.same(await store.dangerouslyFind('organisations', 'new'), organisation)
  server.errors.set('update', 13)
  await t.rejects(store.insert('users', users, { skipTaken: true }), { code: 13 })
})

t.test('An error of the server means an outage, too much work or something else', async (t) => {
  const { server, store } = await start(t, {}, impatient)
  for (const [code, message, meaning] of [
    [50, 'operation exceeded time limit', QueryTimeout],
    [292, 'Sort exceeded memory limit', QueryTimeout],
    [91, 'shutdown in progress', StoreUnavailable],
    [133, 'no primary', StoreUnavailable],
    [10_107, 'not primary', StoreUnavailable],
    // FerretDB without its PostgreSQL.
    [1, 'pool.go:90 (documentdb.(*Pool).Acquire): failed to connect to `user=postgres`: refused', StoreUnavailable],
    [1, 'the database system is not yet accepting connections', StoreUnavailable],
    [1, 'terminating connection due to unexpected postmaster exit', StoreUnavailable],
    [1, 'cannot determine the plan', undefined],
    [13, 'not authorized', undefined],
  ] as const) {
    server.errors.set('aggregate', code).set('find', code)
    server.errorMessage = message
    const expected = meaning ?? { name: 'MongoServerError', code }
    await Promise.all(reads.map(([name, call]) => t.rejects(call(store), expected as never, `${name}: ${message}`)))
  }
  server.errors.set('aggregate', 18)
  server.commands.length = 0
  await t.rejects(store.aggregate(entries()), StoreUnavailable)
  const sent = commands(server).filter((name) => name !== 'ping') // by which a lost server is looked for
  t.same(sent, ['aggregate'], 'a wrong password is not tried again')
})

t.test(
  'All documents are read in batches without a time limit, which would count for all batches together',
  async (t) => {
    const { server, store } = await start(t)
    await addEntries(server, 1500)
    const [first, second] = await all(store.dangerouslyReadAll('entries'))
    t.same([first?.length, second?.length], [1000, 505])
    t.match(first?.[0], { document: { _id: String, organisation: String, changedAt: Date } })
    t.notOk('maxTimeMS' in (server.commands[0] as object))
    t.equal(server.cursors, 0)
  },
)

t.test('Records without a stamp are stamped in batches', async (t) => {
  const { server, store } = await start(t)
  await addEntries(server, 1500)
  t.same(await all(store.stamp('entries')), [])
  for (let i = 0; i < 1500; i++) await server.store.update('entries', `more${i}`, { changedAt: null } as never)
  const counts = await all(store.stamp('entries'))
  t.same(counts.length, 2)
  t.same(commands(server).at(-1), 'update')
  t.same(await all(store.stamp('entries')), [])
})

t.test('The time by the clock of the database', async (t) => {
  const { server, store } = await start(t)
  const before = (await server.store.now()).now
  const { now, majority } = await store.now()
  t.ok(now >= before)
  t.equal(majority, now, 'a server that is no replica set takes nothing back')
  server.majorityWriteDate = new Date(before - 3000)
  t.equal((await store.now()).majority, before - 3000)
})

t.test('Leaving the loop over all documents closes its cursor on the server', async (t) => {
  const { server, store } = await start(t)
  await addEntries(server, 2500)
  for await (const batch of store.dangerouslyReadAll('entries')) {
    t.equal(batch.length, 1000)
    t.equal(server.cursors, 1)
    break
  }
  t.same(commands(server), ['aggregate', 'killCursors'])
  t.equal(server.cursors, 0)
})

t.test('A read succeeds although the server has closed the idle connections', async (t) => {
  const { server, store } = await start(t)
  for (const [name, call] of reads) {
    await store.ping()
    server.disconnect()
    await t.resolves(call(store), name)
  }
})

t.test('Without a server every operation fails, until the server starts', async (t) => {
  const { server, store } = await start(t, {}, impatient)
  server.stop()
  for (const time of ['at first', 'again']) {
    await everyCall(t, store, time)
  }
  await server.start()
  await t.resolves(store.aggregate(entries()), 'the service was not started again')
})

t.test('After the server stops every operation fails, until it is back', async (t) => {
  const { server, store } = await start(t, {}, impatient)
  await store.ping()
  server.stop()
  await everyCall(t, store)
  await server.start()
  await t.resolves(store.aggregate(entries()))
})

t.test('If the server stops while it works, all running operations fail', async (t) => {
  const { server, store } = await start(t, {}, impatient)
  await store.ping()
  server.silent = true
  const failed = everyCall(t, store)
  await once(server, 'ignored')
  server.stop()
  await failed
})

t.test('A connection that breaks during a write counts as unavailable, but a page is retried', async (t) => {
  const { server, store } = await start(t, {}, impatient)
  const write = Socket.prototype.write
  t.teardown(() => {
    Socket.prototype.write = write
  })
  /** Makes the next writes to the server fail as the system does when nobody reads any longer. */
  const breakWrite = (times = 1) => {
    let broken = 0
    Socket.prototype.write = function (this: Socket, ...args: unknown[]): boolean {
      if (this.remotePort !== server.port || broken === times) return write.apply(this, args as never)
      broken += 1
      this.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
      return false
    }
  }
  await store.ping()
  breakWrite()
  await t.rejects(store.ping(), StoreUnavailable)
  for (const times of [1, 2]) {
    await store.ping()
    breakWrite(times)
    t.equal((await store.aggregate(entries())).documents.length, 4, `${times} broken`)
  }
})

/** Tries again until a call succeeds: while limits are short, also because the machine is busy. */
const succeeds = async (call: () => Promise<unknown>): Promise<void> => {
  const isDone = () =>
    call().then(
      () => true,
      () => false,
    )
  while (!(await isDone()));
}

/** Which messages are lost: tests run beside each other, and have one function for all sockets. */
const losses = new Set<(port: number | undefined, text: string) => boolean>()
const { write } = Socket.prototype
Socket.prototype.write = function (this: Socket, ...args: unknown[]) {
  const isLost = [...losses].some((lose) => lose(this.remotePort, String(args[0])))
  return isLost ? false : Reflect.apply(write, this, args)
}

/** Loses messages, as a socket does that has ended but has not emitted its event yet. Returns a function that ends this. */
const loseWrites = (t: Test, lose: (port: number | undefined, text: string) => boolean): (() => void) => {
  const restore = (): void => void losses.delete(lose)
  losses.add(lose)
  t.teardown(restore)
  return restore
}

t.test('An operation that the driver would wait for forever fails, and a new client connects', async (t) => {
  const server = await WireServer.for(t)
  // The client hangs as it closes, too.
  const { close } = MongoClient.prototype
  let closing = 0
  MongoClient.prototype.close = function (this: MongoClient, ...args) {
    if (this.options.hosts[0]?.port !== server.port) return close.apply(this, args)
    closing += 1
    return new Promise(() => {})
  }
  const uri = `${server.uri}?heartbeatFrequencyMS=500&connectTimeoutMS=100&waitQueueTimeoutMS=100`
  const store = mongoStore(mongoSettings(uri, { QUERY_TIMEOUT_MS: '500' }, { timeoutMs: 100 }))
  t.teardown(() => {
    MongoClient.prototype.close = close
    return store.close()
  })
  const connections = store.connections as Connections
  await succeeds(() => store.ping())
  let lost = 0
  const restore = loseWrites(t, (port, text) => {
    // The first message of a new connection contains the name of the driver.
    const isLost = port === server.port && /ping|hello|ismaster/.test(text) && !text.includes('nodejs')
    if (isLost) lost += 1
    return isLost
  })
  await t.rejects(store.ping(), { name: 'StoreUnavailable', cause: { message: 'No reply after 800 ms' } })
  t.ok(lost > 1, 'a heartbeat was lost, too')
  await succeeds(() => store.count(entries()))
  server.silent = true
  const counted = t.rejects(store.count(entries()), StoreUnavailable)
  // It fails without having reached the server if the client is given up in this moment.
  await Promise.race([once(server, 'ignored'), counted])
  server.disconnect()
  await counted
  restore()
  server.silent = false
  const errors = new Set<string>()
  const isBack = () =>
    store.ping().then(
      () => true,
      (error) => !errors.add(error.name),
    )
  while (!(await Promise.all([isBack(), isBack(), isBack()])).every(Boolean));
  t.ok(errors.size === 0 || errors.has('StoreUnavailable'), [...errors].join())
  t.ok(closing > 0, 'the client that hangs was given up')
  t.equal(connections.used, 0, 'what it holds forever does not count')
})

t.test('An operation that the driver would wait for forever fails soon after its server is lost', async (t) => {
  const server = await WireServer.for(t)
  const uri = `${server.uri}?heartbeatFrequencyMS=500&connectTimeoutMS=100`
  const store = mongoStore(mongoSettings(uri, { QUERY_TIMEOUT_MS: '60000' }, { timeoutMs: 100 }))
  t.teardown(() => store.close())
  await succeeds(() => store.ping())
  let restore = () => {}
  const lost = new Promise<void>((resolve) => {
    restore = loseWrites(t, (port, text) => {
      const isLost = port === server.port && text.includes('ping')
      if (isLost) resolve()
      return isLost
    })
  })
  const pinged = t.rejects(store.ping(), { name: 'StoreUnavailable', cause: { message: 'No reply after 200 ms' } })
  await lost
  restore()
  server.stop()
  await pinged
  await server.start()
  await succeeds(() => store.ping())
  t.pass('it is used again')
})

t.test('A connection that is reset ends no operation on another one', async (t) => {
  const { server, store } = await start(t, { QUERY_TIMEOUT_MS: '60000' }, { timeoutMs: 100 })
  await store.ping()
  // Longer than what gets no reply from a server that is lost.
  server.held.set('aggregate', setTimeout(2500))
  const slow = store.aggregate(entries())
  while (!commands(server).includes('aggregate')) await setImmediate()
  server.resets.add('ping')
  await store.ping().catch(() => {})
  t.equal(server.resets.size, 0)
  t.ok((await slow).documents.length > 0)
})

t.test(
  'A server that stops responding is detected, and used again when it responds',
  { skip: leftToGate },
  async (t) => {
    const { server, store } = await start(t, {}, impatient)
    await store.ping()
    server.silent = true
    await t.rejects(store.aggregate(entries()), StoreUnavailable)
    await t.rejects(store.aggregate(entries()), StoreUnavailable, 'known by now')
    server.silent = false
    await succeeds(() => store.ping())
    t.pass('it is used again')
  },
)

t.test('A name that DNS does not resolve counts as unavailable', async (t) => {
  setServers(['127.0.0.1:9']) // nothing listens on this port
  const store = mongoStore(mongoSettings('mongodb+srv://db.field-data.example/test', {}, impatient))
  t.teardown(() => store.close())
  await t.rejects(store.ping(), StoreUnavailable)
})

/** The names of the commands that a server received. */
const commands = (server: WireServer): string[] => server.commands.map((command) => Object.keys(command)[0] as string)

t.test(
  'writes whose replies come late are stamped again, in smaller parts while that takes long',
  { skip: leftToGate },
  async (t) => {
    const { server, store } = await start(t, { SYNC_SETTLE_MS: '0' })
    const late = 1100
    const stamps = async (condition: Record<string, unknown>) =>
      (await server.store.dangerouslyFindAll('entries', condition)).map((found) => Object(found)[CHANGED_AT].getTime())
    /** The ids that are stamped again by the updates since a command, and the field of the stamp. */
    const again = (since: number) =>
      server.commands
        .slice(since)
        .flatMap(({ updates = [] }) =>
          updates.flatMap(({ q, u }) =>
            Array.isArray(u) && '$set' in u[0] && q.$or === undefined
              ? [[...(q._id as { $in: string[] }).$in, ...Object.keys(u[0].$set)].join()]
              : [],
          ),
        )
    const three = [90, 91, 92].map((n) => a.entry(n))
    const ids = three.map(({ _id }) => _id)
    server.lateReplies.push(late, late)
    const began = Date.now()
    await store.upsert('entries', three)
    t.same(again(0), [`${ids},changedAt`, `${ids.slice(0, 2)},changedAt`, `${ids[2]},changedAt`])
    for (const stamp of await stamps({ _id: { $in: ids } })) t.ok(stamp >= began + 2 * late)

    for (const skipTaken of [false, true]) {
      server.lateReplies.push(late)
      const since = server.commands.length
      const insert = store.insert('entries', [a.entry(93 + Number(skipTaken)), a.entry(90)], { skipTaken })
      if (skipTaken) await insert
      else await t.rejects(insert, { code: 11_000 }, 'what was written before the error is stamped again too')
      t.match(again(since), [/changedAt/])
    }

    server.lateReplies.push(late)
    const since = server.commands.length
    t.equal(await store.remove('entries', A, [...ids, 'nothing']), 3)
    t.same(again(since), [`${ids},nothing,deletedAt`])
    await store.upsert('entries', three)
    t.equal(again(since).length, 1, 'what was in time is not')
  },
)

t.test('on a sharded cluster, what moves a document to another shard is sent by itself', async (t) => {
  const { server, store } = await start(t)
  server.isSharded = true
  const some = [0, 1, 2, 3].map((n) => a.entry(80 + n))
  const ids = some.map(({ _id }) => _id)
  await store.insert('entries', some)
  t.equal(await store.remove('entries', A, ids.slice(1)), 3)
  const found = async () =>
    (await server.store.dangerouslyFindAll('entries', { _id: { $in: ids } })).filter((each) => !('deletedFrom' in each))
  t.equal((await found()).length, 1)
  const removals = server.commands.flatMap(({ updates = [] }) => updates.filter(({ u }) => '0' in u && !('1' in u)))
  t.equal(removals.length, 4, 'one for all, and one for each')
  for (const { u } of removals) t.match(u, [{ $project: { project: 1, form: 1, formerProjects: {}, formerForms: {} } }])

  const sizes = () => server.commands.flatMap(({ updates }) => (updates === undefined ? [] : [updates.length]))
  const before = sizes().length
  await store.insert('entries', some, { skipTaken: true })
  t.same(sizes().slice(before), [4, 1, 1, 1], 'those alone that need it')
  t.equal((await found()).length, 4)

  await store.remove('entries', A, ids.slice(2))
  const again = sizes().length
  await store.upsert('entries', some)
  t.same(sizes().slice(again), [4, 1, 1], 'and behind the first one, all that follow')
  t.equal((await found()).length, 4)

  await store.remove('entries', A, ids.slice(2))
  server.orphans.add(ids[3])
  const left = { name: 'ChunkMoved', message: /try again in a quarter of an hour/ }
  for (const skipTaken of [true, false])
    await t.rejects(store.insert('entries', some, { skipTaken }), skipTaken ? left : { code: 11_000 })
  await t.rejects(store.upsert('entries', some), left)
  await store.upsert('entries', some.slice(0, 3))
  server.orphans.add(ids[0])
  await t.rejects(store.remove('entries', A, ids), left)
  server.errors.set('update', 13)
  await t.rejects(store.remove('entries', A, ids), { code: 13 })
  server.errors.clear()
  server.orphans.clear()
  server.refused = ids[0]
  await store.remove('entries', A, ids.slice(2))
  await t.rejects(store.insert('entries', some, { skipTaken: true }), { code: 121 }, 'another error is one')
})
