// Lets the program of each generated client read the service, and checks that it asked for every operation. The data are those
// of the demo, a record with words that the description does not know, and a deletion. Then the example for each client has to
// print every accepted entry.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { buildApp } from '../dist/src/app.js'
import { loadConfig } from '../dist/src/config/config.js'
import { loadDemo } from '../dist/src/demo.js'
import { Query } from '../dist/src/pipelines/stages.js'
import { embeddedStore } from '../dist/src/store/embedded.js'

const python = 'dist/venv/bin/python'
const programs = {
  TypeScript: { read: [process.execPath, 'dist/read.js'], example: [process.execPath, 'dist/dist/entries.js'] },
  Python: { read: [python, 'read.py'], example: [python, '../examples/clients/entries.py'] },
  Go: { read: ['dist/read'], example: ['dist/entries'] },
}

const store = embeddedStore()
const [{ key, organisation }] = await loadDemo(store)
// Their ids make them the first records of their lists.
const record = { organisation: organisation._id, createdAt: new Date(0), updatedAt: new Date(0) }
await store.insert('dispatches', [
  {
    ...record,
    _id: '0-unknown-words',
    name: 'Of a later release',
    dispatchType: 'voice',
    status: 'paused',
    recipients: { agents: [], agentGroups: [] },
  },
])
const answers = [{ type: 'voiceNote', question: 'What did you hear?', answer: ['a.ogg', 'b.ogg'] }]
await store.insert('entries', [
  { ...record, _id: '0-unknown-words', status: 'disputed', dispatch: '0-unknown-words', answers },
  { ...record, _id: '1-deleted', status: 'accepted', answers: [] },
])
await store.remove('entries', organisation._id, ['1-deleted'])

const config = loadConfig({ LOG_LEVEL: 'silent', SYNC_SETTLE_MS: '0' })
const app = await buildApp(config, store)
let asked = new Set()
app.addHook('onResponse', async ({ routeOptions }, { statusCode }) => {
  if (statusCode === 200) asked.add(routeOptions.schema?.operationId)
})
const API_URL = await app.listen({ host: '127.0.0.1', port: 0 })
// Map programs bring clients of their own.
const operations = Object.values(app.swagger().paths)
  .filter(({ get }) => !get.tags.includes('OGC API'))
  .map(({ get }) => get.operationId)

/** Runs a program with the key. */
const run = async ([command, ...argv]) => {
  const child = spawn(command, argv, {
    cwd: import.meta.dirname,
    env: { ...process.env, API_URL, API_KEY: key, PYTHONPATH: 'dist', PYTHONDONTWRITEBYTECODE: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
  return { output, code }
}

const accepted = Query.in({ organisation: organisation._id }, 'entries', [{ status: 'accepted' }], [])
const expected = (await store.aggregate(accepted)).documents.length
for (const [language, { read, example }] of Object.entries(programs)) {
  asked = new Set()
  const { code } = await run(read)
  const missing = operations.filter((operation) => !asked.has(operation))
  const printed = await run(example)
  const lines = printed.output.split('\n').filter((line) => /^\S+ \d{4}-\d\d-\d\d.* \d+$/.test(line))
  if (code !== 0 || missing.length > 0 || printed.code !== 0 || lines.length !== expected) process.exitCode = 1
  console.log(
    `${language}: exit code ${code}, ${operations.length - missing.length} of ${operations.length} operations, ` +
      `the example prints ${lines.length} of ${expected} entries`,
  )
  if (missing.length > 0) console.log(`  not read: ${missing.join(', ')}`)
}
await app.close()
