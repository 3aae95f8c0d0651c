// The programs in examples/ against a service that is killed and started again while they run, and that are killed
// themselves: at the end their copies equal the source.
import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual, promisify } from 'node:util'
import t, { type Test } from 'tap'
import { keysOf } from '../src/core/keys/keys.js'
import { embeddedStore } from '../src/core/store/embedded.js'
import { mongoStore } from '../src/core/store/mongo.js'
import type { Store } from '../src/core/store/store.js'
import { listen, type TestApp, testApp } from '../test/support/app.js'
import { freePort, printed, startProgram } from '../test/support/process.js'
import { mongoSettings, ownDatabase } from '../test/support/store.js'
import { A, a, B, fillTenants } from '../test/support/tenants.js'
import { runs } from '../test/support/thorough.js'

const server = process.env.TEST_MONGODB_URI
const python = ['python3', 'python'].find((name) => {
  try {
    return execFileSync(name, ['--version'])
  } catch {
    return false
  }
})
const skip = python === undefined && 'there is no Python on this machine'

type Copy = ReadonlyMap<string, unknown>

/** The ids that only one of two copies has, or that they have in different versions. */
const differences = (one: Copy, other: Copy): string[] =>
  [...new Set([...one.keys(), ...other.keys()])].filter((id) => !isDeepStrictEqual(one.get(id), other.get(id)))

/** Where the data is, and what the examples need to reach it. */
interface World {
  settings: Record<string, string>
  /** The longest time that a write may take, in milliseconds. */
  settleMs: number
  key: string
  /** Changes some records. Only a database of its own can be changed beside the service. */
  change(round: number): Promise<void>
  /** Adds records that the service cannot show, and returns their ids. */
  spoil?(): Promise<string[]>
}

/** Runs a statement on a database, and prints its rows. */
const SQLITE = `import json, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
print(json.dumps(db.execute(sys.argv[2]).fetchall()))
db.commit()`

const PER_ROUND = 3000
/** Less than usual, so that an example that asks for more than the service allows fails. */
const MAX_PER_PAGE = '400'
const ROUNDS = runs(1, 2)

const entries = (round: number, from = 0) =>
  Array.from({ length: PER_ROUND - from }, (_, i) =>
    a.entry(1000 * PER_ROUND * (round + 1) + from + i, { answers: [] }),
  )

const mongoWorld = async (t: Test, uri: string): Promise<World> => {
  const store: Store = mongoStore(mongoSettings(uri))
  t.teardown(() => store.close())
  await store.ensureIndexes()
  await fillTenants(store)
  await store.insert('entries', entries(0))
  const key = await keysOf(store, () => {}).issue({ organisation: A, name: 'Partner' })
  return {
    settings: { MONGODB_URI: uri, SYNC_SETTLE_MS: '3000' },
    settleMs: 3000,
    key,
    async change(round) {
      const old = entries(round - 1)
      const added = entries(round)
      for (let i = 0; i < added.length; i += 500) await store.insert('entries', added.slice(i, i + 500))
      await store.remove(
        'entries',
        A,
        old.slice(0, 500).map(({ _id }) => _id),
      )
      await store.upsert(
        'entries',
        old.slice(400, 900).map((entry) => ({ ...entry, status: `round ${round}` })),
      )
    },
    async spoil() {
      const ids = ['unfit 1', `${entries(0)[1500]?._id} unfit 2`]
      // The second has a record where the id of one should be, so the error names that record.
      const wrong = [{ answers: 5 }, { answers: [], dispatch: { _id: 'nothing' } }]
      await store.insert('entries', wrong.map((fields, i) => ({ ...a.entry(1), ...fields, _id: ids[i] })) as never)
      return ids
    },
  }
}

/** The demo data, which is the same after each start. */
const demoWorld: World = {
  settings: {},
  settleMs: 0,
  key: 'fda_bRqfAWGcrTFs_kJCVgb0Tp3a1G3BmW1AqUoJR23YaFeCIj1xisfx',
  async change() {},
}

const world = (t: Test): Promise<World> => (server ? mongoWorld(t, ownDatabase(t, server)) : Promise.resolve(demoWorld))

/** A copy by each of the two programs of what an organisation has, or of a part of it. */
const bothCopies = async (t: Test, { app, keyOf }: Pick<TestApp, 'app' | 'keyOf'>, ...part: string[]) => {
  const files = { python: join(t.testdir(), 'copy.sqlite'), node: join(t.testdirName, 'copy.ndjson') }
  const env = {
    ...process.env,
    NODE_OPTIONS: '',
    PYTHONDONTWRITEBYTECODE: '1',
    API_URL: `http://127.0.0.1:${await listen(app)}`,
    API_KEY: await keyOf(A),
  }
  const run = promisify(execFile)
  const inSqlite = async (statement: string): Promise<unknown[]> =>
    JSON.parse((await run(String(python), ['-c', SQLITE, files.python, statement])).stdout)
  const python3 = (name: string, options: object = {}, argv = part) =>
    run(String(python), [`examples/${name}`, files.python, ...argv], { env: { ...env, ...options } })
  const node = (options: object = {}, argv = part) =>
    run(process.execPath, ['dist/examples/sync.js', files.node, ...argv], { env: { ...env, ...options } })
  /** The ids that each copy has. */
  const ids = async () => {
    const kept = new Set<string>()
    for (const { item } of readFileSync(files.node, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))) {
      if (item?.deleted) kept.delete(item.id)
      else if (item) kept.add(item.id)
    }
    const rows = (await inSqlite('SELECT id FROM entries ORDER BY id')) as [string][]
    return { python: rows.flat(), node: [...kept].sort() }
  }
  const sync = async () => {
    await python3('sync.py')
    await node()
    return ids()
  }
  /** Loses the cursors, and gives each copy a record that the source has not. */
  const spoil = async (id: string) => {
    await inSqlite(`INSERT OR REPLACE INTO entries VALUES ('${id}', 5, '{}', 1)`)
    await inSqlite("UPDATE state SET cursor = 'invalid'")
    const state = JSON.parse(readFileSync(files.node, 'utf8').trim().split('\n').at(-1) as string)
    const lines = [
      { item: { id }, copy: 1 },
      { ...state, cursor: 'invalid', copy: 1 },
    ]
    appendFileSync(files.node, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  }
  return { files, inSqlite, python3, node, ids, sync, spoil }
}

/** An item of the feed as the list has it. */
const unstamped = ({ changedAt, ...item }: Record<string, unknown>) => item

const options = { skip, timeout: 110_000 }
t.test('the copies of the examples equal the source, whatever is killed meanwhile', options, async (t) => {
  const { settings, settleMs, key, change, spoil } = await world(t)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const start = async () => {
    const child = startProgram(t, 'src/server.ts', {
      settings: { PORT: String(port), LOG_LEVEL: 'silent', MAX_PER_PAGE, ...settings },
    })
    await printed(child, /field-data-api on/)
    return child
  }
  const files = { python: join(t.testdir(), 'copy.sqlite'), node: join(t.testdirName, 'copy.ndjson') }
  const commands = {
    python: [String(python), 'examples/sync.py', files.python],
    // Without what tap adds to NODE_OPTIONS of every process.
    node: ['env', '-u', 'NODE_OPTIONS', process.execPath, 'dist/examples/sync.js', files.node],
    check: [String(python), 'examples/check.py', files.python],
  }
  const env = { ...process.env, API_URL: url, API_KEY: key, PYTHONDONTWRITEBYTECODE: '1' }
  const begin = (name: keyof typeof commands) => {
    const [command, ...argv] = commands[name] as [string, ...string[]]
    const child = spawn(command, argv, { env })
    let output = ''
    child.stdout.on('data', (chunk) => {
      output += chunk
    })
    child.stderr.on('data', (chunk) => {
      output += chunk
    })
    t.teardown(() => child.kill('SIGKILL'))
    return { child, ended: once(child, 'close').then(([code]) => ({ code, output })) }
  }
  const run = (name: keyof typeof commands) => begin(name).ended
  const well = {
    python: { code: 0, output: /^\d+ changes were fetched; the copy has \d+ entries\n$/ },
    node: { code: 0, output: '' },
  }

  let service = await start()
  for (let round = 1; round <= ROUNDS; round++) {
    const runs = (['python', 'node'] as const).map((name) => ({ name, ...begin(name) }))
    await Promise.all([change(round), setTimeout(100 * round)])
    const [victim] = runs.splice(round % 2, 1)
    victim?.child.kill('SIGKILL')
    service.kill('SIGKILL')
    await once(service, 'exit')
    service = await start()
    for (const { name, ended } of runs) t.match(await ended, well[name])
  }
  await setTimeout(settleMs)
  t.match(await run('python'), well.python)
  t.match(await run('node'), well.node)

  const source = new Map<string, unknown>()
  let cursor: string | undefined = '*'
  while (cursor !== undefined) {
    const response = await fetch(`${url}/v1/entries?perPage=${MAX_PER_PAGE}&cursor=${cursor}`, {
      headers: { authorization: `Bearer ${key}` },
    })
    const { data, _metadata } = (await response.json()) as {
      data: { id: string }[]
      _metadata: { nextCursor?: string }
    }
    for (const entry of data) source.set(entry.id, entry)
    cursor = _metadata.nextCursor
  }
  t.ok(source.size > 1000)

  const inSqlite = (statement: string): unknown[] =>
    JSON.parse(execFileSync(String(python), ['-c', SQLITE, files.python, statement], { maxBuffer: 2 ** 28 }).toString())
  const sqlite = () =>
    new Map(
      (inSqlite('SELECT id, entry FROM entries') as [string, string][]).map(([id, json]) => [
        id,
        unstamped(JSON.parse(json)),
      ]),
    )
  const lines = readFileSync(files.node, 'utf8').trim().split('\n')
  const kept = new Map<string, unknown>()
  for (const { item } of lines.map((line) => JSON.parse(line))) {
    if (item?.deleted) kept.delete(item.id)
    else if (item) kept.set(item.id, unstamped(item))
  }
  t.same(differences(sqlite(), source), [])
  t.same(differences(kept, source), [])

  inSqlite('DELETE FROM entries WHERE id IN (SELECT id FROM entries ORDER BY id LIMIT 3 OFFSET 700)')
  inSqlite(
    "UPDATE entries SET updated = updated - 1, entry = '{}' WHERE id IN (SELECT id FROM entries LIMIT 1 OFFSET 20)",
  )
  inSqlite("INSERT INTO entries VALUES ('not in the source', 5, '{}', 1)")
  t.equal(differences(sqlite(), source).length, 5)
  const { code, output } = await run('check')
  t.equal(code, 0, output)
  t.ok(Number.parseInt(output, 10) < source.size / 4, `where digests are equal, nothing is fetched: ${output}`)
  t.same(differences(sqlite(), source), [], 'a check mends a damaged copy')

  const unfit = (await spoil?.()) ?? []
  inSqlite('DELETE FROM entries WHERE id IN (SELECT id FROM entries ORDER BY id LIMIT 3 OFFSET 700)')
  const { code: last, output: errors } = await run('check')
  t.equal(last, 0, errors)
  for (const id of unfit) t.match(errors, id)
  t.same(differences(sqlite(), source), [], 'a check goes past records that the service cannot show')
})

t.test(
  'after an invalid cursor, a copy keeps what has just been changed, and drops what is gone',
  options,
  async (t) => {
    let time = Date.parse('2025-03-14T09:26:53.589Z')
    const store = embeddedStore({ now: () => new Date(time) })
    const made = [1, 2, 3].map((n) => a.entry(n, { answers: [] }))
    await store.insert('entries', made)
    time += 86_400_000
    const { app, keyOf } = await testApp(t, { store })
    const { inSqlite, python3, node, sync, spoil } = await bothCopies(t, { app, keyOf })
    const ids = made.map(({ _id }) => _id)
    const both = { python: ids, node: ids }
    t.same(await sync(), both)

    await store.upsert('entries', [{ ...(made[1] as (typeof made)[0]), status: 'changed' }])
    await spoil('gone')
    t.same(await sync(), both)
    t.same(await inSqlite('SELECT DISTINCT copy FROM entries'), [[2]])

    const other = { API_KEY: await keyOf(B) }
    const refused = { code: 1, stderr: /is of organisation org-a, and this run of org-b: name another file/ }
    await t.rejects(python3('sync.py', other), refused)
    await t.rejects(node(other), refused)
    t.same(await sync(), both, 'the copy is as it was')
  },
)

t.test('a copy of a part has what is in the part, whatever moves, and stays a copy of it', options, async (t) => {
  const [one, two, three] = [a.project(1)._id, a.project(2)._id, 'project3-a']
  const [stays, leaves, slips, comes] = [1, 2, 3, 4].map((n) => a.entry(n, { project: n === 4 ? two : one }))
  const fill = async (store: Store) => {
    const others = [a.entry(5, { project: two }), a.entry(6, { project: one, form: 'form2-a' })]
    await store.insert('entries', [stays, leaves, slips, comes, ...others] as never)
  }
  const { app, keyOf, store } = await testApp(t, { fill })
  const part = [`project=${three},${one}`, `form=${a.form._id}`]
  const { python3, node, ids, sync, spoil } = await bothCopies(t, { app, keyOf }, ...part)
  const both = (...entries: (typeof stays)[]) => {
    const ids = entries.map((entry) => entry?._id)
    return { python: ids, node: ids }
  }
  t.same(await sync(), both(stays, leaves, slips), 'records of others never come')

  await store.upsert('entries', [
    { ...leaves, project: two, formerProjects: [one] },
    { ...comes, project: three, formerProjects: [two] },
  ] as never)
  for await (const _ of store.dangerouslyErase('entries', { _id: slips?._id })) {
    // It was moved by a program that does not say where it was.
  }
  await store.insert('entries', [{ ...slips, project: two }] as never)
  t.same(await sync(), both(stays, slips, comes), 'what leaves is dropped, and what enters comes')

  t.match((await python3('check.py')).stdout, '; 1 entries were brought up to date')
  t.same((await ids()).python, both(stays, comes).python, 'a check drops what has left without a word')
  await spoil(String(slips?._id))
  t.same(await sync(), both(stays, comes), 'a copy that begins anew drops what is outside of its part')

  // The order of what a caller writes is not compared.
  const wanted = `org-a form=${a.form._id} project=${one},${three}`
  const refused = { code: 1, stderr: `is of organisation ${wanted}, and this run of org-a` }
  await t.rejects(python3('sync.py', {}, []), refused)
  await t.rejects(python3('check.py', {}, [`project=${two}`]), refused)
  await t.rejects(node({}, [`project=${two}`]), refused)
  const otherwise = [`form=${a.form._id}`, `project=${one},${three}`]
  await python3('sync.py', {}, otherwise)
  await node({}, otherwise)
  t.same(await ids(), both(stays, comes), 'the copies are as they were')
})

t.test('a check names what it cannot read in the part alone, and counts only what differed', options, async (t) => {
  const [one, two] = [a.project(1)._id, a.project(2)._id]
  const unfit = [one, two].map((project) => ({ ...a.entry(1, { project }), _id: `unfit of ${project}`, answers: 5 }))
  const fill = (store: Store) => store.insert('entries', [a.entry(1), a.entry(2), ...unfit] as never)
  const { python3 } = await bothCopies(t, await testApp(t, { fill }), `project=${one},project3-a`)
  for (const name of ['sync.py', 'check.py']) {
    const { stdout, stderr } = await python3(name)
    t.match(stderr, `unfit of ${one}`)
    t.notMatch(stderr, `unfit of ${two}`)
    if (name === 'check.py') t.match(stdout, '; 0 entries were brought up to date')
  }
})

t.test(
  'a copy of all is not narrowed by a key for a part, and one of a part stays with such keys',
  options,
  async (t) => {
    const [one, two] = [a.project(1)._id, a.project(2)._id]
    const fill = (store: Store) => store.insert('entries', [a.entry(1, { project: one }), a.entry(2, { project: two })])
    const { app, keyOf, store } = await testApp(t, { fill })
    const keys = keysOf(store, (error) => t.fail(String(error)))
    const part = async () => ({
      API_KEY: await keys.issue({ organisation: A, name: 'Part', only: { project: [one] } }),
    })
    const { inSqlite, files, python3, node, ids, sync } = await bothCopies(t, { app, keyOf })
    const all = await sync()
    t.equal(all.python.length, 2)

    const refused = {
      code: 1,
      stderr: `is of organisation org-a, and this run of org-a project=${one}: name another file`,
    }
    const refuse = async () => {
      await t.rejects(python3('sync.py', await part()), refused)
      await t.rejects(python3('check.py', await part()), refused)
      await t.rejects(node(await part()), refused)
    }
    await refuse()
    // Releases before copied no parts, and did not write whose the copy is.
    await inSqlite('DROP TABLE owner')
    writeFileSync(files.node, readFileSync(files.node, 'utf8').replaceAll(',"organisation":"org-a"', ''))
    await refuse()
    t.same(await sync(), all, 'the copies are as they were, and go on')

    await inSqlite('DELETE FROM entries')
    await inSqlite('DELETE FROM owner')
    rmSync(files.node)
    for (const [key, argv] of [
      [await part(), []],
      [await part(), []],
      [{}, [`project=${one}`]],
      [await part(), [`project=${one}`]],
    ] as const) {
      await python3('sync.py', key, [...argv])
      await python3('check.py', key, [...argv])
      await node(key, [...argv])
      t.same(await ids(), { python: [a.entry(1)._id], node: [a.entry(1)._id] })
    }
  },
)

t.test('a run that copies nothing says why, and leaves a file that another run can use', options, async (t) => {
  const fill = (store: Store) => store.insert('entries', [a.entry(1)])
  const { files, python3, node, sync } = await bothCopies(t, await testApp(t, { fill }))
  const programs = [
    (...given: Parameters<typeof node>) => python3('sync.py', ...given),
    (...given: Parameters<typeof node>) => python3('check.py', ...given),
    node,
  ]
  for (const run of programs) {
    for (const name of ['API_URL', 'API_KEY']) {
      await t.rejects(run({ [name]: '' }), { code: 1, stderr: `The environment variable ${name} is missing` })
    }
  }
  const usage = { code: 1, stderr: /API_URL=\S+ API_KEY=\.\.\. (python3|node) \w+\.\w+ copy\.\w+/ }
  for (const argv of [[], ['--help']]) {
    for (const name of ['sync.py', 'check.py']) {
      await t.rejects(promisify(execFile)(String(python), [`examples/${name}`, ...argv]), usage)
    }
    const env = { ...process.env, NODE_OPTIONS: '' }
    await t.rejects(promisify(execFile)(process.execPath, ['dist/examples/sync.js', ...argv], { env }), usage)
  }
  for (const file of [...Object.values(files), '--help', '--help.new']) t.notOk(existsSync(file), file)

  const typo = [`projekt=${a.project(1)._id}`]
  for (const run of programs) await t.rejects(run({}, typo), { code: 1, stderr: 'projekt' })
  t.equal((await sync()).python.length, 1, 'nothing was stored with a parameter that does not exist')
  for (const file of Object.values(files)) rmSync(file)
  const empty = { stderr: 'No entry is in this part: an id may be wrong\n' }
  for (const run of programs) t.match(await run({}, ['project=typo']), empty)
})
