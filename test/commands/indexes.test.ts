// The command that creates indexes.
import { MongoClient } from 'mongodb'
import t from 'tap'
import { indexesCommand } from '../../src/commands/indexes.js'
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
  const store = mongoStore(mongoSettings(server.uri))
  t.teardown(() => store.close())
  const run = () => tryCommand(indexesCommand, store, [])
  t.match(await run(), { code: 0, stdout: 'All indexes of MongoDB database test exist' })
  const created = server.commands.filter((command) => 'createIndexes' in command)
  for (const [name, { indexes }] of Object.entries(collections)) {
    const found = created
      .filter(({ createIndexes }) => createIndexes === name)
      .flatMap(({ indexes }) => indexes.map(({ key }) => Object.keys(key)))
    t.same(found, isRecordCollection(name as CollectionName) ? [...indexes, TOMBSTONE_INDEX, ['deletedAt']] : indexes)
  }
  t.match(JSON.parse((await tryCommand(indexesCommand, store, ['--json'])).stdout), {
    entries: collections.entries.indexes,
  })
  t.match(await tryCommand(indexesCommand, store, ['--bogus']), { code: 2, output: "Unknown option '--bogus'" })
  server.errors.set('createIndexes', 13)
  t.match(await run(), { code: 1, output: /^The indexes cannot be created: /m })
  server.stop()
  t.match(await run(), { code: 1, output: /^The database cannot be reached: /m })
})

t.test('the setting says how long tombstones are kept, also after it was changed', async (t) => {
  const server = await WireServer.for(t)
  for (const [days, seconds] of [
    ['90', 90 * 86_400 + 3600],
    ['30', 30 * 86_400 + 3600],
  ] as const) {
    const store = mongoStore(mongoSettings(server.uri, { TOMBSTONE_DAYS: days }))
    t.teardown(() => store.close())
    t.match(await tryCommand(indexesCommand, store, []), { code: 0 })
    t.same(
      [...server.expiries],
      recordCollections.map((name) => [name, seconds]),
    )
  }
})

const uri = process.env.TEST_MONGODB_URI

t.test('a server keeps one index that deletes tombstones, and no record', { skip: uri === undefined }, async (t) => {
  const database = ownDatabase(t, String(uri))
  const client = new MongoClient(database)
  t.teardown(() => client.close())
  for (const days of ['90', '30', '30', '365']) {
    const store = mongoStore(mongoSettings(database, { TOMBSTONE_DAYS: days }))
    t.teardown(() => store.close())
    t.match(await tryCommand(indexesCommand, store, []), { code: 0 })
    const indexes = await client.db().collection('entries').indexes()
    const expiring = indexes.filter(({ expireAfterSeconds }) => expireAfterSeconds !== undefined)
    t.match(
      expiring.map((index) => [index.key, index.expireAfterSeconds, index.partialFilterExpression]),
      [[{ deletedAt: 1 }, Number(days) * 86_400 + 3600, { deletedFrom: { $exists: true } }]],
    )
  }
})
