// The command that writes demo data.
import t, { type Test } from 'tap'
import { seedCommand } from '../../src/commands/seed.js'
import { keysOf } from '../../src/core/keys/keys.js'
import { mongoStore } from '../../src/core/store/mongo.js'
import type { Store } from '../../src/core/store/store.js'
import { transcripts, tryCommand, wrongCalls } from '../support/command.js'
import { mongoSettings, testStore, withoutUpdates } from '../support/store.js'
import { leftToGate } from '../support/thorough.js'
import { WireServer } from '../support/wire-server.js'

const OTHER =
  '2> The database holds other data, or this data up to another day: name another one in MONGODB_URI, or use --force to write to it'

transcripts(t, {
  'organisations that are added and keys that are issued have audit lines and say by whom': {
    lines: `
      $ seed --scenario tiny --by Ana
      2> {<audit>"action":"organisations add","by":"Ana","organisation":"tiny"}
      2> {<audit>"action":"keys issue","by":"Ana","keyId":"<keyId A>","organisation":"tiny"}
      <key>  tiny  Tiny Wells
      $ seed --scenario tiny
      2> {<audit>"action":"keys issue","keyId":"<keyId B>","organisation":"tiny"}
      <key>  tiny  Tiny Wells`,
    after: {
      organisations: [{ _id: 'tiny', name: 'Tiny Wells' }],
      apiKeys: [
        { _id: '<keyId A>', issuedBy: 'Ana' },
        { _id: '<keyId B>', issuedBy: undefined },
      ],
    },
  },
  'a database with other data is left alone unless --force is given': {
    before: { organisations: [{ _id: 'real', name: 'Real', createdAt: new Date(), updatedAt: new Date() }] },
    lines: `
      $ seed --scenario tiny
      ${OTHER}
      exit 1
      $ seed --scenario tiny --force
      …`,
    after: { organisations: [{ _id: 'real' }, { _id: 'tiny' }] },
  },
  'data that is there up to another day is left alone, and the error says how to go on with it': {
    lines: `
      $ seed --scenario tiny --until 2026-03-14
      …
      $ seed --scenario tiny --until 2026-03-15
      ${OTHER}
      exit 1
      $ seed --scenario tiny
      ${OTHER}
      exit 1
      $ seed --scenario survey --until 2026-03-14
      ${OTHER}
      exit 1
      $ seed
      ${OTHER}
      exit 1`,
    after: {
      seeds: [{ _id: 'tiny-42-2-48-3000-until-2026-03-14' }],
      users: [{ _id: 'user-1' }],
    },
  },
  'data without a last day is gone on with in the same way': {
    lines: `
      $ seed --entries 1 --dispatches 2
      …
      $ seed --entries 1 --dispatches 2 --until 2026-03-14
      ${OTHER}
      exit 1`,
    after: { seeds: [{ _id: 'demo-42-2-2-1' }] },
  },
})

const prepare = async (t: Test) => {
  const store = testStore(t)
  const seedInto = (target: Store, ...argv: string[]) => tryCommand(seedCommand, target, argv)
  const count = async (name: 'entries' | 'dispatches') => (await store.dangerouslyFindAll(name, {})).length
  return { store, seedInto, seed: (...argv: string[]) => seedInto(store, ...argv), count }
}

t.test('seeding writes as much data as was asked for and prints a working key for each organisation', async (t) => {
  const { store, seed, count } = await prepare(t)
  const numbers = ['--organisations', '2', '--dispatches', '8', '--entries', '2500']
  const { code, stdout, output } = await seed(...numbers, '--json')
  t.equal(code, 0)
  t.equal(await count('entries'), 2500)
  t.equal(await count('dispatches'), 8)
  const issued = JSON.parse(stdout)
  t.equal(issued.length, 2)
  for (const { organisation, key } of issued)
    t.match(await keysOf(withoutUpdates(store), () => {}).verify(key), { organisation })
  t.equal(output.replace(/^\{"level":30,.*\n/gm, ''), stdout, 'there is no progress without a terminal')
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

t.test('data up to today is not later than now', async (t) => {
  const { store, seed } = await prepare(t)
  const before = new Date().toISOString().slice(0, 10)
  t.match(await seed('--scenario', 'tiny', '--until', 'today'), { code: 0 })
  const last = Number((await store.dangerouslyFind('entries', 'entry-5'))?.updatedAt)
  t.ok(last >= Date.parse(before) && last <= Date.now())
})

/** The store, where a signal aborts once so many live operations are written. */
const stoppingAfter = (store: Store, operations: number) => {
  const controller = new AbortController()
  let written = 0
  const counted = <Result>(result: Promise<Result>): Promise<Result> => {
    written += 1
    if (written === operations) controller.abort()
    return result
  }
  const stopping: Store = {
    ...store,
    upsert: (...call) => counted(store.upsert(...call)),
    remove: (...call) => counted(store.remove(...call)),
  }
  return { stopping, signal: controller.signal }
}

t.test(
  'live operations follow the data until the command is stopped, and a terminal shows progress',
  { skip: leftToGate },
  async (t) => {
    const store = testStore(t)
    const live = async (operations: number, rate: string) => {
      const { stopping, signal } = stoppingAfter(store, operations)
      return tryCommand(seedCommand, stopping, ['--scenario', 'tiny', '--live', rate], { typed: '', signal })
    }
    const { code, output } = await live(250, '250/s')
    t.equal(code, 0)
    t.match(output, /(\rRecords \d+)+\rRecords 12\n/)
    const [, added, changed, deleted] = /Added (\d+), changed (\d+), deleted (\d+)\n$/.exec(output) ?? []
    t.equal(Number(added) + Number(changed) + Number(deleted), 250)
    const records = await store.dangerouslyFindAll('entries', { organisation: 'tiny' })
    t.ok(records.length > 20)
    t.ok(records.some(({ _id }) => _id.startsWith('live-')))
    t.ok((await store.dangerouslyFindAll('entries', { deletedFrom: 'tiny' })).length > 0)
    t.match(await live(1, '1000/s'), { code: 0 }, 'it may be run again')
    t.match(await store.dangerouslyFind('entries', 'entry-1'), { organisation: 'tiny' })
  },
)

t.test('a wrong call says what is wrong', (t) =>
  wrongCalls(t, [
    ['seed --entries -1', 'Option'],
    ['seed --entries 1e6', "argument '1e6' is invalid: it must be an integer from 0 to 999999999"],
    ['seed --organisations 0', "argument '0' is invalid: it must be an integer from 1"],
    ['seed --scenario huge', 'Allowed choices are tiny, demo, survey, campaign, worst-case'],
    ['seed --scenario tiny --entries 5', '--entries is for the scenario demo alone'],
    ['seed --scenario worst-case --until today', '--until is not for the scenario worst-case'],
    [
      'seed --until 2026-02-30',
      "argument '2026-02-30' is invalid: it must be today or a day from 2000-01-01 to 2099-12-31",
    ],
    ['seed --until 1999-12-31', "argument '1999-12-31' is invalid: it must be"],
    ['seed --live 5', "argument '5' is invalid: it must be a rate from 1/s to 1000/s"],
    ['seed --live 1001/s', "argument '1001/s' is invalid: it must be"],
    ['seed --dispatches 1', 'at least one dispatch for each organisation'],
  ]),
)

t.test('on a sharded cluster, seeding over deletions adds the records again, or says when to', async (t) => {
  const server = await WireServer.for(t)
  const store = mongoStore(mongoSettings(server.uri))
  t.teardown(() => store.close())
  server.isSharded = true
  const seed = () => tryCommand(seedCommand, store, ['--scenario', 'tiny'])
  t.match(await seed(), { code: 0 })
  const ofTiny = { organisation: 'tiny' }
  const entries = (await server.store.dangerouslyFindAll('entries', ofTiny)).map(({ _id }) => _id)
  await store.remove('entries', 'tiny', entries)
  t.same(await server.store.dangerouslyFindAll('entries', ofTiny), [])
  t.match(await seed(), { code: 0 })
  t.equal((await server.store.dangerouslyFindAll('entries', ofTiny)).length, entries.length)
  await store.remove('entries', 'tiny', entries)
  server.orphans.add(entries[0])
  const { code, lines } = await seed()
  t.same(
    [code, lines],
    [1, ['2> A chunk was moved, and an old copy of the document is still there: try again in a quarter of an hour']],
  )
})
