// The statements of docs/data.md, for programs that write to the database themselves, run on the server of
// TEST_MONGODB_URI: each does what the page says.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { checkCommand } from '../src/commands/check.js'
import { tryCommand } from '../test/support/command.js'
import { databaseOn } from '../test/support/store.js'
import { A, a } from '../test/support/tenants.js'

const server = process.env.TEST_MONGODB_URI
const organisation = 'savannah'

const statements = [...readFileSync('docs/data.md', 'utf8').matchAll(/^```js\n(.*?)^```/gms)].map(([, text]) => text)

t.test('docs/data.md has statements to add, to change, to move, to delete and to stamp', async (t) => {
  t.equal(statements.length, 6)
})

const skip = server === undefined && 'TEST_MONGODB_URI is not set'
t.test('the statements of docs/data.md keep the change feed right', { skip }, async (t) => {
  const { store, client } = await databaseOn(t, String(server))
  const entries = client.db().collection<{ _id: string; [field: string]: unknown }>('entries')
  const [add, change, move, moveAny, remove, stamp] = statements.map(
    (text) => () => new Function('db', `return ${text}`)({ entries }) as Promise<{ modifiedCount: number }>,
  ) as [Run, Run, Run, Run, Run, Run]
  /** Runs a statement, and returns the document that it leaves. */
  const after = async (run: Run) => {
    const since = (await store.now()).now
    await run()
    const document = await entries.findOne({ _id: 'entry-1' })
    t.ok(Number(document?.changedAt ?? document?.deletedAt) >= since, 'it has the time of the statement')
    return document
  }

  const now = new Date()
  const existing = [organisation, A].map((_id) => ({ _id, name: _id, createdAt: now, updatedAt: now }))
  await store.insert('organisations', existing)
  await entries.insertOne({ ...a.entry(1), _id: 'foreign' })
  t.match(await after(add), { organisation, status: 'submitted', updatedAt: new Date('2025-03-14T09:26:53.589Z') })
  await t.rejects(add(), { code: 11_000 }, 'its id is taken')
  t.match(await after(change), { organisation, status: 'accepted', changedAt: Date })
  t.notOk('formerProjects' in ((await entries.findOne({ _id: 'entry-1' })) ?? {}), 'it has left nothing')
  t.match(await after(move), { project: 'project-2', formerProjects: ['project-1'], changedAt: Date, updatedAt: Date })
  t.equal((await move()).modifiedCount, 0, 'it is in another project now')
  const both = ['project-1', 'project-2']
  const moved = await after(moveAny)
  t.match(moved, { project: 'project-3', changedAt: Date, updatedAt: Date })
  t.strictSame(sorted(moved?.formerProjects), both)
  const { deletedAt: _, formerProjects, ...tombstone }: Record<string, unknown> = (await after(remove)) ?? {}
  t.strictSame(tombstone, { _id: 'entry-1', deletedFrom: organisation, project: 'project-3', formerForms: [] })
  const all = [...both, 'project-3']
  t.strictSame(sorted(formerProjects), all, 'and what it was deleted from')
  for (const run of [remove, change, move, moveAny]) t.equal((await run()).modifiedCount, 0)
  const again = await after(add)
  t.match(again, { organisation, status: 'submitted', project: 'project-1' })
  t.strictSame(sorted(again?.formerProjects), all)
  t.notOk('deletedFrom' in (again ?? {}))
  await store.remove('entries', organisation, ['entry-1'])
  t.strictSame(sorted((await after(add))?.formerProjects), all, 'also those of a tombstone that the service wrote')

  t.match(await tryCommand(checkCommand, store, []), { code: 1, stdout: '"errors":["changedAt: is missing"]' })
  await entries.updateOne({ _id: 'entry-1' }, { $set: { changedAt: [new Date()] } })
  t.equal((await stamp()).modifiedCount, 2, 'the one that has none, and the one with an array')
  t.equal((await stamp()).modifiedCount, 0)
  t.match(await tryCommand(checkCommand, store, []), { code: 0, output: 'All documents fit: 4' })
})

const sorted = (set: unknown): string[] => (set as string[]).toSorted()

type Run = () => Promise<{ modifiedCount: number }>
