// Runs every fenced block of README.md and docs/ as a reader would: page by page, in order, in a folder like a clone. What a
// page shows below a command must be what the command prints. Commands on a database run on the server of TEST_MONGODB_URI.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import t, { type Test } from 'tap'
import { collections } from '../../src/documents/collections.js'
import { response } from '../../src/routes/responses.js'
import { testApp } from '../support/app.js'
import { type Block, blocksOf, firstMissing, pages } from '../support/pages.js'
import { freePort } from '../support/process.js'
import { ownDatabase } from '../support/store.js'

// Most of the time goes by in waiting for processes.
t.jobs = 3

const server = process.env.TEST_MONGODB_URI
const DEMO_KEY = 'fda_bRqfAWGcrTFs_kJCVgb0Tp3a1G3BmW1AqUoJR23YaFeCIj1xisfx'
const REPOSITORY = process.cwd()
/** The address that the pages name. */
const SERVICE = 'http://127.0.0.1:3000'

/** The name of a block in the lists below: its page and its first line. */
const nameOf = ({ page, text }: Block): string => `${page}: ${text.split('\n')[0]}`

/** Blocks that are not run here: why, the file that holds them instead, and what stands there. */
const ELSEWHERE: Record<string, { why: string; file: string; says: string }> = {
  'docs/contributing.md: docker run --detach --rm --name field-data-test --publish 127.0.0.1:27017:27017 mongo:8': {
    why: 'it needs Docker, and would run this test again',
    file: '.ci/run',
    says: 'TEST_MONGODB_URI="$uri" npm test',
  },
  'docs/contributing.md: TEST_MONGODB_URI="$(.ci/mongodb-compatible-server start)" npm test': {
    why: 'it would run this test again',
    file: '.ci/run',
    says: 'TEST_MONGODB_URI="$uri" npm test',
  },
  'docs/operating.md: docker compose up --build --detach': {
    why: 'it needs Docker',
    file: 'test/rules/compose.test.ts',
    says: 'compose.yaml',
  },
  'docs/operating.md: npm install ./field-data-api-1.0.0.tgz': {
    why: 'it packs all dependencies',
    file: '.ci/packed',
    says: 'npm install --offline',
  },
  'docs/reading-data.md: npm install --no-save openapi-fetch openapi-typescript': {
    why: 'it needs the network',
    file: 'clients/run',
    says: 'openapi-typescript "$DOCUMENT" --output',
  },
  'docs/architecture.md: src': {
    why: 'it is a drawing of the rooms',
    file: 'test/rules/layers.test.ts',
    says: 'docs/architecture.md',
  },
  'docs/data.md: db.entries.updateOne(': {
    why: 'it is a statement for a database',
    file: 'test/service/other-writers.test.ts',
    says: "readFileSync('docs/data.md'",
  },
  'docs/data.md: db.entries.updateMany(': {
    why: 'it is a statement for a database',
    file: 'test/service/other-writers.test.ts',
    says: "readFileSync('docs/data.md'",
  },
}

/** Blocks that are neither commands nor what a command prints. */
const HELD: Record<string, (t: Test, block: Block, reader: Reader) => Promise<unknown>> = {
  'docs/errors.md: {': async (t, { page, text }, reader) => {
    const [, path] = /`GET (\S+)` gives:\n\n```json/.exec(readFileSync(page, 'utf8')) as string[]
    const sent = await fetch((await reader.url()) + path, { headers: { authorization: `Bearer ${DEMO_KEY}` } })
    const { requestId, ...problem } = (await sent.json()) as { requestId: string }
    const { requestId: shownId, ...shown } = JSON.parse(text)
    t.same(shown, problem)
    t.equal(shownId.length, requestId.length)
  },
  "docs/scaling.md: sh.shardCollection('field-data.entries', { organisation: 1, _id: 1 })": async (t, { text }) => {
    const sh = {
      shardCollection(name: string, key: Record<string, number>) {
        const { indexes } = collections[name.replace('field-data.', '') as keyof typeof collections]
        t.ok(
          indexes.some((index) => String(index).startsWith(String(Object.keys(key)))),
          'an index on the fields of the key exists',
        )
      },
    }
    new Function('sh', text)(sh)
  },
  'docs/syncing.md: cursor = what was stored, or "*"': async (t, { text }, reader) => {
    const [, path] = /GET (\S+)/.exec(text) as string[]
    const [, next] = /store _metadata\.(\w+) as the cursor/.exec(text) as string[]
    const [, more] = /until _metadata\.(\w+) is false/.exec(text) as string[]
    const headers = { authorization: `Bearer ${DEMO_KEY}` }
    const copy = new Set<string>()
    let metadata: Record<string, unknown> = { [next as string]: '*', [more as string]: true }
    while (metadata[more as string] !== false) {
      const sent = await fetch((await reader.url()) + path?.replace('{cursor}', String(metadata[next as string])), {
        headers,
      })
      const { data, _metadata } = (await sent.json()) as { data: { id: string }[]; _metadata: typeof metadata }
      for (const { id } of data) copy.add(id)
      metadata = _metadata
    }
    t.equal(copy.size, 1500)
  },
  'docs/syncing.md: SELECT count(*), sum(updated) FROM entries WHERE id >= :from AND id < :to': async (
    t,
    block,
    reader,
  ) => {
    const headers = { authorization: `Bearer ${DEMO_KEY}` }
    const ends = { from: '66', to: '68' }
    const sent = await fetch(`${await reader.url()}/v1/sync/entries/digest?${new URLSearchParams(ends)}`, { headers })
    const [{ count, updatedAtSum }] = ((await sent.json()) as { data: [{ count: number; updatedAtSum: string }] }).data
    t.ok(count > 100)
    const run =
      'import sqlite3, sys, json\ndb = sqlite3.connect(sys.argv[1])\nprint(*db.execute(sys.argv[2], json.loads(sys.argv[3])).fetchone())'
    const row = execFileSync('python3', [
      '-c',
      run,
      join(reader.folder, 'copy/copy.sqlite'),
      block.text,
      JSON.stringify(ends),
    ])
    t.equal(String(row), `${count} ${updatedAtSum}\n`)
  },
  'docs/syncing.md: 17 2 * * * flock -n /srv/copy/lock /srv/copy/nightly.sh >>/srv/copy/nightly.log 2>&1': async (
    t,
    { text },
    reader,
  ) => {
    const [, times, command] = /^((?:[\d*]+ ){5})(.*)/.exec(text) as string[]
    t.ok(times)
    t.equal(
      (await reader.run((command as string).replaceAll('/srv/copy', join(reader.folder, 'copy')))).child.exitCode,
      0,
    )
    t.equal(readFileSync(join(reader.folder, 'copy/nightly.log'), 'utf8'), '0 entries were fetched again or dropped\n')
  },
  'docs/versioning.md: Deprecation: @1767225600': async (t, { text }) => {
    const shown = Object.fromEntries(text.split('\n').map((line) => line.split(/: (.*)/).slice(0, 2))) as Record<
      string,
      string
    >
    const { app } = await testApp(t)
    const since = new Date(1000 * Number(shown.Deprecation?.slice(1)))
    const schema = {
      operationId: 'getOld',
      response: { 200: response(Type.Object({}, { title: 'Old', description: 'd' })) },
    }
    app.get(
      '/old',
      { schema, config: { deprecated: { since, sunset: new Date(String(shown.Sunset)) } } },
      async () => ({}),
    )
    const { headers } = await app.inject('/old')
    t.same({ Deprecation: headers.deprecation, Sunset: headers.sunset }, shown)
  },
}

/** Commands that run until they are interrupted, and what they print when they are ready. */
const LASTING: readonly (readonly [command: RegExp, ready: RegExp])[] = [
  [/(npm start|field-data-api serve)$/, /^field-data-api on .*\n(?: {2}.*\n)+\n/m],
  [/ --live \S+$/, /^fda_/m],
]

/** The longest time that a command may take, and that one that lasts may go on. */
const LONGEST_MS = 100_000

/** A reader's shell has these variables, and none of those that npm and tap add for the tests. */
const { PATH = '', HOME = '' } = process.env
const ENV = {
  PATH,
  HOME,
  LANG: 'C.UTF-8',
  npm_config_offline: 'true',
  npm_config_loglevel: 'error',
  npm_config_update_notifier: 'false',
}

interface Program {
  readonly child: ChildProcess
  /** What it has printed so far: the lines for people and those for programs, and the latter alone. */
  readonly output: () => string
  readonly stdout: () => string
  /** The exit code, when it has ended and all that it printed was read. */
  readonly code: Promise<number>
}

const start = (t: Test, script: string, cwd: string, env: Record<string, string> = {}): Program => {
  // Tap adds its own code to NODE_OPTIONS of every process that a test starts, whatever `env` says. A group of its own can be
  // interrupted as a terminal does it.
  const argv = ['-u', 'NODE_OPTIONS', 'bash', '-e', '-u', '-o', 'pipefail', '-c', script]
  const child = spawn('env', argv, {
    cwd,
    env: { ...ENV, CURL_HOME: cwd, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  t.teardown(() => signal(child, 'SIGKILL'))
  setTimeout(LONGEST_MS, undefined, { ref: false }).then(() => signal(child, 'SIGKILL'))
  let stdout = ''
  let output = ''
  child.stdout.on('data', (chunk) => {
    stdout += chunk
    output += chunk
  })
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  return { child, output: () => output, stdout: () => stdout, code: once(child, 'close').then(([code]) => code ?? 1) }
}

const signal = ({ pid }: ChildProcess, name: 'SIGINT' | 'SIGKILL'): void => {
  try {
    process.kill(-Number(pid), name)
  } catch {} // it has ended
}

const until = async ({ child, output }: Program, ready: RegExp): Promise<void> => {
  while (!ready.test(output())) {
    if (child.exitCode !== null) throw new Error(`It ended before it was ready:\n${output()}`)
    await setTimeout(20)
  }
}

interface Service extends Program {
  readonly port: number
}

/** Services with demo data, by the command that starts them. They only read, so that all pages use them. */
const services = new Map<string, Promise<Service>>()

/** A reader who follows a page with a terminal, in a folder like a clone in which everything is compiled. */
class Reader {
  readonly folder = mkdtempSync(join(tmpdir(), 'reader-'))
  /** What it has started and must interrupt, besides services. */
  readonly lasting = new Set<Program>()
  #service: Promise<Service> | undefined
  /** What the page calls the databases, and what they are called here. */
  readonly #databases = new Map<string, string>()
  /** How many terminals are open. A command that lasts keeps its terminal, so that the next one needs another. */
  #terminals = 1

  constructor(readonly t: Test) {
    // No folder scripts/, so that the command line compiles nothing.
    writeFileSync(join(this.folder, '.curlrc'), 'silent\nshow-error\nfail-with-body\n')
    for (const name of ['package.json', 'bin', 'examples']) cpSync(name, join(this.folder, name), { recursive: true })
    symlinkSync(join(REPOSITORY, 'dist'), join(this.folder, 'dist'))
    t.teardown(() => rmSync(this.folder, { recursive: true, force: true }))
  }

  /** The address of the service that was started last, or of one with demo data. */
  async url(): Promise<string> {
    this.#service ??= this.#shared('npm start')
    return `http://127.0.0.1:${(await this.#service).port}`
  }

  /** Runs the commands of a block. Those that last go on until the page ends. */
  async run(text: string): Promise<Program> {
    const [, ready] = LASTING.find(([command]) => command.test(text)) ?? []
    const isService = ready === LASTING[0]?.[1]
    const script = text
      .replace(/mongodb:\/\/127\.0\.0\.1:27017\/[\w-]+/g, (uri) => this.#database(uri))
      // Packages are there already. .ci/run begins with it.
      .replace(/\bnpm ci\b/g, 'true')
    const terminal = join(this.folder, `.terminal-${this.#terminals}`)
    const before = existsSync(terminal) ? `. ${terminal}\n` : ''
    if (ready) this.#terminals += 1
    if (isService) {
      const isShared = before === '' && !text.includes('MONGODB_URI')
      this.#service = isShared ? this.#shared(script) : this.#serve(this.t, before + script)
      return this.#service
    }
    const after = ready ? '' : `\n{ export -p; echo "cd '$PWD'"; } >${terminal}`
    const url = script.includes(SERVICE) ? await this.url() : SERVICE
    const program = start(this.t, before + script.replaceAll(SERVICE, url) + after, this.folder)
    if (ready) {
      await until(program, ready)
      this.lasting.add(program)
    } else await program.code
    return program
  }

  /** A text with the names that the page uses. */
  async asOnThePage(text: string): Promise<string> {
    let named = text.replaceAll('\r', '')
    for (const [name, uri] of this.#databases) named = named.replaceAll(uri, name)
    return this.#service === undefined ? named : named.replaceAll(await this.url(), SERVICE)
  }

  #database(uri: string): string {
    const own = this.#databases.get(uri) ?? ownDatabase(this.t, String(server))
    this.#databases.set(uri, own)
    return own
  }

  #shared(script: string): Promise<Service> {
    const command = script.replace('true && ', '')
    const service = services.get(command) ?? this.#serve(t, command)
    services.set(command, service)
    return service
  }

  async #serve(t: Test, script: string): Promise<Service> {
    const port = await freePort()
    const program = start(t, script, this.folder, { PORT: String(port) })
    await until(program, LASTING[0]?.[1] as RegExp)
    return { ...program, port }
  }
}

const hasTool = (name: string): boolean => PATH.split(':').some((folder) => existsSync(join(folder, name)))

/** What a block needs and this machine does not have. */
const missingFor = ({ language, text }: Block): string | undefined => {
  const tools = ['bash', 'curl', 'openssl', 'python3'].filter((tool) => tool === 'bash' || text.includes(`${tool} `))
  const missing = [...tools, ...(language === 'sql' ? ['python3'] : [])].find((tool) => !hasTool(tool))
  return missing && `there is no ${missing} on this machine`
}

const indented = (text: string): string => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

const assertShown = async (
  t: Test,
  { place, language, text }: Block,
  program: Program,
  reader: Reader,
): Promise<void> => {
  const printed = await reader.asOnThePage(language === 'json' ? indented(program.stdout()) : program.output())
  const missing = firstMissing(text, printed)
  t.equal(
    missing,
    undefined,
    `${place} shows what is printed`,
    missing === undefined ? {} : { printed: printed.slice(-2000) },
  )
}

const walk = async (t: Test, page: string): Promise<void> => {
  const reader = new Reader(t)
  const atEnd: { block: Block; program: Program }[] = []
  let isOnServer = false
  let last: { skip: string | undefined; program?: Program } | undefined
  const blocks = blocksOf(page)
  for (const [at, block] of blocks.entries()) {
    const { place, language, text } = block
    const elsewhere = ELSEWHERE[nameOf(block)]
    const held = HELD[nameOf(block)]
    isOnServer ||= /\bMONGODB_URI=mongodb/.test(text)
    const isShown = ['json', 'text', 'http'].includes(language) && block.follows && !held
    const skip =
      isOnServer && server === undefined
        ? 'TEST_MONGODB_URI is not set'
        : (missingFor(block) ?? (isShown ? last?.skip : undefined))
    await t.test(`${place} ${text.split('\n')[0]}`, { skip: skip ?? false }, async (t) => {
      if (elsewhere)
        t.ok(readFileSync(elsewhere.file, 'utf8').includes(elsewhere.says), `${elsewhere.why}: ${elsewhere.file}`)
      else if (held) await held(t, block, reader)
      else if (language === 'sh') {
        const program = await reader.run(text)
        last = { skip, program }
        // curl ends with 22 at an error that the page shows below.
        const expected = blocks[at + 1]?.text.includes('"success": false') ? 22 : 0
        if (program.child.exitCode !== null) t.equal(program.child.exitCode, expected, program.output())
      } else if (!isShown || last?.program === undefined) t.fail(`${place}: no test knows this block (${language})`)
      else if (reader.lasting.has(last.program)) atEnd.push({ block, program: last.program })
      else await assertShown(t, block, last.program, reader)
    })
    if (language === 'sh' && (skip !== undefined || elsewhere)) last = { skip }
  }
  for (const { child, code } of reader.lasting) {
    signal(child, 'SIGINT')
    await code
  }
  for (const { block, program } of atEnd) await assertShown(t, block, program, reader)
}

for (const page of pages) t.test(`every block of ${page} is true`, (t) => walk(t, page))

t.test('the lists of this test name only blocks that exist', async (t) => {
  const names = new Set(pages.flatMap((page) => blocksOf(page).map(nameOf)))
  for (const name of [...Object.keys(ELSEWHERE), ...Object.keys(HELD)]) t.ok(names.has(name), name)
})
