// Runs every fenced block of README.md and docs/ as a reader would: page by page, in order, in a folder like a clone. What a
// page shows below a command must be what the command prints. Commands on a database run on the server of TEST_MONGODB_URI.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { CollectionName } from '../src/core/documents/collections.js'
import { indexesOf } from '../src/core/documents/indexes.js'
import { type Block, blocksOf, firstMissing, pages } from './support/pages.js'
import { DEMO_KEY, goesOn, PATH, type Program, Reader } from './support/reader.js'

// Most of the time goes by in waiting for processes.
t.jobs = 3

const server = process.env.TEST_MONGODB_URI

/** The name of a block in the lists below: its page and its first line. */
const nameOf = ({ page, text }: Block): string => `${page}: ${text.split('\n')[0]}`

/** Blocks that are not run here, or all of a page, and why. Steps of .ci/run and other tests hold most of them. */
const ELSEWHERE: Record<string, string> = {
  'docs/architecture.md': 'test/rules/layers.test.ts reads the drawing of the rooms',
  'docs/assistants.md: npm run keys -- issue --organisation ID --name assistant --without personal,places':
    'it needs an organisation of yours',
  "docs/assistants.md: claude mcp add --transport http field-data https://data.example.org/mcp --header 'Authorization: Bearer ${API_KEY}'":
    'it needs Claude Code',
  'docs/assistants.md: codex mcp add field-data --url https://data.example.org/mcp --bearer-token-env-var API_KEY':
    'it needs Codex',
  'docs/assistants.md: {': 'it is a file of an assistant',
  'docs/contributing.md': 'it would run this test again',
  'docs/data.md': 'acceptance/other-writers.test.ts runs the statements',
  "docs/deploying.md: for (const name of ['users', 'agents', 'forms', 'projects', 'dispatches', 'entries']) {":
    'acceptance/restore.test.ts runs the statement',
  'docs/deploying.md: kubectl create namespace field-data': 'it needs a cluster',
  "docs/deploying.md: kubectl --namespace field-data exec --stdin deployment/field-data-api -- sh -c '":
    'it needs a cluster',
  'docs/deploying.md: mongodump --config=mongodump.yaml --gzip --archive="field-data-$(date +%F).gz"':
    'it needs programs of MongoDB',
  'docs/deploying.md: docker compose exec -T mongodb1 mongodump --config=/dev/stdin --gzip --archive <mongodump.yaml >field-data.gz':
    'it needs Docker',
  'docs/deploying.md: mongorestore --config=mongodump.yaml --gzip --archive=field-data-2025-03-14.gz \\':
    'it needs programs of MongoDB',
  'docs/exporting.md: Excel.Workbook(Web.Contents("https://data.example.org/v1/exports/entries.xlsx?names=true"), true, true){0}[Data]':
    'it needs Excel or Power BI, as the page says',
  'docs/asking.md: import os': 'acceptance/partner-tools.test.ts runs it',
  ...Object.fromEntries(
    ['pandas', 'polars', 'duckdb', 'geopandas'].map((name) => [
      `docs/exporting.md: import ${name}`,
      'acceptance/partner-tools.test.ts runs it',
    ]),
  ),
  'docs/from-a-form.md': 'acceptance/from-a-form.test.ts runs it',
  'docs/operating.md: docker compose up --build --detach': 'it needs Docker',
  'docs/operating.md: SELECT make_timestamp(time * 1000) AS ended, ip, userAgent, method, operation, id, format, query, rows, bytes,':
    'acceptance/partner-tools.test.ts runs it',
  'docs/operating.md: npm install ./field-data-api-1.0.0.tgz': '.ci/packed installs it',
  'docs/operating.md: npm install --no-save @opentelemetry/api @opentelemetry/auto-instrumentations-node':
    '.ci/metrics does it',
  'docs/reading-data.md: npm install openapi-fetch openapi-typescript': 'clients/run does it',
  'docs/reliability.md': 'it takes an hour',
  'docs/scaling.md: global': 'acceptance/restarts.test.ts starts HAProxy with it',
  'docs/second-look.md: curl --fail-with-body -sS -u "key:$API_KEY" "$API_URL/v1/exports/entries.ndjson?answers=list" > entries.ndjson':
    'acceptance/second-look.test.ts runs the program',
  'docs/tools.md': 'acceptance/partner-tools.test.ts runs it',
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
  'docs/incidents.md: jq -cR \'fromjson? | select(.reqId == "55ed663a-3f81-4703-ae46-722a1ee9230e")\' service.log':
    async (t, { text }, reader) => {
      const request = '{"msg":"request","reqId":"55ed663a-3f81-4703-ae46-722a1ee9230e","statusCode":200}'
      const refused =
        '{"msg":"request","reqId":"b","statusCode":503,"code":"overloaded","organisation":"o","keyId":"k"}'
      writeFileSync(join(reader.folder, 'service.log'), `the start\n${[request, refused, refused].join('\n')}\n`)
      const program = await reader.run(text)
      t.equal(await program.code, 0)
      t.equal(program.stdout().replace(/^ +/gm, ''), `${request}\n2 overloaded\n2 o k\n`)
    },
  "docs/scaling.md: sh.shardCollection('field-data.entries', { organisation: 1, _id: 1 })": async (t, { text }) => {
    const sh = {
      shardCollection(name: string, key: Record<string, number>) {
        const indexes = indexesOf(name.replace('field-data.', '') as CollectionName)
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
  'docs/syncing.md: GET /v1/sync/entries?changedSince=1970-01-01T00:00:00Z      the first run': async (
    t,
    { text },
    reader,
  ) => {
    const [first, later] = Array.from(text.matchAll(/GET (\S+)/g), ([, path]) => String(path))
    const get = async (path: string) => {
      const sent = await fetch((await reader.url()) + path, { headers: { authorization: `Bearer ${DEMO_KEY}` } })
      t.equal(sent.status, 200, path)
      return (await sent.json()) as { data: { id: string; changedAt: string }[]; _metadata: Record<string, unknown> }
    }
    const copy = new Set<string>()
    let changedAt = ''
    let page = await get(String(first))
    for (; ; page = await get(`${first}&cursor=${page._metadata.nextCursor}`)) {
      for (const item of page.data) {
        copy.add(item.id)
        changedAt = item.changedAt
      }
      if (page._metadata.hasMore === false) break
    }
    t.equal(copy.size, 1500)
    t.ok((await get(String(later).replace(/[^=]*$/, changedAt))).data.length > 0)
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
    const program = await reader.run((command as string).replaceAll('/srv/copy', join(reader.folder, 'copy')))
    t.equal(await program.code, 0)
    t.equal(
      readFileSync(join(reader.folder, 'copy/nightly.log'), 'utf8'),
      '0 changes were fetched; 0 entries were brought up to date\n',
    )
  },
}

const hasTool = (name: string): boolean => PATH.split(':').some((folder) => existsSync(join(folder, name)))

/** What a block needs and this machine does not have. */
const missingFor = ({ language, text }: Block): string | undefined => {
  const tools = ['bash', 'curl', 'openssl', 'python3', 'ogrinfo', 'ogr2ogr', 'jq'].filter(
    (tool) => tool === 'bash' || text.includes(`${tool} `),
  )
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
  const stdout = await reader.asOnThePage(language === 'json' ? indented(program.stdout()) : program.stdout())
  // A page may show both outputs. In a busy process a line of one may be read late, between two of the other.
  const printed =
    language === 'json' || firstMissing(text, stdout) === undefined
      ? stdout
      : await reader.asOnThePage(program.output())
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
    const elsewhere = ELSEWHERE[nameOf(block)] ?? ELSEWHERE[page]
    const held = HELD[nameOf(block)]
    isOnServer ||= /\bMONGODB_URI=mongodb/.test(text)
    const isShown = ['json', 'text', 'http'].includes(language) && block.follows && !held
    const skip =
      elsewhere ??
      (isOnServer && server === undefined
        ? 'TEST_MONGODB_URI is not set'
        : (missingFor(block) ?? (isShown ? last?.skip : undefined)))
    await t.test(`${place} ${text.split('\n')[0]}`, { skip: skip ?? false }, async (t) => {
      if (held) await held(t, block, reader)
      else if (language === 'mcp') last = { skip, program: await reader.call(text) }
      else if (language === 'sh') {
        const program = await reader.run(text)
        last = { skip, program }
        const next = blocks[at + 1]
        // curl ends with 22 at an error that the page shows below.
        const expected = next?.follows && next.text.includes('"success": false') ? 22 : 0
        if (!goesOn(text)) t.equal(await program.code, expected, program.output())
      } else if (!isShown || last?.program === undefined) t.fail(`${place}: no test knows this block (${language})`)
      else if (reader.lasting.has(last.program)) atEnd.push({ block, program: last.program })
      else await assertShown(t, block, last.program, reader)
    })
    if (language === 'sh' && skip !== undefined) last = { skip }
  }
  for (const program of reader.lasting) {
    program.signal('SIGINT')
    await program.code
  }
  for (const { block, program } of atEnd) await assertShown(t, block, program, reader)
}

for (const page of pages) t.test(`every block of ${page} is true`, (t) => walk(t, page))

t.test('the lists of this test name only blocks and pages that exist', async (t) => {
  const names = new Set(pages.flatMap((page) => [page, ...blocksOf(page).map(nameOf)]))
  for (const name of [...Object.keys(ELSEWHERE), ...Object.keys(HELD)]) t.ok(names.has(name), name)
})
