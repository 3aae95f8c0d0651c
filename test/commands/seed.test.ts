// The command that writes demo data.
import t, { type Test } from 'tap'
import { seedCommand } from '../../src/commands/seed.js'
import { keysOf } from '../../src/keys/keys.js'
import type { Store } from '../../src/store/store.js'
import { tryCommand } from '../support/command.js'
import { testStore, withoutUpdates } from '../support/store.js'

const prepare = async (t: Test) => {
  const store = testStore(t)
  const seedInto = (target: Store, ...argv: string[]) => tryCommand(seedCommand, target, argv)
  const count = async (name: 'entries' | 'dispatches') => (await store.dangerouslyFindAll(name, {})).length
  return { store, seedInto, seed: (...argv: string[]) => seedInto(store, ...argv), count }
}

t.test('seeding writes as much data as was asked for and prints a working key for each organisation', async (t) => {
  const { store, seed, count } = await prepare(t)
  const { code, stdout, output } = await seed(
    '--organisations',
    '2',
    '--dispatches',
    '8',
    '--entries',
    '2500',
    '--json',
  )
  t.equal(code, 0)
  t.equal(await count('entries'), 2500)
  t.equal(await count('dispatches'), 8)
  const issued = JSON.parse(stdout)
  t.equal(issued.length, 2)
  for (const { organisation, key } of issued)
    t.match(await keysOf(withoutUpdates(store), () => {}).verify(key), { organisation })
  t.match(output, /Entries \[.*2500 of 2500 \| \d+ a second/)
})

t.test('seeding again adds what is missing and nothing else', async (t) => {
  const { store, seedInto, seed, count } = await prepare(t)
  const numbers = ['--dispatches', '4', '--entries', '1200', '--seed', '7']
  const failing: Store = {
    ...store,
    insert: (collection, documents, options) =>
      collection === 'entries' ? Promise.reject(new Error('gone')) : store.insert(collection, documents, options),
  }
  t.match(await seedInto(failing, ...numbers), { code: 1, output: 'Error: gone' }, 'a run that is interrupted')
  t.match(await seed(...numbers), { code: 0, stdout: /^fda_\w+ {2}\w+ {2}\S/m })
  t.equal(await count('entries'), 1200)
  t.match(await seed(...numbers), { code: 0 })
  t.equal(await count('entries'), 1200)
})

t.test('two runs at the same time write the same data once', async (t) => {
  const { seed, count } = await prepare(t)
  const numbers = ['--dispatches', '4', '--entries', '1200']
  t.match(await Promise.all([seed(...numbers), seed(...numbers)]), [{ code: 0 }, { code: 0 }])
  t.equal(await count('entries'), 1200)
})

t.test('a database with other data is left alone unless --force is given', async (t) => {
  const { store, seed, count } = await prepare(t)
  await store.insert('organisations', [{ _id: 'real', name: 'Real', createdAt: new Date(), updatedAt: new Date() }])
  t.match(await seed('--entries', '0'), { code: 1, output: 'The database holds other data' })
  t.equal(await count('dispatches'), 0)
  t.match(await seed('--entries', '0', '--force'), { code: 0 })
  t.equal(await count('dispatches'), 48)
})

t.test('a wrong number is an error that names its option', async (t) => {
  const { seed } = await prepare(t)
  t.match(await seed('--entries', '-1'), { code: 2, output: /--entries|Option/ })
  t.match(await seed('--entries=1e6'), { code: 2, output: '--entries 1e6 must be an integer from 0 to 999999999' })
  t.match(await seed('--organisations', '0'), { code: 2, output: '--organisations 0 must be an integer from 1' })
  t.match(await seed('--dispatches', '1'), { code: 2, output: 'at least one dispatch for each organisation' })
})
