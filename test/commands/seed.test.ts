// The command that writes demo data.
import { Writable } from 'node:stream'
import t, { type Test } from 'tap'
import { runCommand } from '../../src/commands/run-command.js'
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
  t.equal(output.replace(/^\{"level":30,.*\n/gm, ''), stdout, 'there is no progress without a terminal')
})

t.test('organisations that are added and keys that are issued have audit lines and say by whom', async (t) => {
  const { store, seed } = await prepare(t)
  const audits = async (...argv: string[]) => {
    const { output, stdout } = await seed('--scenario', 'tiny', ...argv)
    const lines = output.split('\n').filter((line) => line.startsWith('{"level":30,'))
    return { keyId: stdout.slice(4, 16), lines: lines.map((line) => JSON.parse(line)) }
  }
  const audit = { msg: 'audit', organisation: 'tiny' }
  const first = await audits('--by', 'Ana')
  t.match(first.lines, [
    { ...audit, action: 'organisations add', by: 'Ana' },
    { ...audit, action: 'keys issue', by: 'Ana', keyId: first.keyId },
  ])
  t.match(await store.dangerouslyFind('apiKeys', first.keyId), { issuedBy: 'Ana' })
  const second = await audits()
  t.match(second.lines, [{ ...audit, action: 'keys issue', keyId: second.keyId }], 'the organisation is there already')
  t.equal(second.lines.length, 1)
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

t.test('a scenario is written up to a day, and counts as other data than the demo', async (t) => {
  const { store, seed, count } = await prepare(t)
  t.match(await seed('--scenario', 'tiny', '--until', '2026-03-14'), {
    code: 0,
    stdout: /^fda_\w+ {2}tiny {2}Tiny Wells\n$/,
  })
  t.equal(await count('entries'), 5)
  t.match(await store.dangerouslyFind('entries', 'entry-5'), { createdAt: new Date('2026-03-14T09:00:00Z') })
  t.match(await seed('--scenario', 'tiny', '--until', '2026-03-14'), { code: 0 }, 'it may be written again')
  t.match(
    await seed('--scenario', 'tiny', '--until', '2026-03-14', '--seed', '7'),
    { code: 0 },
    'its data are the same',
  )
  const other = 'The database holds other data: name another one in MONGODB_URI, or use --force to write to it\n'
  t.match(await seed(), { code: 1, output: other })
  const now = testStore(t)
  const before = new Date().toISOString().slice(0, 10)
  t.match(await tryCommand(seedCommand, now, ['--scenario', 'tiny', '--until', 'today']), { code: 0 })
  const last = Number((await now.dangerouslyFind('entries', 'entry-5'))?.updatedAt)
  t.ok(last >= Date.parse(before) && last <= Date.now(), 'not later than now')
})

t.test('data that is there up to another day is left alone, and the error says how to go on with it', async (t) => {
  const { store, seed, seedInto } = await prepare(t)
  const error = (goOn: string) =>
    `The database holds this data up to another day: ${goOn} to go on with it, or name another database in MONGODB_URI\n`
  const until = ['--until', '2026-03-14']
  t.match(await seed('--scenario', 'tiny', ...until), { code: 0 })
  const refused = { code: 1, output: error('use --until 2026-03-14') }
  t.match(await seed('--scenario', 'tiny', '--until', '2026-03-15'), refused)
  t.match(await seed('--scenario', 'tiny'), refused)
  t.match(await seed('--scenario', 'survey', ...until), { code: 1, output: 'The database holds other data' })
  t.match(await store.dangerouslyFindAll('seeds', {}), [{ _id: 'tiny-42-until-2026-03-14' }])
  const demo = testStore(t)
  const small = ['--entries', '1', '--dispatches', '2']
  t.match(await seedInto(demo, ...small), { code: 0 })
  t.match(await seedInto(demo, ...small, ...until), { code: 1, output: error('leave out --until') })
})

/** Runs the command on a terminal until so many live operations are written. */
const live = async (store: Store, operations: number, ...argv: string[]) => {
  const controller = new AbortController()
  let begun = false
  let written = 0
  const counted = <Result>(result: Promise<Result>): Promise<Result> => {
    written += 1
    if (written === operations) controller.abort()
    return result
  }
  const target: Store = {
    ...store,
    close: async () => {},
    upsert: (...call) => counted(store.upsert(...call)),
    remove: (...call) => counted(store.remove(...call)),
  }
  let output = ''
  const stream = Object.assign(
    new Writable({
      write(chunk, _encoding, done) {
        output += chunk
        done()
      },
    }),
    { isTTY: true },
  )
  const stopped = () => {
    begun = true
    return controller.signal
  }
  const code = await runCommand(
    seedCommand,
    argv,
    () => target,
    { input: () => process.stdin, out: stream, err: stream },
    stopped,
  )
  t.ok(begun)
  return { code, output }
}

t.test('live operations follow the data until the command is stopped', async (t) => {
  const store = testStore(t)
  const { code, output } = await live(store, 250, '--scenario', 'tiny', '--live', '250/s')
  t.equal(code, 0)
  t.match(output, /Entries \[.*5 of 5 \| \d+ a second/, 'a terminal shows progress')
  const [, added, changed, deleted] = /Added (\d+), changed (\d+), deleted (\d+)\n$/.exec(output) ?? []
  t.equal(Number(added) + Number(changed) + Number(deleted), 250)
  t.equal(output.match(/^Added/gm)?.length, 2, 'counted after a second and at the end')
  const records = await store.dangerouslyFindAll('entries', { organisation: 'tiny' })
  t.ok(records.length > 20)
  t.ok(records.some(({ _id }) => _id.startsWith('live-')))
  t.ok((await store.dangerouslyFindAll('entries', { deletedFrom: 'tiny' })).length > 0)
  t.match(await live(store, 1, '--scenario', 'tiny', '--live', '1000/s'), { code: 0 }, 'it may be run again')
  t.match(await store.dangerouslyFind('entries', 'entry-1'), { organisation: 'tiny' })
})

t.test('a wrong number is an error that names its option', async (t) => {
  const { seed } = await prepare(t)
  t.match(await seed('--entries', '-1'), { code: 2, output: /--entries|Option/ })
  t.match(await seed('--entries=1e6'), {
    code: 2,
    output: "argument '1e6' is invalid: it must be an integer from 0 to 999999999",
  })
  t.match(await seed('--organisations', '0'), {
    code: 2,
    output: "argument '0' is invalid: it must be an integer from 1",
  })
  for (const [argv, message] of [
    [['--scenario', 'huge'], 'Allowed choices are tiny, demo, survey, campaign, worst-case'],
    [['--scenario', 'tiny', '--entries', '5'], '--entries is for the scenario demo alone'],
    [['--scenario', 'worst-case', '--until', 'today'], '--until is not for the scenario worst-case'],
    [
      ['--until', '2026-02-30'],
      "argument '2026-02-30' is invalid: it must be today or a day from 2000-01-01 to 2099-12-31",
    ],
    [['--until', '1999-12-31'], "argument '1999-12-31' is invalid: it must be"],
    [['--live', '5'], "argument '5' is invalid: it must be a rate from 1/s to 1000/s"],
    [['--live', '1001/s'], "argument '1001/s' is invalid: it must be"],
  ] as const) {
    t.match(await seed(...argv), { code: 2, output: message })
  }
  t.match(await seed('--dispatches', '1'), { code: 2, output: 'at least one dispatch for each organisation' })
})
