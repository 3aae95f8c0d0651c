// The command that creates and lists indexes.
import { MongoClient } from 'mongodb'
import t, { type Test } from 'tap'
import { indexesCommand } from '../../src/commands/indexes.js'
import { seedCommand } from '../../src/commands/seed.js'
import { type CollectionName, collections, recordCollections } from '../../src/core/documents/collections.js'
import { type Index, indexBy, indexesOf } from '../../src/core/documents/indexes.js'
import { embeddedStore } from '../../src/core/store/embedded.js'
import { mongoStore } from '../../src/core/store/mongo.js'
import type { Store } from '../../src/core/store/store.js'
import { runTranscript, tryCommand, wrongCalls } from '../support/command.js'
import { mongoSettings, ownDatabase } from '../support/store.js'
import { leftToGate } from '../support/thorough.js'
import { WireServer } from '../support/wire-server.js'

const uri = process.env.TEST_MONGODB_URI

const keyOf = (fields: Index) => Object.fromEntries(fields.map((field) => [field, 1 as const]))

const storeOn = (t: Test, uri: string, days = '90'): Store => {
  const store = mongoStore(mongoSettings(uri, { TOMBSTONE_DAYS: days }, { timeoutMs: 2000 }))
  t.teardown(() => store.close())
  return store
}

t.test('missing indexes are created, and those of others are kept', async (t) => {
  const database = uri === undefined ? (await WireServer.for(t)).uri : ownDatabase(t, uri)
  const store = storeOn(t, database)
  const before = async () => {
    const client = new MongoClient(database)
    // Somebody has made one that the service declares and another one, with names of their own.
    const own = [['agent'], ['agent', 'createdAt']].map((fields) => ({
      key: keyOf(indexBy(fields)),
      name: fields.join(),
    }))
    // Neither serves all lists, and the second is a constraint.
    const special = [
      { key: keyOf(indexBy(['form'])), name: 'some', partialFilterExpression: { status: 'accepted' } },
      { key: keyOf(indexBy(['form', 'duration'])), unique: true },
    ]
    await client
      .db()
      .collection('entries')
      .createIndexes([...own, ...special])
    await client.close()
  }
  const lines = `
    $ indexes
    collection  …
    …
    entries     organisation, createdAt, _id …MiB
    …
    $ indexes --json
    […"name":"agent,createdAt","fields":["organisation","agent","createdAt","_id"],"bytes":…}…]`
  await runTranscript(t, { before, lines }, store)
  for (const name of Object.keys(collections) as CollectionName[]) {
    const found = (await store.indexes(name))
      .map(({ name, fields }) => fields.join() || name)
      .filter((shown) => shown !== '_id')
    const ofTombstones = ['deletedAt_1', 'deletedFrom_1_deletedAt_1__id_1']
    const others = [
      ...((recordCollections as readonly string[]).includes(name) ? ofTombstones : []),
      ...(name === 'entries' ? ['some'] : []),
    ]
    const more = [
      ['agent', 'createdAt'],
      ['form', 'duration'],
    ].map(indexBy)
    const all = [...indexesOf(name), ...(name === 'entries' ? more : [])].map((fields) => fields.join())
    t.same(found.sort(), [...all, ...others].sort(), name)
  }
})

t.test('an index of somebody else is listed by its name', async (t) => {
  const mine = { name: 'mine_-1', fields: [], bytes: 1_600_000 }
  const store: Store = {
    ...embeddedStore(),
    indexes: async (name) => (name === 'users' ? [mine] : []),
  }
  const lines = `
    $ indexes
    collection  index    size
    users       mine_-1  1.5 MiB`
  await runTranscript(t, { lines }, store)
})

t.test('a wrong call says what is wrong, and a failure what failed', async (t) => {
  await wrongCalls(t, [['indexes --bogus', "Unknown option '--bogus'"]])
  const server = await WireServer.for(t)
  const store = storeOn(t, server.uri)
  server.errors.set('createIndexes', 13)
  const refused = await tryCommand(indexesCommand, store, [])
  t.equal(refused.code, 1)
  t.match(refused.output, 'The database refuses to create indexes\nusers by organisation, _id, updatedAt: This error')
  t.match(refused.output, 'entries by organisation, form, _id: This error was requested')
  server.errors.set('createIndexes', 91)
  const lost = await tryCommand(indexesCommand, store, [])
  t.match(lost, { code: 1, lines: [/^2> The database cannot be reached: /] }, 'an outage is no refusal')
  server.errors.set('listIndexes', 13)
  const unlisted = '2> The database refuses this: This error was requested'
  t.same((await tryCommand(indexesCommand, store, [])).lines, [unlisted])
  server.stop()
  t.match(await tryCommand(indexesCommand, store, []), { code: 1, lines: [/^2> The database cannot be reached: /] })
})

t.test(
  'the service sets how long tombstones are kept, and a command leaves that as it is',
  { skip: leftToGate },
  async (t) => {
    const server = await WireServer.for(t)
    const daysOf = () =>
      [...server.indexes].flatMap(([collection, indexes]) => {
        const seconds = indexes.get('deletedAt_1')?.expireAfterSeconds
        return seconds === undefined ? [] : [[collection, (seconds - 3600) / 86_400]]
      })
    const all = (days: number) => recordCollections.map((name) => [name, days])
    t.match(await tryCommand(indexesCommand, storeOn(t, server.uri, '365'), []), { code: 0 })
    t.same(daysOf(), all(365), 'a command creates a missing index')
    t.match(await tryCommand(indexesCommand, storeOn(t, server.uri), []), { code: 0 })
    t.match(await tryCommand(seedCommand, storeOn(t, server.uri), ['--scenario', 'tiny']), { code: 0 })
    t.same(daysOf(), all(365))
    t.same(await storeOn(t, server.uri, '30').ensureIndexes(), [])
    t.same(daysOf(), all(30))
  },
)

/** How many indexes of each collection the service makes. */
const made = (Object.keys(collections) as CollectionName[]).map((name) => [
  name,
  indexesOf(name).length + ((recordCollections as readonly string[]).includes(name) ? 2 : 0),
])
const countsOf = (server: WireServer) => made.map(([name]) => [name, server.indexes.get(String(name))?.size ?? 0])

t.test('one index that cannot be created keeps no other from being created', async (t) => {
  const server = await WireServer.for(t)
  const theirs = [
    { name: 'agents', key: keyOf(indexBy(['agent'])) },
    { name: 'forms', key: keyOf(indexBy(['form'])), hidden: true },
  ]
  server.listsCollations = true
  server.indexes.set('entries', new Map(theirs.map((index) => [index.name, index])))
  const refused = await storeOn(t, server.uri).ensureIndexes()
  t.match(refused, [/^entries by organisation, form, _id: Such an index exists/], 'the other one serves as well')
  t.equal(refused.length, 1)
  t.same(countsOf(server), made)
})

t.test('a login that may not change an index makes those that are missing', async (t) => {
  const server = await WireServer.for(t)
  await storeOn(t, server.uri, '365').ensureIndexes()
  for (const indexes of server.indexes.values()) indexes.delete('organisation_1_createdAt_1__id_1')
  server.errors.set('collMod', 13)
  server.errorMessage = 'not authorized'
  const days = recordCollections.map((name) => `TOMBSTONE_DAYS of ${name}: not authorized`)
  t.same([...(await storeOn(t, server.uri).ensureIndexes())].sort(), days.sort())
  t.same(countsOf(server), made)
})

const skip = uri === undefined && 'TEST_MONGODB_URI is not set'
t.test('a server keeps one index that deletes tombstones, and no record', { skip }, async (t) => {
  const database = ownDatabase(t, String(uri))
  const client = new MongoClient(database)
  t.teardown(() => client.close())
  for (const days of ['90', '30', '30', '365']) {
    await storeOn(t, database, days).ensureIndexes()
    const other = storeOn(t, database, '7')
    t.match(await tryCommand(indexesCommand, other, []), { code: 0 }, 'a command leaves it as it is')
    const indexes = await client.db().collection('entries').indexes()
    const expiring = indexes.filter(({ expireAfterSeconds }) => expireAfterSeconds !== undefined)
    t.match(
      expiring.map((index) => [index.key, index.expireAfterSeconds, index.partialFilterExpression]),
      [[{ deletedAt: 1 }, Number(days) * 86_400 + 3600, { deletedFrom: { $exists: true } }]],
    )
  }
})
