// The command that creates indexes.
import { MongoClient } from 'mongodb'
import t from 'tap'
import { indexesCommand } from '../../src/commands/indexes.js'
import { seedCommand } from '../../src/commands/seed.js'
import {
  type CollectionName,
  collections,
  isRecordCollection,
  recordCollections,
  TOMBSTONE_INDEX,
} from '../../src/documents/collections.js'
import { mongoStore } from '../../src/store/mongo.js'
import { tryCommand } from '../support/command.js'
import { mongoSettings, ownDatabase } from '../support/store.js'
import { WireServer } from '../support/wire-server.js'

t.test('every index is created, and a failure is reported', async (t) => {
  const server = await WireServer.for(t)
  const store = mongoStore(mongoSettings(server.uri, { MONGODB_TIMEOUT_MS: '2000' }))
  t.teardown(() => store.close())
  const run = () => tryCommand(indexesCommand, store, [])
  t.match(await run(), { code: 0, stdout: 'All indexes of MongoDB database test exist' })
  const created = server.commands.filter((command) => 'createIndexes' in command)
  for (const [name, { indexes }] of Object.entries(collections)) {
    const found = created
      .filter(({ createIndexes }) => createIndexes === name)
      .flatMap(({ indexes }) => indexes.map(({ key }) => Object.keys(key)))
    t.same(found, isRecordCollection(name as CollectionName) ? [['deletedAt'], ...indexes, TOMBSTONE_INDEX] : indexes)
  }
  const { stdout } = await tryCommand(indexesCommand, store, ['--json'])
  t.match(JSON.parse(stdout), { entries: collections.entries.indexes })
  t.match(stdout, /^\{\n {2}"organisations": /)
  t.match(await tryCommand(indexesCommand, store, ['--bogus']), { code: 2, output: "Unknown option '--bogus'" })
  server.errors.set('createIndexes', 13)
  t.match(await run(), { code: 1, output: /^The indexes cannot be created: /m })
  server.stop()
  t.match(await run(), { code: 1, output: /^The database cannot be reached: /m })
})

t.test('the service sets how long tombstones are kept, and a command leaves that as it is', async (t) => {
  const server = await WireServer.for(t)
  const storeFor = (days: string) => {
    const store = mongoStore(mongoSettings(server.uri, { TOMBSTONE_DAYS: days }))
    t.teardown(() => store.close())
    return store
  }
  const daysOf = () => [...server.expiries].map(([name, seconds]) => [name, (seconds - 3600) / 86_400])
  const all = (days: number) => recordCollections.map((name) => [name, days])
  t.match(await tryCommand(indexesCommand, storeFor('365'), []), { code: 0 })
  t.same(daysOf(), all(365), 'a command creates a missing index')
  t.match(await tryCommand(indexesCommand, storeFor('90'), []), { code: 0 })
  t.match(await tryCommand(seedCommand, storeFor('90'), ['--entries', '1', '--dispatches', '2']), { code: 0 })
  t.same(daysOf(), all(365))
  await storeFor('30').ensureIndexes()
  t.same(daysOf(), all(30))
})

const uri = process.env.TEST_MONGODB_URI

t.test('a server keeps one index that deletes tombstones, and no record', { skip: uri === undefined }, async (t) => {
  const database = ownDatabase(t, String(uri))
  const client = new MongoClient(database)
  t.teardown(() => client.close())
  for (const days of ['90', '30', '30', '365']) {
    const store = mongoStore(mongoSettings(database, { TOMBSTONE_DAYS: days }))
    t.teardown(() => store.close())
    await store.ensureIndexes()
    const other = mongoStore(mongoSettings(database, { TOMBSTONE_DAYS: '7' }))
    t.teardown(() => other.close())
    t.match(await tryCommand(indexesCommand, other, []), { code: 0 }, 'a command leaves it as it is')
    const indexes = await client.db().collection('entries').indexes()
    const expiring = indexes.filter(({ expireAfterSeconds }) => expireAfterSeconds !== undefined)
    t.match(
      expiring.map((index) => [index.key, index.expireAfterSeconds, index.partialFilterExpression]),
      [[{ deletedAt: 1 }, Number(days) * 86_400 + 3600, { deletedFrom: { $exists: true } }]],
    )
  }
})
