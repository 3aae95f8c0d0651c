// What docs/deploying.md says of copies after the database was restored to an older state, on the server of
// TEST_MONGODB_URI.
import t from 'tap'
import { stampCommand } from '../src/commands/stamp.js'
import { keyIdOf } from '../src/core/keys/format.js'
import { keysOf } from '../src/core/keys/keys.js'
import { type TestApp, testApp } from '../test/support/app.js'
import { tryCommand } from '../test/support/command.js'
import { databaseOn } from '../test/support/store.js'
import { A, a } from '../test/support/tenants.js'
import { blocksOf } from './support/pages.js'

const server = process.env.TEST_MONGODB_URI
const settings = { SYNC_SETTLE_MS: '0' }

type Copy = Map<string, object>

/** Brings a copy up to date by the feed, as docs/syncing.md says. Returns the next cursor. */
const follow = async ({ get }: TestApp, copy: Copy, cursor: string): Promise<string> => {
  const { data, _metadata } = (await get(`/v1/sync/entries?cursor=${cursor}`, A)).json()
  for (const { changedAt, ...item } of data) {
    if (item.deleted) copy.delete(item.id)
    else copy.set(item.id, item)
  }
  return _metadata.hasMore ? follow({ get } as TestApp, copy, _metadata.nextCursor) : _metadata.nextCursor
}

const ids = (...numbers: number[]) => numbers.map((number) => a.entry(number)._id)

/** The ids of records that only the copy has, that only the service has, and that are in two states. */
const differences = async (service: TestApp, copy: Copy) => {
  const real: Copy = new Map()
  await follow(service, real, '*')
  const not = (other: Copy) => (id: string) => !other.has(id)
  return {
    added: [...copy.keys()].filter(not(real)),
    missing: [...real.keys()].filter(not(copy)),
    differ: [...real.keys()].filter(
      (id) => copy.has(id) && JSON.stringify(copy.get(id)) !== JSON.stringify(real.get(id)),
    ),
  }
}

const skip = server === undefined && 'TEST_MONGODB_URI is not set'
t.test('a copy after a restore, before and after the records have new stamps', { skip }, async (t) => {
  const { store, client } = await databaseOn(t, String(server))
  const service = await testApp(t, { store, settings })
  const key = await service.keyOf(A)
  await store.insert(
    'entries',
    [1, 2, 3, 4].map((number) => a.entry(number)),
  )
  const copy: Copy = new Map()
  const first = await follow(service, copy, '*')
  t.same([...copy.keys()].sort(), ids(1, 2, 3, 4).sort())

  const { store: restored, client: other } = await databaseOn(t, String(server))
  for (const { name } of await client.db().listCollections().toArray()) {
    const documents = await client.db().collection(name).find({}).toArray()
    if (documents.length > 0) await other.db().collection(name).insertMany(documents)
  }
  await store.upsert('entries', [a.entry(1, { status: 'later' }), a.entry(2, { updatedAt: new Date() })])
  await store.insert('entries', [a.entry(5)])
  await store.remove('entries', A, ids(3))
  await keysOf(store, () => {}).revoke(String(keyIdOf(key)))
  const cursor = await follow(await testApp(t, { store, settings }), copy, first)
  t.same([...copy.keys()].sort(), ids(1, 2, 4, 5).sort())

  const after = await testApp(t, { store: restored, settings })
  const next = await follow(after, copy, cursor)
  t.same(
    await differences(after, copy),
    { added: ids(5), missing: ids(3), differ: ids(1, 2) },
    'the feed tells nothing',
  )
  const authorization = `Bearer ${key}`
  t.equal(
    (await after.app.inject({ url: '/v1/me', headers: { authorization } })).statusCode,
    200,
    'a revoked key works',
  )

  const [statement] = blocksOf('docs/deploying.md').filter(({ language }) => language === 'js')
  const pending: Promise<unknown>[] = []
  const db = {
    getCollection: (name: string) => ({
      updateMany(filter: object, update: object) {
        pending.push(other.db().collection(name).updateMany(filter, update))
      },
    }),
  }
  new Function('db', String(statement?.text))(db)
  await Promise.all(pending)
  t.match(await tryCommand(stampCommand, restored, []), { code: 0, stdout: 'Stamped 4 in entries' })
  await follow(after, copy, next)
  t.same(
    await differences(after, copy),
    { added: ids(5), missing: [], differ: [] },
    'only the check finds what was added',
  )
  const [digest] = (await after.get('/v1/sync/entries/digest', A)).json().data
  t.equal(digest.count, 4)
})
