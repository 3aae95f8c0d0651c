// The command that stamps records without a change stamp.
import t from 'tap'
import { stampCommand } from '../../src/commands/stamp.js'
import { recordCollections } from '../../src/core/documents/collections.js'
import { tryCommand } from '../support/command.js'
import { testStore } from '../support/store.js'
import { A, a, B, fillTenants } from '../support/tenants.js'

/** What other writers may have stored instead of a stamp; null in other collections. */
const unstamped: { [name: string]: unknown } = { entries: 'long ago', forms: [new Date(0)], users: [] }

t.test('every record without a stamp gets one, and no other document changes', async (t) => {
  const store = testStore(t)
  await fillTenants(store)
  await store.remove('entries', A, [a.entry(1)._id])
  const before = new Date((await store.now()).now)
  t.match(await tryCommand(stampCommand, store, []), { code: 0, stdout: 'Stamped 0 in users\nStamped 0 in agents\n' })
  const stampOf = async (id: string) => (await store.dangerouslyFind('entries', id)) as { changedAt?: unknown }
  const { changedAt } = await stampOf(a.entry(2)._id)
  const tombstone = await stampOf(a.entry(1)._id)
  t.ok('deletedAt' in tombstone)
  for (const name of recordCollections) {
    for (const { _id } of await store.dangerouslyFindAll(name, { organisation: B })) {
      await store.update(name, _id, { changedAt: unstamped[name] ?? null } as never)
    }
  }
  const { stdout } = await tryCommand(stampCommand, store, ['--json'])
  const stamped = JSON.parse(stdout)
  for (const name of recordCollections) {
    const documents = await store.dangerouslyFindAll(name, { organisation: B })
    t.equal(stamped[name], documents.length, name)
    for (const document of documents) t.ok(Number((document as { changedAt?: Date }).changedAt) >= Number(before), name)
  }
  t.same((await stampOf(a.entry(2)._id)).changedAt, changedAt)
  t.same(await stampOf(a.entry(1)._id), tombstone, 'a tombstone stays as it is')
  t.match(await tryCommand(stampCommand, store, ['--bogus']), { code: 2, output: "Unknown option '--bogus'" })
})
