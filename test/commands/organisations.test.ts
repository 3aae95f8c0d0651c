// The command that adds and lists organisations.
import t, { type Test } from 'tap'
import { keysCommand } from '../../src/commands/keys.js'
import { organisationsCommand } from '../../src/commands/organisations.js'
import { tryCommand } from '../support/command.js'
import { testStore } from '../support/store.js'

const prepare = (t: Test) => {
  const store = testStore(t)
  return { store, organisations: (...argv: string[]) => tryCommand(organisationsCommand, store, argv) }
}

t.test('an organisation is added and listed, and keys can be issued for it', async (t) => {
  const { store, organisations } = prepare(t)
  const added = await organisations('add', '--name', 'Rural Water', '--json')
  t.equal(added.code, 0)
  const { id, name, createdAt } = JSON.parse(added.stdout)
  t.match(id, /^[0-9a-f]{24}$/)
  t.same(await store.dangerouslyFind('organisations', id), {
    ...{ _id: id, name: 'Rural Water' },
    ...{ createdAt: new Date(createdAt), updatedAt: new Date(createdAt) },
  })
  t.same(JSON.parse((await organisations('list', '--json')).stdout), [{ id, name, createdAt }])
  t.match(await tryCommand(keysCommand, store, ['issue', '--organisation', id, '--name', 'Sync']), { code: 0 })
})

t.test('an organisation may be given an id, once', async (t) => {
  const { store, organisations } = prepare(t)
  const added = await organisations('add', '--name', 'Health Watch', '--id', 'health')
  t.equal(added.code, 0)
  t.equal(
    added.stdout,
    'Added organisation health\nIssue a key for it with: npx field-data-api keys issue --organisation health --name NAME\n',
  )
  t.match(await organisations('add', '--name', 'Other', '--id', 'health'), {
    code: 1,
    output: /^Organisation health exists already\n$/,
  })
  t.match(await store.dangerouslyFind('organisations', 'health'), { name: 'Health Watch' })
})

t.test('the list is a table in the order of the names, even if other programs stored odd values', async (t) => {
  const { store, organisations } = prepare(t)
  await organisations('add', '--name', 'Water', '--id', 'w')
  await organisations('add', '--name', 'Health', '--id', 'h')
  await store.insert('organisations', [{ _id: 'x', name: { odd: true }, createdAt: 'once\u001b' } as never])
  const { stdout } = await organisations('list')
  t.match(stdout, /^id {2}name +createdAt\nh {3}Health +\S+Z\nx {3}- +once\\u001b\nw {3}Water +\S+Z\n$/)
})

t.test('a wrong call says what is wrong', async (t) => {
  const { store, organisations } = prepare(t)
  for (const [argv, message] of [
    [[], 'Usage: organisations [options] [command]'],
    [['remove'], "Unknown command 'remove'"],
    [['add'], "Required option '--name <NAME>' not specified"],
    [['add', '--name', 'a\u0007'], 'must be 1 to 100 characters'],
    [['add', '--name', 'x', '--id', '$x'], 'must be 1 to 100 letters'],
    [['add', '--name', 'x', '--id', ''], 'must be 1 to 100 letters'],
    [['list', '--name', 'x'], "Unknown option '--name'"],
  ] as const) {
    const { code, output } = await organisations(...argv)
    t.equal(code, 2, message)
    t.match(output, message)
    t.match(output, 'Usage: organisations')
  }
  t.same(await store.dangerouslyFindAll('organisations', {}), [])
})
