// dlt, Airbyte's CDK and a Singer tap keep copies by what is in examples/. After each of three rounds of random changes every
// copy equals the lists, and a run transfers little more than what changed. So does a copy of one project. Programs for tables and maps read exports, and
// have what the lists have. Then docs/tools.md is run. The tools are in the folder of TEST_TOOLS, which
// .ci/partner-tools/install prints; the data are on the server of TEST_MONGODB_URI.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual, promisify } from 'node:util'
import { MongoClient } from 'mongodb'
import t, { type Test } from 'tap'
import { demoOptions, seedData } from '../seed/index.js'
import { createRandom, integer, pick, type Random } from '../seed/random.js'
import { CHECKPOINT } from '../src/core/documents/collections.js'
import { keysOf } from '../src/core/keys/keys.js'
import { mongoStore } from '../src/core/store/mongo.js'
import type { Store } from '../src/core/store/store.js'
import { listen, testApp } from '../test/support/app.js'
import { assistant } from '../test/support/mcp.js'
import { printed, startProgram } from '../test/support/process.js'
import { type ResourceName, resources } from '../test/support/resources.js'
import { databaseOn, mongoSettings, ownDatabase } from '../test/support/store.js'
import { A, a, B, fillTenants } from '../test/support/tenants.js'
import { ASKED, answerRows, fillGuessed, fillHostile, foundRow, MANY, wantedRow } from './support/exported.js'
import { blocksOf, firstMissing } from './support/pages.js'
import { Reader } from './support/reader.js'

const server = process.env.TEST_MONGODB_URI
const folder = process.env.TEST_TOOLS
const skip = (server === undefined || folder === undefined) && 'TEST_MONGODB_URI and TEST_TOOLS are not both set'

const withoutTools = folder === undefined && 'TEST_TOOLS is not set'

const ROUNDS = 3
const SETTLE_MS = 1000
const DAY_MS = 86_400_000
/** Nobody changes these, and their stamps are old. */
const RESTING = 'users'
/** There are none of these before the second round. */
const LATE = 'forms'
/** A copy of a part has some of these, and all others. */
const PARTED = ['entries', 'dispatches']
const changing = (Object.keys(resources) as ResourceName[]).filter((name) => name !== RESTING)

/** A record as lists show it, or as a tool stores it. */
type Row = Record<string, unknown>
/** The records of each resource by their ids. */
type Copy = Record<string, Map<string, Row>>
type Document = Row & { _id: string }
interface Page {
  data: Row[]
  _metadata: { hasMore: boolean; nextCursor?: string; unreadable?: Row[] }
}

// --- the tools

interface Tool {
  run(): Promise<void>
  copy(): Promise<Copy>
}

const execute = promisify(execFile)

/** Runs a program of a tool in a folder, and returns what it prints. */
const program = (cwd: string, url: string, key: string, settings: Readonly<Record<string, string>> = {}) => {
  const env = {
    ...process.env,
    API_URL: url,
    API_KEY: key,
    DLT_DATA_DIR: join(cwd, 'dlt'),
    RUNTIME__DLTHUB_TELEMETRY: 'false',
    TAP_REST_API_MSDK_API_URL: url,
    TAP_REST_API_MSDK_BEARER_TOKEN: key,
    ...settings,
  }
  return async (tool: string, name: string, ...argv: string[]): Promise<string> => {
    const command = join(resolve(String(folder)), tool, 'bin', name)
    return (await execute(command, argv, { cwd, env, maxBuffer: 2 ** 28 })).stdout
  }
}
type Run = ReturnType<typeof program>

/** Fields that a tool may store as JSON in a text. */
const NESTED = new Set(['answers', 'location', 'recipients', 'role'])
/** What is in a feed and not in a list, and what dlt adds. */
const NOT_IN_LISTS = /^(changedAt|deleted|deletedAt|_dlt.*)$/

const recordOf = (row: Row): Row =>
  Object.fromEntries(
    Object.entries(row)
      .filter(([field, value]) => value !== null && !NOT_IN_LISTS.test(field))
      .map(([field, value]) => [field, NESTED.has(field) && typeof value === 'string' ? JSON.parse(value) : value]),
  )

const TABLES = `import duckdb, json, sys
database = duckdb.connect('field_data.duckdb', read_only=True)
database.execute("SET TimeZone = 'UTC'")
tables = {}
for table in sys.argv[1:]:
    rows = database.execute(f'SELECT * FROM records.{table}')
    names = [name for name, *_ in rows.description]
    tables[table] = [dict(zip(names, row)) for row in rows.fetchall()]
print(json.dumps(tables, default=lambda time: time.isoformat(timespec='milliseconds').replace('+00:00', 'Z')))`

const dlt = (run: Run, names = Object.keys(resources)): Tool => ({
  async run() {
    await run('dlt', 'python', resolve('examples/dlt_pipeline.py'))
  },
  async copy() {
    const tables = JSON.parse(await run('dlt', 'python', '-c', TABLES, ...names)) as Record<string, Row[]>
    const named = (row: Row): Row =>
      Object.fromEntries(
        Object.entries(row).map(([column, value]) => [
          column.startsWith('_dlt') ? column : column.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
          value,
        ]),
      )
    return Object.fromEntries(
      Object.entries(tables).map(([table, rows]) => [
        table,
        new Map(rows.map((row) => [String(row.id), recordOf(named(row))])),
      ]),
    )
  },
})

/** A destination that keeps the last row of each id, and deletions as rows, and the last state. */
const destination = () => {
  const tables: Copy = Object.fromEntries(Object.keys(resources).map((name) => [name, new Map()]))
  return {
    add: (stream: string, row: Row) => tables[stream]?.set(String(row.id), row),
    copy: async (): Promise<Copy> =>
      Object.fromEntries(
        Object.entries(tables).map(([stream, rows]) => [
          stream,
          new Map([...rows].filter(([, { deleted }]) => !deleted).map(([id, row]) => [id, recordOf(row)])),
        ]),
      ),
  }
}

const linesOf = <T = Row>(output: string): T[] =>
  output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

/** The organisation of a copy, and the ids of the projects if it is of these alone. */
interface Whole {
  organisation: string
  project?: string
}

const airbyte = (run: Run, cwd: string, url: string, key: string, whole: Whole): Tool => {
  const { add, copy } = destination()
  const states = new Map<string, unknown>()
  const source = (...argv: string[]) =>
    run('airbyte', 'source-declarative-manifest', ...argv, '--manifest-path', resolve('examples/airbyte.yaml'))
  const write = (name: string, content: unknown) => writeFileSync(join(cwd, name), JSON.stringify(content))
  return {
    async run() {
      write('config.json', { api_url: url, api_key: key, ...whole })
      write('state.json', [...states.values()])
      const found = linesOf(await source('discover', '--config', 'config.json')).find(({ type }) => type === 'CATALOG')
      const { streams } = (found as { catalog: { streams: { source_defined_primary_key: unknown }[] } }).catalog
      const incremental = (stream: (typeof streams)[0]) => ({
        stream,
        sync_mode: 'incremental',
        destination_sync_mode: 'append_dedup',
        primary_key: stream.source_defined_primary_key,
      })
      write('catalog.json', { streams: streams.map(incremental) })
      const files = ['--config', 'config.json', '--catalog', 'catalog.json', '--state', 'state.json']
      for (const { type, record, state } of linesOf<Message>(await source('read', ...files))) {
        if (type === 'RECORD') add(record.stream, record.data)
        if (type === 'STATE') states.set(state.stream.stream_descriptor.name, state)
      }
    },
    copy,
  }
}
interface Message {
  type: string
  record: { stream: string; data: Row }
  state: { stream: { stream_descriptor: { name: string } } }
}

const singer = (run: Run, cwd: string, { organisation, project }: Whole): Tool => {
  const { add, copy } = destination()
  const state = join(cwd, 'state.json')
  writeFileSync(state, '{}')
  const settings = JSON.parse(readFileSync('examples/singer.json', 'utf8'))
  const config = join(cwd, 'singer.json')
  if (project !== undefined)
    for (const stream of settings.streams) if (PARTED.includes(stream.name)) stream.params = { project }
  writeFileSync(config, JSON.stringify({ ...settings, params: { ...settings.params, organisation } }))
  return {
    async run() {
      const argv = ['--config', config, '--config', 'ENV', '--state', state]
      for (const line of linesOf(await run('singer', 'tap-rest-api-msdk', ...argv))) {
        if (line.type === 'RECORD') add(String(line.stream), line.record as Row)
        if (line.type === 'STATE') writeFileSync(state, JSON.stringify(line.value))
      }
    },
    copy,
  }
}

const copier = (name: 'dlt' | 'airbyte' | 'singer', cwd: string, url: string, key: string, whole: Whole): Tool => {
  const run = program(cwd, url, key, whole.project === undefined ? {} : { PROJECT: whole.project })
  if (name === 'airbyte') return airbyte(run, cwd, url, key, whole)
  return name === 'dlt' ? dlt(run) : singer(run, cwd, whole)
}

/** Reads lists and feeds without a tool. */
const reading = (url: string, key: string) => {
  const pages = async function* (path: string): AsyncGenerator<Page> {
    let cursor: string | undefined
    do {
      const from = cursor === undefined ? '' : `&cursor=${cursor}`
      const sent = await fetch(`${url}${path}&perPage=1000&unreadable=skip${from}`, {
        headers: { authorization: `Bearer ${key}` },
      })
      const page = (await sent.json()) as Page
      if (!sent.ok) throw new Error(JSON.stringify(page))
      yield page
      cursor = page._metadata.hasMore ? page._metadata.nextCursor : undefined
    } while (cursor !== undefined)
  }
  /** @param part the filter of entries and dispatches */
  const listed = async (part = ''): Promise<Copy> => {
    const copy: Copy = {}
    for (const name of Object.keys(resources)) {
      const rows = new Map<string, Row>()
      for await (const { data } of pages(`/v1/${name}?embed=false${PARTED.includes(name) ? part : ''}`))
        for (const row of data) rows.set(String(row.id), row)
      copy[name] = rows
    }
    return copy
  }
  /** Waits until feeds show these changes. */
  const settled = async (changed: Map<ResourceName, Set<string>>, since: Date): Promise<void> => {
    for (const [name, ids] of changed) {
      for (;;) {
        const missing = new Set(ids)
        for await (const { data, _metadata } of pages(`/v1/sync/${name}?changedSince=${since.toISOString()}`)) {
          for (const { id } of [...data, ...(_metadata.unreadable ?? [])]) missing.delete(String(id))
        }
        if (missing.size === 0) break
        await setTimeout(200)
      }
    }
  }
  return { listed, settled }
}

/** Stands before the service, and counts the rows that it passes on, and the pages without records that have others behind them. */
const counting = async (t: Test, service: string, perPage = '1000') => {
  const seen = { url: '', rows: 0, empty: 0, since: new Map<string, string>() }
  const proxy = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(String(request.url), service)
    const sent = await fetch(service + request.url?.replace('perPage=1000', `perPage=${perPage}`), {
      headers: { authorization: String(request.headers.authorization) },
    })
    const text = await sent.text()
    const { data, _metadata } = JSON.parse(text)
    seen.rows += data?.length ?? 0
    const isEmpty = _metadata?.hasMore && data.every(({ id }: { id: string }) => id === CHECKPOINT)
    if (isEmpty) seen.empty += 1
    seen.since.set(pathname, String(searchParams.get('changedSince')))
    response.writeHead(sent.status, { 'content-type': String(sent.headers.get('content-type')) }).end(text)
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => proxy.close())
  seen.url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  return seen
}

// --- the changes

/** What may change of a record of each resource. A field that goes must go from the copies too. */
const CHANGES: Record<ResourceName, (random: Random) => readonly Row[]> = {
  entries: (random) => [
    { status: `status ${random()}` },
    { duration: integer(random, 1, 9999) / 8 },
    { answers: [{ type: 'text', question: '“Why”\n{}?', answer: ['', `ọ̀ ${random()}`] }] },
    { status: 'rejected', location: undefined, agent: undefined },
  ],
  dispatches: (random) => [
    { name: `2025-03-14T09:26:53Z ${random()}`, totalExpectedEntries: random() },
    { recipients: { agents: [], agentGroups: [`group ${random()}`] } },
    { status: 'completed', project: undefined, modifiedBy: undefined },
  ],
  projects: (random) => [{ name: `name ${random()}` }, { modifiedBy: undefined }],
  forms: (random) => [{ dispatched: random() < 0.5 }, { name: '', reason: undefined }],
  agents: (random) => [{ location: [], phone: `+${random()}` }, { lastLogin: undefined }],
  users: () => [],
}

/** How often each kind of change happens to a resource in a round. */
const timesOf = (name: ResourceName) =>
  name === 'entries' ? { change: 60, remove: 15, add: 15, again: 10 } : { change: 5, remove: 1, add: 2, again: 1 }

// --- the test

t.test('the tools of partners keep exact copies by the examples', { skip, timeout: 280_000 }, async (t) => {
  const uri = ownDatabase(t, String(server))
  const client = new MongoClient(uri)
  t.teardown(() => client.close())
  const store = mongoStore(mongoSettings(uri))
  t.teardown(() => store.close())
  // More entries than a page holds.
  const options = { ...demoOptions, organisations: 1, dispatches: 20, entries: 1100 }
  const late: Document[] = []
  for (const { collection, documents } of seedData(options)) {
    if (collection === LATE) late.push(...documents)
    else await store.insert(collection, documents as never)
  }
  await store.ensureIndexes()
  const organisation = String((await client.db().collection<{ _id: string }>('organisations').findOne())?._id)
  const key = await keysOf(store, () => {}).issue({ organisation, name: 'Partner' })
  const collectionOf = (name: ResourceName) => client.db().collection<Document>(name)
  await collectionOf(RESTING).updateMany({ organisation }, [
    { $set: { changedAt: { $subtract: ['$$NOW', 3 * DAY_MS] } } },
  ])
  const settings = {
    PORT: '0',
    LOG_LEVEL: 'silent',
    MONGODB_URI: uri,
    SYNC_SETTLE_MS: String(SETTLE_MS),
  }
  const service = startProgram(t, 'src/server.ts', { settings })
  const [, url = ''] = await printed(service, /field-data-api on (\S+) /)

  const directory = t.testdir({ dlt: {}, airbyte: {}, singer: {} })
  const tools = await Promise.all(
    (['dlt', 'airbyte', 'singer'] as const).map(async (name) => {
      const cwd = join(directory, name)
      const seen = await counting(t, url)
      return { name, seen, ...copier(name, cwd, seen.url, key, { organisation }) }
    }),
  )
  const { listed, settled } = reading(url, key)

  const random = createRandom(20)
  /** Writes a record, without the fields that have gone. */
  const put = async (name: ResourceName, { changedAt: _, ...document }: Document): Promise<void> => {
    const fields = Object.entries(document).filter(([, value]) => value !== undefined)
    await store.upsert(name, [Object.fromEntries(fields) as never])
  }
  /** A record that the service cannot show for a while. */
  const unfit = (await collectionOf('entries').findOne({ organisation })) as Document
  /** The documents of each resource that are there, and those that were deleted. */
  const alive = new Map<ResourceName, Document[]>()
  const deleted = new Map<ResourceName, Document[]>()
  for (const name of changing) {
    alive.set(
      name,
      await collectionOf(name)
        .find({ organisation, _id: { $ne: unfit._id } })
        .sort({ _id: 1 })
        .toArray(),
    )
    deleted.set(name, [])
  }
  /** Changes random records, and returns their ids. */
  const changeSome = async (round: number): Promise<Map<ResourceName, Set<string>>> => {
    const changed = new Map<ResourceName, Set<string>>()
    for (const name of changing.filter((name) => round > 1 || name !== LATE)) {
      const [here, gone] = [alive.get(name) as Document[], deleted.get(name) as Document[]]
      const ids = new Set<string>()
      changed.set(name, ids)
      const add = async (_id: string, document: Document, day: number) => {
        here.push({ ...document, _id, updatedAt: new Date(Date.UTC(2020, 0, day)) })
        await put(name, here.at(-1) as Document)
        ids.add(_id)
      }
      if (name === LATE) for (const document of late.splice(0)) await add(document._id, document, 1)
      const kinds = Object.entries(timesOf(name)).flatMap(([kind, times]) => Array.from({ length: times }, () => kind))
      for (const [n, kind] of kinds.sort(() => random() - 0.5).entries()) {
        const document = pick(random, here)
        const again = kind === 'again' ? gone.shift() : undefined
        if (kind === 'change') {
          await put(name, Object.assign(document, pick(random, CHANGES[name](random))))
        } else if (kind === 'remove') {
          await store.remove(name, organisation, [document._id])
          gone.push(...here.splice(here.indexOf(document), 1))
        } else await add(again?._id ?? `new ${round}, ${n}`, again ?? document, n)
        if (kind === 'change' || kind === 'remove') ids.add(document._id)
      }
    }
    return changed
  }

  let kept: Row | undefined
  for (let round = 1; round <= ROUNDS; round++) {
    const since = new Date((await store.now()).now)
    const changed = await changeSome(round)
    if (round > 1) {
      await put('entries', { ...unfit, answers: round === 2 ? 5 : [] })
      changed.get('entries')?.add(unfit._id)
    }
    const count = [...changed.values()].reduce((sum, { size }) => sum + size, 0)
    await settled(changed, since)
    const source = await listed()
    for (const { seen } of tools) seen.rows = 0
    await Promise.all(tools.map(({ run }) => run()))
    if (round === 1) kept = source.entries?.get(unfit._id)
    for (const { name, seen, copy } of tools) {
      const copied = await copy()
      if (round === 2) {
        t.same(copied.entries?.get(unfit._id), kept, `${name} keeps what it had of a record that cannot be read`)
        copied.entries?.delete(unfit._id)
      }
      for (const resource of Object.keys(resources)) {
        const [one, other] = [source[resource] ?? new Map(), copied[resource] ?? new Map()]
        const different = [...new Set([...one.keys(), ...other.keys()])].filter(
          (id) => !isDeepStrictEqual(one.get(id), other.get(id)),
        )
        t.same(different, [], `round ${round}: ${one.size} ${resource} of ${name} are as in the list`, {
          found: other.get(different[0]),
          wanted: one.get(different[0]),
        })
      }
      t.comment(`round ${round}: ${name} transferred ${seen.rows} rows for ${count} changed records`)
      if (round > 1) t.ok(seen.rows <= 3 * count, `round ${round}: ${name} transfers little more than the changes`)
    }
  }
  for (const { name, seen } of tools) {
    const age = Date.now() - Date.parse(String(seen.since.get(`/v1/sync/${RESTING}`)))
    t.ok(age < DAY_MS, `the state of ${name} goes on while a resource rests`)
  }
  await store.insert('organisations', [{ _id: 'other', name: 'Other', createdAt: new Date(), updatedAt: new Date() }])
  const foreign = await keysOf(store, () => {}).issue({ organisation: 'other', name: 'Other' })
  const refusals = {
    dlt: `is of organisation ${organisation}, and this run of other: use another destination`,
    airbyte: 'organisation must be other, the organisation of the key',
    singer: '400 Client Error: Bad Request for path: /v1/sync/agents', // it shows no more of a response
  }
  for (const { name } of tools) {
    const copying = copier(name, join(directory, name), url, foreign, { organisation }).run()
    const error = await copying.catch(({ stderr, stdout }) => stderr + stdout)
    t.match(error, refusals[name], `${name} takes no key of another organisation`)
  }
})

/** A page of five looks at 120 records. */
const SMALL = '5'

t.test('the tools keep copies of one project by the examples', { skip, timeout: 280_000 }, async (t) => {
  const { uri, store, client } = await databaseOn(t, String(server))
  await fillTenants(store)
  const [one, two] = [a.project(1)._id, a.project(2)._id]
  const entries = client.db().collection<{ _id: string; formerProjects: string[] }>('entries')
  // Between what the copies have are more records of others than a page looks at.
  const others = (from: number) => Array.from({ length: 300 }, (_, n) => a.entry(from + n, { project: two }))
  await store.insert('entries', others(1000))
  await store.insert('entries', [a.entry(20), a.entry(21), a.entry(22, { project: two })])
  await store.insert('entries', others(2000))
  await store.insert('entries', [a.entry(23)])
  const key = await keysOf(store, () => {}).issue({ organisation: A, name: 'Partner' })
  const only = await keysOf(store, () => {}).issue({ organisation: A, name: 'Narrower', only: { project: [one] } })
  const settings = { PORT: '0', LOG_LEVEL: 'silent', MONGODB_URI: uri, SYNC_SETTLE_MS: String(SETTLE_MS) }
  const [, url = ''] = await printed(startProgram(t, 'src/server.ts', { settings }), /field-data-api on (\S+) /)

  const { listed, settled } = reading(url, key)
  const directory = t.testdir({ dlt: {}, airbyte: {}, singer: {}, narrower: {} })
  const tools = await Promise.all(
    (['dlt', 'airbyte', 'singer'] as const).map(async (name) => {
      const seen = await counting(t, url, SMALL)
      return { name, seen, ...copier(name, join(directory, name), seen.url, key, { organisation: A, project: one }) }
    }),
  )
  // Its key alone makes this a copy of one project. It does not see agents, forms and users.
  const narrower = dlt(program(join(directory, 'narrower'), url, only), PARTED)
  const run = async (when: string, has: string[], lacks: string[]) => {
    const source = await listed(`&project=${one}`)
    for (const id of [...has, ...lacks]) t.equal(source.entries?.has(id), has.includes(id))
    await Promise.all([...tools, narrower].map(({ run }) => run()))
    for (const { name, copy } of tools) t.same(await copy(), source, `${when}, ${name} has what the lists have`)
    const { entries, dispatches } = source
    t.same(await narrower.copy(), { entries, dispatches }, `${when}, dlt has it by a key that sees one project`)
  }
  await settled(new Map([['entries', new Set(['entry23-a'])]]), new Date(0))
  await run('at first', ['entry20-a', 'entry21-a', 'entry23-a'], ['entry22-a', 'entry1000-a'])
  for (const { name, seen } of tools) t.ok(seen.empty > 1, `${name} goes on behind empty pages`)

  const since = new Date((await store.now()).now)
  const moved = { $currentDate: { updatedAt: true, changedAt: true } } as const
  const where = (_id: string) => ({ _id, organisation: A })
  await entries.updateOne(where('entry21-a'), { $set: { project: two }, $addToSet: { formerProjects: one }, ...moved })
  await entries.updateOne(where('entry22-a'), { $set: { project: one }, $addToSet: { formerProjects: two }, ...moved })
  await settled(new Map([['entries', new Set(['entry21-a', 'entry22-a'])]]), since)
  await run('after moves', ['entry20-a', 'entry22-a', 'entry23-a'], ['entry21-a', 'entry1000-a'])

  const other = copier('dlt', join(directory, 'dlt'), url, key, { organisation: A, project: two }).run()
  const error = await other.catch(({ stderr, stdout }) => stderr + stdout)
  t.match(error, `is of organisation ${A} project=${one}, and this run of ${A} project=${two}: use`, 'dlt refuses it')
})

const ALL = ['csv', 'geojson', 'ndjson', 'parquet', 'xlsx']
const FLAT = ALL.filter((format) => format !== 'geojson')
const demo = [...seedData({ ...demoOptions, organisations: 1, entries: 1500 })]
const DEMO = demo[0]?.documents[0]?._id as string
/** The exports that are read: whose, of what, with which parameters, in which formats. */
const EXPORTS: Record<string, [organisation: string, name: string, query: string, formats: readonly string[]]> = {
  ...{ entries: [A, 'entries', '&answers=list', ALL], answers: [A, 'answers', '', FLAT] },
  ...{ agents: [A, 'agents', '', FLAT], dispatches: [A, 'dispatches', '', FLAT] },
  ...{ phones: [B, 'agents', '', FLAT], asked: [B, 'entries', `&answers=list&form=${ASKED}`, ALL] },
  many: [B, 'entries', `&form=${MANY}&fields=id,form,status,duration,location`, ALL],
  demo: [DEMO, 'entries', '&answers=list', ALL],
}

/** The cells of the table of a page whose first column has this name. */
const tableOf = (page: string, first: string): string[][] => {
  const [table = ''] = new RegExp(`^\\| ${first} \\|(.*\n)*?(?=\n)`, 'm').exec(readFileSync(page, 'utf8')) ?? []
  const rows = table.trimEnd().split('\n')
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

/** What a program has read. */
interface ReadBack {
  file: string
  reader: string
  rows: Row[]
  error?: string
}

t.test('programs read from exports what the lists say', { skip: withoutTools, timeout: 600_000 }, async (t) => {
  const fill = async (store: Store) => {
    await Promise.all([fillHostile(store), fillGuessed(store)])
    for (const { collection, documents } of demo) await store.insert(collection, documents as never)
  }
  const { get } = await testApp(t, { fill })
  const read = async (organisation: string, url: string) => {
    const response = await get(url, organisation)
    if (response.statusCode !== 200) throw new Error(`${url}: ${response.body}`)
    return response
  }
  const directory = t.testdir({})
  const lists: Record<string, Row[]> = {}
  for (const [table, [organisation, name, query, formats]] of Object.entries(EXPORTS)) {
    for (const format of formats) {
      const url = `/v1/exports/${name}.${format}?${format === 'csv' ? 'formulas=keep' : ''}${query}`
      writeFileSync(join(directory, `${table}.${format}`), (await read(organisation, url)).rawPayload)
    }
    const rows: Row[] = []
    const list = name === 'answers' ? 'entries?answers=list&' : `${name}?`
    for (let cursor: string | undefined = '*'; cursor !== undefined; ) {
      const page: Page = (await read(organisation, `/v1/${list}perPage=1000&cursor=${cursor}${query}`)).json()
      rows.push(...page.data)
      cursor = page._metadata.hasMore ? page._metadata.nextCursor : undefined
    }
    lists[table] = name === 'answers' ? answerRows(rows) : rows
  }
  const printedBy = (command: string, ...argv: string[]) =>
    execute(command, argv, { cwd: directory, maxBuffer: 2 ** 28 })
  const support = resolve('acceptance/support')
  const libraries = resolve(String(folder))
  const readers = [
    printedBy(join(libraries, 'files/bin/python'), join(support, 'read_exports.py')),
    printedBy(process.execPath, join(support, 'read_xlsx.js'), join(libraries, 'node')),
    printedBy(
      'java',
      '-Dlog4j2.StatusLogger.level=OFF',
      '-cp',
      join(libraries, 'poi/*'),
      join(support, 'ReadXlsx.java'),
    ),
    printedBy('Rscript', join(support, 'read_xlsx.R')),
  ]
  const results = (await Promise.all(readers)).flatMap(({ stdout }) => linesOf<ReadBack>(stdout))
  const [formats = [], , ...programs] = tableOf('docs/exporting.md', 'Program')
  const described = programs.flatMap(([name = '', ...cells]) =>
    cells.flatMap((cell, i) =>
      cell === '' ? [] : [`${/^[\w-]+/.exec(name)} ${/^\w+/.exec(formats[i + 1] as string)}`.toLowerCase()],
    ),
  )
  const tried = new Set(results.map(({ file, reader }) => `${reader} ${file.split('.')[1]}`))
  t.same([...tried].sort(), described.sort(), 'the page has what was tried')
  for (const { file, reader, rows, error } of results) {
    t.equal(error, undefined, `${reader} reads ${file}`, { error })
    const [table = '', format = ''] = file.split('.')
    const about = {
      list: String(EXPORTS[table]?.[1]),
      hasQuestions: table === 'asked' && format !== 'ndjson',
      format,
      reader,
    }
    const keyOf = ({ id, entry, position, answer }: Row) => JSON.stringify([id, entry, Number(position), answer])
    const sorted = (rows: Row[]) => rows.sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
    const wanted = sorted((lists[table] ?? []).map((item) => wantedRow(about, item)))
    const found = sorted(rows.map((row) => foundRow(about, row)))
    const different = wanted.flatMap((row, i) =>
      isDeepStrictEqual(row, found[i]) ? [] : [{ wanted: row, found: found[i] }],
    )
    t.equal(found.length, wanted.length, `${reader} has all rows of ${file}`)
    t.same(different.slice(0, 1), [], `${wanted.length} rows of ${file} in ${reader} are as in the list`)
  }
})

t.test('docs/tools.md is true', { skip, timeout: 120_000 }, async (t) => {
  const reader = new Reader(t)
  const bins = ['dlt', 'airbyte', 'singer'].map((tool) => join(resolve(String(folder)), tool, 'bin')).join(':')
  await reader.run(`export PATH=${bins}:$PATH DLT_DATA_DIR=$PWD/dlt RUNTIME__DLTHUB_TELEMETRY=false`)
  let output = ''
  const run = async (place: string, script: string): Promise<void> => {
    const program = await reader.run(`pip() { true; }\n${script}`)
    output = program.output()
    t.equal(await program.code, 0, place, { output: output.slice(-2000) })
  }
  const python: string[] = []
  for (const { place, language, text } of blocksOf('docs/tools.md')) {
    if (language === 'sh') await run(place, text)
    if (language === 'text') t.equal(firstMissing(text, output), undefined, `${place} is printed`, { output })
    if (language === 'python') python.push(text)
  }
  t.match(readFileSync(join(reader.folder, 'state.json'), 'utf8'), '"replication_key":"changedAt"')
  // They are one program, as in a notebook.
  await run('the blocks of Python', `python3 - <<'END'\n${python.join('\n')}\nEND`)
  t.match(output, /^accepted +\w+ +\d+$/m, 'pandas counts')
  t.match(output, /│ accepted +┆ \d+/, 'polars counts')
  t.match(output, /│ accepted +│ +\d+ │ +[\d.]+ │/, 'DuckDB counts')
})

t.test('pandas reads counts as docs/asking.md says', { skip: withoutTools, timeout: 60_000 }, async (t) => {
  const reader = new Reader(t)
  const [first, ...others] = blocksOf('docs/asking.md')
  const python = others.find(({ language }) => language === 'python')?.text
  const program = await reader.run(
    `export PATH=${join(resolve(String(folder)), 'files', 'bin')}:$PATH\n${first?.text}\npython - <<'END'\n${python}\nEND`,
  )
  t.equal(await program.code, 0, 'it ends well', { output: program.output().slice(-2000) })
  t.match(program.output(), /location\.state +Abia/, 'states are columns')
  t.match(program.output(), /^2024-10 /m, 'and months are rows')
})

t.test(
  'DuckDB lists what a key read, as docs/operating.md says',
  { skip: withoutTools, timeout: 60_000 },
  async (t) => {
    let log = 'the message of the start\n'
    const write = (line: string) => {
      log += line
    }
    const settings = { LOG_LEVEL: 'info' }
    const { app, get } = await testApp(t, { fill: fillTenants, settings, log: { write } })
    await get('/v1/entries?perPage=2', A)
    const { keyId } = JSON.parse(log.trim().split('\n').at(-1) as string)
    await get('/v1/exports/entries.csv', A)
    await get(`/v1/entries/${a.entry(1)._id}`, A)
    await get('/v1/entries?status=gone', B)
    await app.close()
    const reader = new Reader(t)
    writeFileSync(join(reader.folder, 'api.log'), log)
    const [day, next] = [0, 86_400_000].map((ms) => new Date(Date.now() + ms).toISOString().slice(0, 10)) as [
      string,
      string,
    ]
    const sql = blocksOf('docs/operating.md').find(({ language }) => language === 'sql')?.text as string
    const asked = sql.replace('bRqfAWGcrTFs', keyId).replace('2025-03-01', day).replace('2025-04-01', next)
    const python = join(resolve(String(folder)), 'files/bin/python')
    const script = `import duckdb\nfor row in duckdb.sql('''${asked.replace(/;\s*$/, '')}''').fetchall(): print(*row[4:7], row[8], sep='|')`
    const program = await reader.run(`${python} - <<'END'\n${script}\nEND`)
    t.equal(await program.code, 0, 'it ends well', { output: program.output().slice(-2000) })
    t.same(program.output().trim().split('\n'), [
      'listEntries|None|None|2',
      'exportEntries|None|csv|4',
      `getEntry|${a.entry(1)._id}|None|1`,
    ])
  },
)

t.test('packages of those who make models take all tools', { skip: withoutTools, timeout: 180_000 }, async (t) => {
  const { app, keyOf } = await testApp(t, { fill: fillTenants })
  const [url, key] = [`http://127.0.0.1:${await listen(app)}`, await keyOf(A)]
  const { client, ask } = await assistant(t, url, key)
  const tools = (await client.listTools()).tools.map(({ name, inputSchema }): [string, string[]] => [
    name,
    Object.keys(inputSchema.properties ?? {}),
  ])
  const call = ['count_entries', JSON.stringify({ status: 'Accepted', createdSince: '2025-01-01' })] as const
  const { total } = await ask(call[0], JSON.parse(call[1]))
  const run = program(t.testdir(), url, key)
  const output = await run('assistants', 'python', resolve('acceptance/support/convert_tools.py'), ...call)
  const packages = linesOf<{ package: string; tools: object; result: object }>(output)
  t.equal(packages.length, 4)
  for (const { package: name, tools: shown, result } of packages) {
    t.strictSame(shown, Object.fromEntries(tools), `${name} shows its model all tools, and the names of all arguments`)
    t.match(result, { total }, `${name} calls`)
  }
})

/** Ids and telephones that programs take for numbers, by their number. */
const GUESSED: Record<string, (n: number, text: string) => string> = {
  'are as they are': (_, text) => text,
  'are digits alone': (n) => `6514304400000300${10_000_000 + n}`,
  'have one e': (n) => `${1000 + n}e67`,
  'have a leading zero': (n) => `0${8_000_000_000 + n}`,
}

/** What was read by the recipes is in these variables and files. */
const AS_LISTED = `
import json
from urllib.request import Request, urlopen
def ids(name):
    lines = urlopen(Request(os.environ["API_URL"] + f"/v1/exports/{name}.ndjson", headers=headers))
    return sorted((record["id"], record.get("form"), record.get("phone")) for record in map(json.loads, lines))
def told(frame):
    records = frame.to_dicts() if hasattr(frame, "to_dicts") else frame.to_dict("records")
    return sorted((record["id"], record.get("form"), record.get("phone")) for record in records)
for frame in entries, lines, duckdb.sql("FROM lines").df(), geopandas.read_file("entries.gpkg"):
    assert told(frame) == ids("entries"), frame
for frame in agents, sheet, duckdb.sql("FROM agents").df(), geopandas.read_file("agents.gpkg"):
    assert told(frame) == ids("agents"), frame
assert sheet.createdAt.dt.tz_localize("UTC").tolist() == agents.createdAt.tolist()
`

for (const [title, guessed] of Object.entries(GUESSED)) {
  t.test(
    `the recipes of docs/exporting.md are true where ids ${title}`,
    { skip: withoutTools, timeout: 120_000 },
    async (t) => {
      const names = new Map<string, string>()
      const renamed = (value: unknown): unknown => {
        if (Array.isArray(value)) return value.map(renamed)
        if (typeof value === 'string' && /^(\+234\d+|[\da-f]{24})$/.test(value)) {
          if (!names.has(value)) names.set(value, guessed(names.size, value))
          return names.get(value)
        }
        if (value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
        return Object.fromEntries(Object.entries(value as object).map(([name, each]) => [name, renamed(each)]))
      }
      const fill = async (store: Store) => {
        for (const { collection, documents } of demo) await store.insert(collection, renamed(documents) as never)
      }
      const { app, keyOf } = await testApp(t, { fill })
      const url = `http://127.0.0.1:${await listen(app)}`
      const key = await keyOf(renamed(DEMO) as string)
      const reader = new Reader(t)
      await reader.run(`export PATH=${join(resolve(String(folder)), 'files/bin')}:$PATH API_URL=${url} API_KEY=${key}`)
      const run = async (script: string): Promise<string> => {
        const program = await reader.run(script)
        t.equal(await program.code, 0, script.split('\n')[0] as string, { output: program.output().slice(-2000) })
        return program.output()
      }
      const blocks = blocksOf('docs/exporting.md')
      for (const { language, text } of blocks) if (language === 'sh') await run(text.replace(/^export API_.*\n/gm, ''))
      const python = blocks.filter(({ language }) => language === 'python').map(({ text }) => text)
      const output = await run(`python3 - <<'END'\n${python.join('\n')}\n${AS_LISTED}\nEND`)
      t.match(output, /^entries, and those with a form: 1500 1500$/m, 'pandas joins')
      t.match(output, /│ +1500 │ +1500 │/, 'DuckDB joins')
      t.match(output, /^accepted +\w+ +\d+$/m, 'pandas counts')
      t.match(output, /│ accepted +┆ \d+/, 'polars counts')
      t.match(output, /│ accepted +│ +\d+ │ +[\d.]+ │/, 'DuckDB counts')
      t.match(output, /^\[ *\d+\.\d* /m, 'geopandas has places')
    },
  )
}
