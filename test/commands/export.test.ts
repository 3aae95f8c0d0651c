// The command that writes what GET /v1/exports sends to a file.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Writable } from 'node:stream'
import t, { type Test } from 'tap'
import { exportCommand } from '../../src/commands/export.js'
import { runCommand } from '../../src/commands/run-command.js'
import { allExported } from '../../src/exports/index.js'
import { QueryTimeout, type Store, StoreUnavailable } from '../../src/store/store.js'
import { testApp } from '../support/app.js'
import { tryCommand } from '../support/command.js'
import { testStore } from '../support/store.js'
import { A, a, fillTenants } from '../support/tenants.js'

/** Two organisations, a folder for files, and the command for one of the organisations. */
const prepare = async (t: Test) => {
  const store = testStore(t)
  await fillTenants(store)
  const folder = t.testdir({})
  const file = `${folder}/file`
  const argvOf = (...argv: string[]) => ['--organisation', A, '--output', file, ...argv]
  const run = (...argv: string[]) => tryCommand(exportCommand, store, argvOf(...argv))
  return { store, folder, file, argvOf, run }
}

/** A record of the organisation that does not fit, behind the others. */
const unfit = { ...a.entry(9), _id: 'unfit', status: 7 } as never

t.test('every file is what the service sends', async (t) => {
  const { store, folder, run } = await prepare(t)
  const { get } = await testApp(t, { store })
  for (const { name, formats } of allExported) {
    for (const format of formats) {
      const file = `${folder}/${name}.${format}`
      const { code, stdout } = await run(name, '--output', file)
      const { rawPayload } = await get(`/v1/exports/${name}.${format}`, A)
      t.equal(code, 0)
      t.equal(stdout, `Wrote ${file}: ${rawPayload.length} bytes\n`)
      t.ok(readFileSync(file).equals(rawPayload), file)
    }
  }
})

t.test('parameters are those of the URL', async (t) => {
  const { store, file, run } = await prepare(t)
  const { get } = await testApp(t, { store })
  const parameters = ['form=form-a', 'bom=true', 'ids=entry1-a', 'ids=entry2-a', 'createdBefore=2025-02-01T00:00:00Z']
  const where = parameters.flatMap((parameter) => ['--where', parameter])
  const { code, stdout } = await run('entries', ...where, '--json')
  t.equal(code, 0)
  const bytes = readFileSync(file)
  t.same(JSON.parse(stdout), { file, bytes: bytes.length, unreadable: [] })
  t.equal(String(bytes), (await get(`/v1/exports/entries.csv?${parameters.join('&')}`, A)).payload)
  t.match(String(bytes), /^\ufeffid,.*,Source\?,Uses\?\r\n(entry\d-a,.*\r\n){2}$/)
})

t.test('a file on standard output is nothing but the file', async (t) => {
  const { store, folder, run } = await prepare(t)
  const { get } = await testApp(t, { store })
  const { code, output } = await run('projects', '--output', '-')
  t.equal(code, 0)
  t.equal(output, (await get('/v1/exports/projects.csv', A)).payload)
  t.same(readdirSync(folder), [])
})

t.test('a file that exists is replaced only with --force', async (t) => {
  const { file, run } = await prepare(t)
  writeFileSync(file, 'mine')
  t.match(await run('forms'), { code: 1, output: /file exists: name another file, or use --force to replace it\n$/ })
  t.equal(readFileSync(file, 'utf8'), 'mine')
  t.match(await run('forms', '--force'), { code: 0 })
  t.match(readFileSync(file, 'utf8'), /^id,/)
})

t.test('an organisation that does not exist is an error', async (t) => {
  const { folder, run } = await prepare(t)
  t.match(await run('forms', '--organisation', 'unknown'), {
    code: 1,
    output: /^Organisation unknown does not exist\n/,
  })
  t.same(readdirSync(folder), [])
})

t.test('a record that does not fit ends the export without a file, or is left out and named', async (t) => {
  const { store, folder, run } = await prepare(t)
  await store.insert('entries', [unfit])
  for (const format of ['csv', 'ndjson', 'geojson', 'parquet']) {
    const { code, output } = await run('entries', '--format', format)
    t.equal(code, 1)
    t.match(
      output,
      /^A record does not fit: entries unfit: status .*\nLeave out .*unreadable=skip\nList them .*check\n$/,
    )
    t.same(readdirSync(folder), [])
  }
  const { code, output, stdout } = await run('entries', '--where', 'unreadable=skip', '--json')
  t.equal(code, 0)
  t.match(output, /^unfit: status .*\nRecords left out: 1\n$/m)
  t.match(JSON.parse(stdout), { unreadable: [{ id: 'unfit', message: /^status / }] })
})

t.test('an error of the database leaves no file, and says what it is', async (t) => {
  const { store, folder, argvOf } = await prepare(t)
  for (const [error, message] of [
    [new StoreUnavailable(new Error('gone')), /^The database cannot be reached: gone\n$/],
    [new QueryTimeout(new Error('late')), /^The query took too long\n$/],
    [new Error('a bug'), /^Error: a bug\n +at /],
  ] as const) {
    const failing: Store = { ...store, aggregate: () => Promise.reject(error) }
    t.match(await tryCommand(exportCommand, failing, argvOf('entries')), { code: 1, output: message })
    t.same(readdirSync(folder), [])
  }
})

/** Runs the command on a terminal. It is stopped when a list was read, if `stops` says so. */
const onTerminal = async (store: Store, argv: readonly string[], stops: boolean) => {
  const controller = new AbortController()
  const signals: (AbortSignal | undefined)[] = []
  const target: Store = {
    ...store,
    close: async () => {},
    async aggregate(query, reading) {
      signals.push(reading?.signal)
      const list = await store.aggregate(query)
      if (stops) controller.abort()
      return list
    },
  }
  let output = ''
  const err = Object.assign(
    new Writable({
      write(chunk, _encoding, done) {
        output += chunk
        done()
      },
    }),
    { isTTY: true },
  )
  const terminal = { input: () => process.stdin, out: err, err }
  const code = await runCommand(
    exportCommand,
    argv,
    () => target,
    terminal,
    () => controller.signal,
  )
  t.ok(signals.every((signal) => signal === controller.signal))
  return { code, output }
}

t.test('a terminal shows progress, without a percentage if the records cannot be counted', async (t) => {
  const { store, file, argvOf } = await prepare(t)
  const shown = await onTerminal(store, argvOf('entries', '--where', 'form=form-a', '--where', 'limit=3'), false)
  t.match(shown, { code: 0, output: /Records \[=+\] 100% \| 3 of 3 \|.*\n*Wrote / })
  t.ok(existsSync(file))
  const uncounted: Store = { ...store, count: () => Promise.reject(new QueryTimeout(new Error('late'))) }
  const other = await onTerminal(uncounted, argvOf('entries', '--force'), false)
  t.match(other, { code: 0, output: /Records 4 \| 0s.*\n*Wrote / })
})

t.test('an export that is stopped leaves no file', async (t) => {
  const { store, folder, argvOf } = await prepare(t)
  const { code, output } = await onTerminal(store, argvOf('entries'), true)
  t.equal(code, 1)
  t.match(output, /Interrupted: nothing was written\n$/)
  t.same(readdirSync(folder), [])
})

t.test('a wrong call says what is wrong', async (t) => {
  const { folder, run } = await prepare(t)
  for (const [argv, message] of [
    [['keys'], 'Allowed choices are'],
    [['forms', '--format', 'xlsx'], 'Allowed choices are ndjson, csv, geojson, parquet'],
    [['forms', '--format', 'geojson'], '--format of forms must be one of ndjson, csv, parquet'],
    [['forms', '--output', '-', '--json'], '--json must be left out where the file is on standard output'],
    [['forms', '--where', 'status'], 'it must be NAME=VALUE, such as status=accepted'],
    [
      ['forms', '--where', 'state=x'],
      '--where state is not a parameter of this operation; allowed are sortOrder, limit,',
    ],
    [['forms', '--where', 'organisation=org-b'], '--where organisation is not a parameter'],
    [['forms', '--where', 'limit=0', '--where', 'bom=yes'], '--where limit must be an integer from 1 to'],
    [['forms', '--where', 'status=a', '--where', 'status=b'], '--where status must be given only once'],
    [['forms', '--format', 'ndjson', '--where', 'bom=true'], '--where bom must be left out: only csv has it'],
  ] as const) {
    const { code, output } = await run(...argv)
    t.equal(code, 2, message)
    t.match(output, message)
  }
  t.same(readdirSync(folder), [])
})
