// The command that writes what GET /v1/exports sends to a file.
import { readdirSync, readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { exportCommand } from '../../src/commands/export.js'
import { allExported } from '../../src/exports/index.js'
import { QueryTimeout, type Store, StoreUnavailable } from '../../src/store/store.js'
import { testApp } from '../support/app.js'
import { transcripts, tryCommand, wrongCalls } from '../support/command.js'
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

t.test('every file is what the service sends, also on standard output', async (t) => {
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
      if (format === 'csv') t.equal((await run(name, '--output', '-')).output, String(rawPayload))
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
  t.match(String(bytes), /^\ufeff"id",.*,"Source\?","Uses\?"\r\n(entry\d-a,.*\r\n){2}$/)
})

const to = `--organisation ${A} --output <dir>/file`

transcripts(t, {
  'a file that exists is replaced only with --force': {
    before: fillTenants,
    files: { file: 'mine' },
    lines: `
      $ export forms ${to}
      2> <dir>/file exists: name another file, or use --force to replace it
      exit 1
      $ export forms ${to} --force
      Wrote <dir>/file: … bytes`,
    filesAfter: { file: /^"id",/ },
  },
  'an organisation that does not exist is an error': {
    lines: `
      $ export forms --organisation unknown --output <dir>/file
      2> Organisation unknown does not exist
      …
      exit 1`,
  },
  'a record that does not fit ends the export without a file, or is left out and named': {
    before: async (store) => {
      await fillTenants(store)
      await store.insert('entries', [{ ...a.entry(9), _id: 'unfit', status: 7 } as never])
    },
    lines: ['xlsx', 'csv', 'parquet', 'geojson', 'ndjson']
      .map(
        (format) => `
      $ export entries ${to} --format ${format}
      2> A record does not fit: entries unfit: status …
      2> Leave out such records with: --where unreadable=skip
      2> List them all with: npx field-data-api check
      exit 1`,
      )
      .concat(`
      $ export entries ${to} --where unreadable=skip --json
      {"file":"<dir>/file","bytes":…,"unreadable":[{"id":"unfit","message":"status …"}]}
      2> unfit: status …
      2> Records left out: 1`)
      .join(''),
    filesAfter: { file: /^"id",/ },
  },
})

t.test('an error of the database leaves no file, and says what it is', async (t) => {
  const { store, folder, argvOf } = await prepare(t)
  for (const [error, message] of [
    [new StoreUnavailable(new Error('gone')), /^The database cannot be reached: gone\n$/],
    [new QueryTimeout(new Error('late')), /^The database took too long: try again later\n$/],
    [new Error('a bug'), /^Error: a bug\n +at /],
  ] as const) {
    const failing: Store = { ...store, aggregate: () => Promise.reject(error) }
    t.match(await tryCommand(exportCommand, failing, argvOf('entries')), { code: 1, output: message })
    t.same(readdirSync(folder), [])
  }
})

t.test('a terminal shows how many records were read, and an export that is stopped leaves no file', async (t) => {
  const { store, folder, argvOf } = await prepare(t)
  const typed = ''
  const shown = await tryCommand(exportCommand, store, argvOf('entries'), { typed })
  t.match(shown, { code: 0, output: /Records 4 \| 0s.*\n*Wrote / })
  const controller = new AbortController()
  const stopping: Store = {
    ...store,
    async aggregate(query, reading) {
      t.equal(reading?.signal, controller.signal)
      controller.abort()
      return store.aggregate(query)
    },
  }
  const { signal } = controller
  const stopped = await tryCommand(exportCommand, stopping, argvOf('entries', '--force'), { typed, signal })
  t.match(stopped, { code: 1, output: /Interrupted: nothing was written\n$/ })
  t.same(readdirSync(folder), ['file'], 'of the first export')
})

t.test('a wrong call says what is wrong', async (t) => {
  const forms = 'export forms --organisation x --output none/file'
  await wrongCalls(t, [
    ['export keys --organisation x --output x', 'Allowed choices are'],
    [`${forms} --format xls`, 'Allowed choices are xlsx, csv, parquet, geojson, ndjson'],
    [`${forms} --format geojson`, '--format of forms must be one of xlsx, csv, parquet, ndjson'],
    [`${forms} --output - --json`, '--json must be left out where the file is on standard output'],
    [`${forms} --where status`, 'it must be NAME=VALUE, such as status=accepted'],
    [`${forms} --where state=x`, '--where state is not a parameter of this operation; allowed are sortOrder, limit,'],
    [`${forms} --where organisation=org-b`, '--where organisation is not a parameter'],
    [`${forms} --where limit=0 --where bom=yes`, '--where limit must be an integer from 1 to'],
    [`${forms} --where status=a --where status=b`, '--where status must be given only once'],
    [`${forms} --format ndjson --where bom=true`, '--where bom must be left out: only csv has it'],
  ])
})
