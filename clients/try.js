// Lets the program of each generated client read the service, and checks that it asked for every operation. The data are those
// of the demo, a record with words that the description does not know, and a deletion. Then the example for a client, if there
// is one, has to print every accepted entry, and the requests that Postman imports from the description have to find their
// operations.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import postman from 'openapi-to-postmanv2'
import { buildApp } from '../dist/src/app.js'
import { loadConfig } from '../dist/src/core/config/config.js'
import { Query } from '../dist/src/core/pipelines/stages.js'
import { embeddedStore } from '../dist/src/core/store/embedded.js'
import { loadDemo } from '../dist/src/demo.js'

const python = 'dist/venv/bin/python'
const programs = {
  TypeScript: { read: [process.execPath, 'dist/read.js'], example: [process.execPath, 'dist/dist/entries.js'] },
  Python: { read: [python, 'read.py'], example: [python, '../examples/clients/entries.py'] },
  Go: { read: ['dist/read'], example: ['dist/entries'] },
  // A warning of pydantic would come at each import.
  "openapi-generator's Python": { read: [python, '-W', 'error::UserWarning', 'read_generated.py'] },
  "openapi-generator's Java": { read: ['java', '-cp', 'dist/java/classes:dist/java/dependency/*', 'Read'] },
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
// Programs for tables and maps bring clients of their own.
const operations = Object.values(app.swagger().paths)
  .filter(({ get }) => !['Exports', 'OGC API'].some((tag) => get.tags.includes(tag)))
  .map(({ get }) => get.operationId)

/** Runs a program with the key. */
const run = async ([command, ...argv]) => {
  const child = spawn(command, argv, {
    cwd: import.meta.dirname,
    env: {
      ...process.env,
      API_URL,
      API_KEY: key,
      PYTHONPATH: 'dist:dist/openapi-generator',
      PYTHONDONTWRITEBYTECODE: '1',
    },
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
  console.log(
    `${language}: exit code ${code}, ${operations.length - missing.length} of ${operations.length} operations`,
  )
  if (missing.length > 0) console.log(`  not read: ${missing.join(', ')}`)
  if (code !== 0 || missing.length > 0) process.exitCode = 1
  if (example === undefined) continue
  const printed = await run(example)
  const lines = printed.output.split('\n').filter((line) => /^\S+ \d{4}-\d\d-\d\d.* \d+$/.test(line))
  console.log(`  the example prints ${lines.length} of ${expected} entries`)
  if (printed.code !== 0 || lines.length !== expected) process.exitCode = 1
}

/** The requests of Postman's folders, as its importer makes them of the description. */
const requestsIn = (items) => items.flatMap(({ item, request }) => (item ? requestsIn(item) : request))
const description = await text((await fetch(`${API_URL}/openapi.json`)).body)
const imported = await promisify(postman.convertV2)(
  { type: 'string', data: description },
  { parametersResolution: 'Example' },
)
const { item, variable } = imported.output[0].data
const requests = requestsIn(item)
let failed = Object.keys(app.swagger().paths).length - requests.length
for (const { url, header } of requests) {
  const required = url.query.filter(({ description }) => description.content.startsWith('(Required)'))
  const query = required.map(({ key, value }) => `${key}=${value}`).join('&')
  const address = `${[...url.host, ...url.path].join('/')}?${query}`
  const filledIn = variable.reduce((text, { key, value }) => text.replaceAll(`{{${key}}}`, value), address)
  const { value: accept } = header.find(({ key }) => key === 'Accept')
  // A request by an id fails with the problem of the record, which shows that its path is right.
  const { status, body } = await fetch(filledIn, { headers: { authorization: `Bearer ${key}`, accept } })
  const { code } = status === 404 ? JSON.parse(await text(body)) : {}
  if (status === 200 ? filledIn.startsWith(`${API_URL}/`) : code === 'not_found') continue
  failed += 1
  console.log(`  Postman asks for ${filledIn} as ${accept}, and the status is ${status}`)
}
console.log(`Postman: ${requests.length} requests are imported, and ${failed} fail`)
if (failed !== 0) process.exitCode = 1
await app.close()
